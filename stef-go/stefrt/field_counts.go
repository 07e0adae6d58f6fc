// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"fmt"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
)

// FieldCounts assigns the field counts of a wire schema to structs and oneofs, in
// the order in which the builder first visits them.
//
// spec: #evolution
type FieldCounts struct {
	wire  schema.WireSchema // nil: all fields of all types
	next  int
	known map[string]int
	own   schema.WireSchema // the assigned counts, in wire order
	older bool              // a type has fewer fields than the reader knows
	err   error
}

// Mask returns a bit for each field of a struct that the stream carries. It is 0
// if the stream lacks all fields that lead to the struct.
func (c *FieldCounts) Mask(typ string) uint64 { return maskOf(c.known[typ]) }

// Last returns the greatest choice of a oneof that the stream carries; 0 means none.
func (c *FieldCounts) Last(typ string) uint64 { return uint64(c.known[typ]) }

func (c *FieldCounts) of(typ string, own int) int {
	if n, ok := c.known[typ]; ok {
		return n
	}
	n := own
	if c.wire != nil {
		switch {
		case c.next >= len(c.wire):
			c.fail("has no entry for %s", typ)
			n = 0
		case c.wire[c.next] < 0 || c.wire[c.next] > own:
			c.fail("has %d fields for %s, which has %d fields in this code", c.wire[c.next], typ, own)
			n = 0
		default:
			n = c.wire[c.next]
		}
		c.next++
	}
	if len(c.known) == 0 && n == 0 {
		c.fail("has no fields for the root %s", typ)
	}
	if c.known == nil {
		c.known = make(map[string]int)
	}
	c.known[typ] = n
	c.older = c.older || n < own
	c.own = append(c.own, n)
	return n
}

func (c *FieldCounts) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: the wire schema "+format, append([]any{stef.ErrSchema}, args...)...)
	}
}

func (c *FieldCounts) done() error {
	if c.wire != nil && c.next < len(c.wire) {
		// The error has no counts: they would omit the types that occur only in fields that the wire schema lacks.
		c.fail("has more structs and oneofs than the records have in this code")
	}
	return c.err
}

func maskOf(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// rootOf returns the first name of rootsOf, or "" if there is none.
func rootOf(roots func() *schema.Schema, own string, wire schema.WireSchema) string {
	if others := rootsOf(roots, own, wire); len(others) > 0 {
		return others[0]
	}
	return ""
}

// rootsOf returns the names of all other roots that wire fits. roots returns the schema of
// the package. It is nil if the package has only one root.
func rootsOf(roots func() *schema.Schema, own string, wire schema.WireSchema) []string {
	if roots == nil {
		return nil
	}
	var others []string
	for _, root := range roots().Roots() {
		if _, no := schema.Keep(root, wire); no == nil && root.Name != own {
			others = append(others, root.Name)
		}
	}
	return others
}

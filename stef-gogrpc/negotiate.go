// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// agreement is what the two ends of a stream negotiated.
type agreement struct {
	root      *schema.Struct    // root of the client
	compat    schema.Compat     // how the server's schema relates to the client's schema
	wire      schema.WireSchema // the schema that the client writes
	dictBytes int
	window    int // 0: any window
}

// agree decides how a client writes records of root, from the capabilities of the
// server. dictBytes is the client's own limit.
//
// spec: #schema-decision
func agree(root *schema.Struct, dictBytes int, server *wire.Capabilities) (agreement, error) {
	if len(server.Schema) == 0 {
		return agreement{}, errorf(KindProtocol, "the server has sent no schema")
	}
	theirs, rest, err := schema.ParseWire(server.Schema)
	if err != nil {
		return agreement{}, errorf(KindProtocol, "invalid schema from the server: %w", err)
	}
	if len(rest) > 0 {
		return agreement{}, errorf(KindProtocol, "invalid schema from the server: %d bytes follow its end", len(rest))
	}
	a := agreement{root: root, compat: schema.Compare(root, theirs), dictBytes: dictBytes}
	switch a.compat {
	case schema.Exact, schema.Newer:
		a.wire = schema.WireOf(root)
	case schema.Older:
		a.wire = theirs
	default:
		_, err := schema.Keep(root, theirs)
		return agreement{}, errorf(KindIncompatible, "neither this end nor the server can read the other's schema of %s: "+
			"the server's is not older (%w) and not newer (%w): compare both with stefc -against", root.Name, err, schema.Extends(root, theirs))
	}
	// spec: #dict-limit
	if n := server.MaxDictBytes; n > 0 && n < uint64(dictBytes) {
		a.dictBytes = int(n)
	}
	// spec: #window-limit
	if n := server.WindowBytes; n > 0 {
		a.window = int(min(max(n, minWindow), maxWindow))
	}
	return a, nil
}

// writerOptions returns the options that make a writer follow the agreement. The options always
// announce the schema, even where this is optional, so that a recording of the stream states its
// schema.
func (a *agreement) writerOptions() []stef.WriterOption {
	options := []stef.WriterOption{
		stef.WithSchemaHeader(), stef.WithDictBytes(a.dictBytes), stef.WithSchema(slices.Clone(a.wire)),
		stef.WithSchemaCheck(a.check),
	}
	if a.window > 0 {
		options = append(options, stef.WithMaxWindowBytes(a.window))
	}
	return options
}

// The windows of zstd that a writer can have: the bounds of stef.WithWindowBytes.
const (
	minWindow = 1 << 10
	maxWindow = 8 << 20
)

// check returns an error if the server cannot read the schema chosen. A caller can select such a
// schema by an option that it appends to the options of the agreement.
func (a *agreement) check(chosen schema.WireSchema) error {
	err := a.covers(chosen)
	if err == nil {
		return nil
	}
	return errorf(KindIncompatible,
		"the writer has more fields than the schema that both ends agreed on; create it with the options Stream.WriterOptions(), without WithSchema or a compact form after them: %w", err)
}

func (a *agreement) covers(chosen schema.WireSchema) error {
	if slices.Equal(chosen, a.wire) {
		return nil
	}
	agreed, err := schema.Keep(a.root, a.wire)
	if err != nil {
		return fmt.Errorf("%w: %w", stef.ErrSchema, err)
	}
	kept, err := schema.Keep(a.root, chosen)
	if err != nil {
		return fmt.Errorf("%w: %w", stef.ErrSchema, err)
	}
	var first *schema.Struct // the first name in alphabetical order, so that the text is always the same
	for s, n := range kept {
		if n > agreed.Of(s) && (first == nil || s.Name < first.Name) {
			first = s
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%w: %s has %d fields, both ends agreed on %d", stef.ErrSchema, first.Name, kept.Of(first), agreed.Of(first))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"sync"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// Schema is the newest schema that a sender may use. The schema of a stream also
// depends on the receiver.
type Schema string

// The schemas.
const (
	// Compact is the full schema in the compact form.
	Compact Schema = "compact"
	// Full is the schema of records.
	Full Schema = "full"
	// Reference is the published schema, which the reference implementation uses.
	// Logs have no published schema; their oldest schema is the full one.
	Reference Schema = "reference"
)

// Validate returns an error if the schema is none of the above.
func (s Schema) Validate() error {
	switch s {
	case Compact, Full, Reference:
		return nil
	}
	return fmt.Errorf("schema is %q: set it to compact, full or reference", string(s))
}

// RootIn returns the root struct of streams in a schema. Callers must not change it.
func (d *Descriptor[T]) RootIn(s Schema) *schema.Struct {
	switch {
	case s == Compact:
		return d.Compact()
	case s == Reference && d.Published != nil:
		return published()[d.Root().Name]
	}
	return d.Root()
}

var published = sync.OnceValue(func() map[string]*schema.Struct {
	roots := map[string]*schema.Struct{}
	for _, r := range []struct {
		root *schema.Struct
		wire schema.WireSchema
	}{
		{otelstef.MetricsSchema(), otelstef.MetricsBaseSchema()},
		{otelstef.SpansSchema(), otelstef.SpansBaseSchema()},
	} {
		cut, err := schema.Cut(r.root, r.wire)
		if err != nil {
			panic(err) // both are part of the program
		}
		roots[cut.Name] = cut
	}
	return roots
})

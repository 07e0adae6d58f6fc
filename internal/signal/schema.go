// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"sync"

	"github.com/otelstef/stef/internal/streamconf"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// RootIn returns the root struct of streams in a schema. Callers must not change it.
func (d *Descriptor[T]) RootIn(s streamconf.Schema) *schema.Struct {
	switch {
	case s == streamconf.Compact:
		return d.Compact()
	case s == streamconf.Reference && d.Published != nil:
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

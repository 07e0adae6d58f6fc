// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"sync"

	"github.com/otelstef/stef/internal/streamconf"
	stef "github.com/otelstef/stef/stef-go"
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

// AutoLevel returns the level of zstd for a stream in a schema.
func (d *Descriptor[T]) AutoLevel(wire schema.WireSchema) stef.Level {
	if schema.Compare(d.Root(), wire) == schema.Newer {
		return d.CompactLevel
	}
	return stef.LevelDefault // finds repeated ids; streams in the compact form do not repeat ids
}

var published = sync.OnceValue(func() map[string]*schema.Struct {
	roots := map[string]*schema.Struct{}
	for _, r := range []struct {
		root *schema.Struct
		wire schema.WireSchema
	}{
		{otelstef.MetricsRoot(), otelstef.MetricsBaseSchema()},
		{otelstef.SpansRoot(), otelstef.SpansBaseSchema()},
	} {
		cut, err := schema.Cut(r.root, r.wire)
		if err != nil {
			panic(err) // impossible: root and schema are part of the program
		}
		roots[cut.Name] = cut
	}
	return roots
})

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/schema"
)

// Cut returns a schema that has only the kept columns, and does not change the whole schema.
func TestCut(t *testing.T) {
	for name, wire := range map[string]schema.WireSchema{"Metrics": publishedMetrics, "Spans": publishedSpans} {
		root := otel(t, name)
		whole := schema.WireOf(root)
		cut, err := schema.Cut(root, wire)
		require.NoError(t, err)
		require.Equal(t, wire, schema.WireOf(cut))
		require.Equal(t, whole, schema.WireOf(root))
		kept, err := schema.Keep(root, wire)
		require.NoError(t, err)
		require.Len(t, schema.Columns(cut, nil), len(schema.Columns(root, kept)))
		_, err = schema.Cut(root, schema.WireSchema{99})
		require.Error(t, err)
	}
}

// TestExtend: if Extend adds fields to a schema, Cut returns the original schema.
func TestExtend(t *testing.T) {
	base := parse(t, "package p struct R root { A []S  M M } struct S { X int64 } multimap M { key string value S }")
	more := parse(t, "package p struct R root { N N } struct S { Y uint64 } struct N { Z bool }")
	before := schema.WireOf(base.Root("R"))
	whole := schema.Extend(base, more)
	require.Equal(t, before, schema.WireOf(base.Root("R")))
	require.Equal(t, schema.WireSchema{3, 2, 1}, schema.WireOf(whole.Root("R")))
	require.Equal(t, "Y", whole.Root("R").Fields[1].Type.Multimap.Value.Struct.Fields[1].Name)
	require.Equal(t, schema.Older, schema.Compare(whole.Root("R"), before))
	cut, err := schema.Cut(whole.Root("R"), before)
	require.NoError(t, err)
	require.Equal(t, before, schema.WireOf(cut))
}

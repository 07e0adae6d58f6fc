// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// TestSchemas: the roots that the package returns equal the roots of the schema file,
// with all of their fields.
func TestSchemas(t *testing.T) {
	f := func(root *schema.Struct, name string, wire schema.WireSchema) {
		t.Helper()
		want := otelSchema(t).Root(name)
		require.Equal(t, name, root.Name)
		require.Equal(t, wire, schema.WireOf(root))
		require.Equal(t, columns(want), columns(root))
		require.Equal(t, schema.Exact, schema.Compare(root, schema.WireOf(want)))
	}
	f(otelstef.MetricsRoot(), otelstef.MetricsRootName, otelstef.MetricsSchema())
	f(otelstef.SpansRoot(), otelstef.SpansRootName, otelstef.SpansSchema())
	f(otelstef.LogsRoot(), otelstef.LogsRootName, otelstef.LogsSchema())
}

func columns(root *schema.Struct) (paths []string) {
	for _, c := range schema.Columns(root, nil) {
		paths = append(paths, c.Path()+" "+c.Type.String())
	}
	return paths
}

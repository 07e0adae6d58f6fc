// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/steftest"
)

// The generated code and package dynamic can still read streams that were written before the compact form
// existed. With the schemas of these streams, writers still write the same bytes, although the newest
// schema has more fields.
func TestKeptStreams(t *testing.T) {
	f := func(name string, root *steftest.Root) {
		t.Helper()
		stream, err := os.ReadFile(filepath.Join("testdata", "kept", name+".stef"))
		require.NoError(t, err)
		recs, err := root.Read(bytes.NewReader(stream))
		require.NoError(t, err, name)
		require.Len(t, recs, 25, name)
		want, err := root.ReadDynamic(bytes.NewReader(stream))
		require.NoError(t, err, name)
		require.Empty(t, steftest.DiffAll(root.Schema, want, recs), name)
		header, err := dynamic.ReadHeader(bytes.NewReader(stream))
		require.NoError(t, err, name)
		again, err := root.Write(recs, stef.WithSchema(header.Wire), stef.WithSchemaHeader())
		require.NoError(t, err, name)
		require.Equal(t, stream, again, name)
	}
	f("metrics_full", metricsRoot(t))
	f("metrics_published", metricsRoot(t))
	f("spans_full", spansRoot(t))
	f("spans_published", spansRoot(t))
	f("logs_full", logsRoot(t))
}

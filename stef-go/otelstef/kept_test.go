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
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

// Both engines still read the streams that earlier versions wrote before the
// compact form existed. Writers without the compact form still write the same
// bytes.
func TestKeptStreams(t *testing.T) {
	f := func(name string, root *steftest.Root, options ...stef.WriterOption) {
		t.Helper()
		stream, err := os.ReadFile(filepath.Join("testdata", "kept", name+".stef"))
		require.NoError(t, err)
		recs, err := root.Read(bytes.NewReader(stream))
		require.NoError(t, err, name)
		require.Len(t, recs, 25, name)
		want, err := root.ReadDynamic(bytes.NewReader(stream))
		require.NoError(t, err, name)
		require.Empty(t, steftest.DiffAll(root.Schema, want, recs), name)
		again, err := root.Write(recs, append(options, stef.WithSchemaHeader())...)
		require.NoError(t, err, name)
		require.Equal(t, stream, again, name)
	}
	f("metrics_full", metricsRoot(t))
	f("metrics_published", metricsRoot(t), otelstef.PublishedMetrics())
	f("spans_full", spansRoot(t))
	f("spans_published", spansRoot(t), otelstef.PublishedSpans())
	f("logs_full", logsRoot(t))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// TestReadHeader reads only the headers of streams. The schema of the records need not be known.
func TestReadHeader(t *testing.T) {
	s, err := idl.Parse("a.stef", []byte("package a\nstruct A root { X int64 Y string }"))
	require.NoError(t, err)
	f := func(wire schema.WireSchema, options ...dynamic.WriterOption) {
		t.Helper()
		var buf bytes.Buffer
		w, err := dynamic.NewWriter(&buf, s.Root("A"), options...)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		h, err := dynamic.ReadHeader(bytes.NewReader(buf.Bytes()))
		require.NoError(t, err)
		require.Equal(t, wire, h.Wire)
		for n := range buf.Len() {
			_, err := dynamic.ReadHeader(bytes.NewReader(buf.Bytes()[:n]))
			require.ErrorIs(t, err, dynamic.ErrCorrupt)
		}
	}
	f(nil)
	f(schema.WireSchema{2}, dynamic.WithSchemaHeader())
	f(schema.WireSchema{2}, dynamic.WithSchemaHeader(), dynamic.WithCompression(dynamic.Zstd))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func encodeTraces(tb testing.TB, parts [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, options...)
	require.NoError(tb, err)
	e := stefotlp.NewTracesEncoder(w)
	for _, part := range parts {
		require.NoError(tb, e.EncodeOTLP(part))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

func decodeTraces(tb testing.TB, stream []byte, options ...stefotlp.DecoderOption) [][]byte {
	tb.Helper()
	r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	return messages(tb, stefotlp.NewTracesDecoder(r, options...).AppendOTLP)
}

func unmarshalTraces(tb testing.TB, parts [][]byte) (tds []ptrace.Traces) {
	tb.Helper()
	for _, part := range parts {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		require.NoError(tb, err)
		tds = append(tds, td)
	}
	return tds
}

// viaTraces writes the stream that the pdata path writes.
func viaTraces(tb testing.TB, parts [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out, options...)
	require.NoError(tb, err)
	e := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(stefpdata.Ordered))
	for _, td := range unmarshalTraces(tb, parts) {
		require.NoError(tb, e.Encode(td))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// fromTraces reads a stream by the pdata path.
func fromTraces(tb testing.TB, stream []byte) (tds []ptrace.Traces) {
	tb.Helper()
	r, err := otelstef.NewSpansReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	d := stefpdata.NewTracesDecoder(r)
	for {
		td, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return tds
		}
		require.NoError(tb, err)
		tds = append(tds, td)
	}
}

func oneTraces(tds []ptrace.Traces) ptrace.Traces { return canon.Options{}.MergeTraces(tds...) }

// requireTraces checks both directions against the pdata path.
func requireTraces(tb testing.TB, parts [][]byte, options ...stef.WriterOption) {
	tb.Helper()
	stream := encodeTraces(tb, parts, options...)
	require.True(tb, bytes.Equal(viaTraces(tb, parts, options...), stream), "the stream is not that of the pdata path")
	got := decodeTraces(tb, stream)
	require.Empty(tb, canon.DiffOrderedTraces(oneTraces(fromTraces(tb, stream)), oneTraces(unmarshalTraces(tb, got))))
}

func TestTracesAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			requireTraces(t, parts)
			requireTraces(t, parts, otelstef.PublishedSpans(), stef.WithCompression(stef.Zstd))

			got := decodeTraces(t, encodeTraces(t, joined(parts), stef.WithFrameBytes(1<<16)), stefotlp.WithMaxItems(1000))
			require.Empty(t, canon.DiffOrderedTraces(
				oneTraces(unmarshalTraces(t, parts)), oneTraces(unmarshalTraces(t, got))))
		})
	}
	f("fixture", fixture(t, fixtures.Traces()))
	t.Run("real", func(t *testing.T) {
		f("hipstershop-oteltraces", real(t, "traces", "hipstershop-oteltraces"))
	})
}

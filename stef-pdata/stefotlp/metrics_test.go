// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func unmarshalMetrics(tb testing.TB, parts [][]byte) (mds []pmetric.Metrics) {
	tb.Helper()
	for _, part := range parts {
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
		require.NoError(tb, err)
		mds = append(mds, md)
	}
	return mds
}

// viaMetrics writes the stream that the pdata path writes.
func viaMetrics(tb testing.TB, parts [][]byte, options ...stef.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(tb, err)
	e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(stefpdata.Ordered))
	for _, md := range unmarshalMetrics(tb, parts) {
		require.NoError(tb, e.Encode(md))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// fromMetrics reads a stream by the pdata path.
func fromMetrics(tb testing.TB, stream []byte) (mds []pmetric.Metrics) {
	tb.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	d := stefpdata.NewMetricsDecoder(r)
	for {
		md, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return mds
		}
		require.NoError(tb, err)
		mds = append(mds, md)
	}
}

func oneMetrics(mds []pmetric.Metrics) pmetric.Metrics { return canon.Options{}.MergeMetrics(mds...) }

// requireMetrics checks both directions against the pdata path.
func requireMetrics(tb testing.TB, parts [][]byte, options ...stef.WriterOption) {
	tb.Helper()
	stream := encodeMetrics(tb, parts, options...)
	require.True(tb, bytes.Equal(viaMetrics(tb, parts, options...), stream), "the stream is not that of the pdata path")
	got := decodeMetrics(tb, stream)
	require.Empty(tb, canon.DiffOrderedMetrics(oneMetrics(fromMetrics(tb, stream)), oneMetrics(unmarshalMetrics(tb, got))))
}

func TestMetricsAsPdataDoes(t *testing.T) {
	f := func(name string, parts [][]byte) {
		t.Run(name, func(t *testing.T) {
			requireMetrics(t, parts)
			requireMetrics(t, parts, otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd))
			requireMetrics(t, joined(parts), stef.WithFrameBytes(1<<16))

			got := decodeMetrics(t, encodeMetrics(t, parts), stefotlp.WithMaxItems(1000))
			require.Empty(t, canon.DiffOrderedMetrics(
				oneMetrics(unmarshalMetrics(t, parts)), oneMetrics(unmarshalMetrics(t, got))))
		})
	}
	f("fixture", fixture(t, fixtures.Metrics()))
	t.Run("real", func(t *testing.T) {
		for _, name := range []string{"hipstershop-otelmetrics", "hostandcollector-otelmetrics"} {
			f(name, real(t, "metrics", name))
		}
	})
}

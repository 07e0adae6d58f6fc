// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// metricSet is a recording of metrics, in the batches in which it was recorded.
type metricSet struct {
	name  string
	parts []pmetric.Metrics
	// whole is all parts in one batch.
	whole  pmetric.Metrics
	points int
}

func metricSets(tb testing.TB) []metricSet {
	tb.Helper()
	var sets []metricSet
	for _, ref := range dataset.Refs(tb) {
		if ref.Signal != otlpfile.Metrics {
			continue
		}
		loaded := ref.Load(tb)
		set := metricSet{name: ref.Name, whole: loaded.Whole().Metrics, points: loaded.Items}
		for _, part := range loaded.Parts {
			set.parts = append(set.parts, part.Metrics)
		}
		sets = append(sets, set)
	}
	return sets
}

// streamOf writes batches as one sorted stream, with a flush after each batch.
func streamOf(tb testing.TB, batches []pmetric.Metrics, options ...stef.WriterOption) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&b, options...)
	require.NoError(tb, err)
	e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(stefpdata.Sorted))
	for _, md := range batches {
		require.NoError(tb, e.Encode(md))
		require.NoError(tb, w.Flush())
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// rewrite reads a stream and writes its records with other options, frame by
// frame. It returns the writer without closing it.
func rewrite(tb testing.TB, stream []byte, dst io.Writer, options ...stef.WriterOption) *otelstef.MetricsWriter {
	tb.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(tb, err)
	for r.Next() {
		w.Record().CopyFrom(r.Record())
		require.NoError(tb, w.Write())
		if r.BufferedRecords() == 0 {
			require.NoError(tb, w.Flush())
		}
	}
	require.NoError(tb, r.Err())
	return w
}

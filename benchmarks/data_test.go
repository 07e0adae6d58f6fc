// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// metricSet is a set of metrics in its natural batches.
type metricSet struct {
	name  string
	parts []pmetric.Metrics
	// whole is all parts in one batch.
	whole  pmetric.Metrics
	points int
}

// metricSets returns the real sets, or the bundled recording without them.
func metricSets(tb testing.TB) []metricSet {
	tb.Helper()
	dir := os.Getenv("STEF_DATA")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(teltest.Root(tb)), "shared", "data")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "metrics", "*.zst"))
	require.NoError(tb, err)
	var sets []metricSet
	for _, path := range paths {
		name := filepath.Base(path)
		sets = append(sets, newMetricSet(tb, name[:len(name)-len("-otelmetrics.zst")], teltest.Parts(tb, path)))
	}
	if sets == nil {
		tb.Log("the real sets are not here; this is the bundled recording")
		parts, err := fixtures.Parts(fixtures.Metrics())
		require.NoError(tb, err)
		sets = append(sets, newMetricSet(tb, "bundled", parts))
	}
	return sets
}

func newMetricSet(tb testing.TB, name string, parts [][]byte) metricSet {
	tb.Helper()
	set := metricSet{name: name, whole: pmetric.NewMetrics()}
	var u pmetric.ProtoUnmarshaler
	for _, part := range parts {
		md, err := u.UnmarshalMetrics(part)
		require.NoError(tb, err)
		set.parts = append(set.parts, md)
		again, err := u.UnmarshalMetrics(part)
		require.NoError(tb, err)
		again.ResourceMetrics().MoveAndAppendTo(set.whole.ResourceMetrics())
	}
	set.points = set.whole.DataPointCount()
	return set
}

// streamOf writes batches as one stream, sorted, a frame each.
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
// frame. It returns the writer, not closed.
func rewrite(tb testing.TB, stream []byte, dst io.Writer, options ...stef.WriterOption) *otelstef.MetricsWriter {
	tb.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(tb, err)
	for r.Next() {
		w.Record().CopyFrom(r.Record())
		require.NoError(tb, w.Write())
		if r.Buffered() == 0 {
			require.NoError(tb, w.Flush())
		}
	}
	require.NoError(tb, r.Err())
	return w
}

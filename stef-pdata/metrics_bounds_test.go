// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// manyBounds returns a histogram whose points all have different bounds.
func manyBounds(metadata, points int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("histogram")
	for i := range metadata {
		m.Metadata().PutInt(strconv.Itoa(i), int64(i))
	}
	dps := m.SetEmptyHistogram().DataPoints()
	for i := range points {
		p := dps.AppendEmpty()
		p.ExplicitBounds().FromRaw([]float64{float64((i * 7) % points)})
		p.BucketCounts().FromRaw([]uint64{uint64(i), 1})
		p.SetCount(uint64(i) + 1)
	}
	return md
}

// In STEF, the bounds of a histogram belong to its metric. So if a metric has points with different
// bounds, it is written as several metrics, each with a copy of the metadata. An encoder does not
// keep these copies: for a batch of 80 KB, they would take 190 MiB.
func TestManyBoundsWithMetadata(t *testing.T) {
	const metadata, points = 1000, 2000
	md := manyBounds(metadata, points)
	message, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	require.Less(t, len(message), 100_000)

	live := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	f := func(name string, newEncode func(w *otelstef.MetricsWriter) func() error) {
		t.Run(name, func(t *testing.T) {
			before := live()
			w, err := otelstef.NewMetricsWriter(io.Discard)
			require.NoError(t, err)
			encode := newEncode(w)
			for range 2 {
				require.NoError(t, encode())
				require.Less(t, live()-before, int64(48<<20))
			}
			require.Equal(t, uint64(2*points), w.Stats().Records)
			require.NoError(t, encode()) // keeps the encoder alive until here
		})
	}
	for _, mode := range []stefpdata.Mode{stefpdata.Sorted, stefpdata.Ordered} {
		f(mode.String(), func(w *otelstef.MetricsWriter) func() error {
			e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
			return func() error { return e.Encode(md) }
		})
		t.Run(mode.String()+", content", func(t *testing.T) {
			want := []pmetric.Metrics{manyBounds(300, 500), manyBounds(1, 500), manyBounds(300, 500)}
			requireSame(t, mode, want, decodeMetrics(t, encodeMetrics(t, want, mode)))
		})
	}
	f("OTLP", func(w *otelstef.MetricsWriter) func() error {
		e := stefotlp.NewMetricsEncoder(w)
		return func() error { return e.EncodeOTLP(message) }
	})
}

// In STEF, the bounds of a histogram belong to its metric, so they count for the size limit of the
// metric. Otherwise a record could be larger than decoders accept. Then they would end the stream.
func TestBoundsCountForTheMetric(t *testing.T) {
	const bounds = 100
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetDescription(strings.Repeat("x", stefpdata.MaxItemBytes-32*bounds))
	points := m.SetEmptyHistogram().DataPoints()
	for _, n := range []int{bounds, bounds + 1, 0} {
		points.AppendEmpty().ExplicitBounds().FromRaw(make([]float64, n))
	}
	message, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	f := func(name string, newEncode func(w *otelstef.MetricsWriter) func() error) {
		t.Run(name, func(t *testing.T) {
			w, err := otelstef.NewMetricsWriter(io.Discard)
			require.NoError(t, err)
			var left stefpdata.ItemErrors
			require.ErrorAs(t, newEncode(w)(), &left)
			require.ErrorIs(t, left, stef.ErrLimit)
			require.Len(t, left, 1)
			require.Equal(t, 1, left[0].Item)
			require.Equal(t, "explicit_bounds", left[0].Field)
			require.Equal(t, uint64(2), w.Stats().Records)
		})
	}
	for _, mode := range modes {
		f(mode.String(), func(w *otelstef.MetricsWriter) func() error {
			e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
			return func() error { return e.Encode(md) }
		})
	}
	f("OTLP", func(w *otelstef.MetricsWriter) func() error {
		e := stefotlp.NewMetricsEncoder(w)
		return func() error { return e.EncodeOTLP(message) }
	})
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// group is the in-memory data of a program that works with records: shared values, and the
// points of each series in succession.
type group struct {
	metric   *otelstef.Metric
	resource *otelstef.Resource
	scope    *otelstef.Scope
	attrs    *otelstef.Attributes
	points   []*otelstef.Point
}

// prepare splits the records of a stream into groups.
func prepare(tb testing.TB, stream []byte) []*group {
	tb.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(tb, err)
	var groups []*group
	var g *group
	for r.Next() {
		rec := r.Record()
		if g == nil || rec.Modified()&^otelstef.MetricsFieldPoint != 0 {
			g = &group{metric: rec.Metric(), resource: rec.Resource(), scope: rec.Scope(), attrs: otelstef.NewAttributes()}
			g.attrs.CopyFrom(rec.Attributes())
			groups = append(groups, g)
		}
		p := otelstef.NewPoint()
		p.CopyFrom(rec.Point())
		g.points = append(g.points, p)
	}
	require.NoError(tb, r.Err())
	return groups
}

func encodeGroups(tb testing.TB, dst io.Writer, groups []*group, options ...stef.WriterOption) {
	tb.Helper()
	w, err := otelstef.NewMetricsWriter(dst, options...)
	if err != nil {
		tb.Fatal(err)
	}
	rec := w.Record()
	for _, g := range groups {
		rec.SetMetric(g.metric)
		rec.SetResource(g.resource)
		rec.SetScope(g.scope)
		rec.Attributes().CopyFrom(g.attrs)
		for _, p := range g.points {
			rec.Point().CopyFrom(p)
			if err := w.Write(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func decodeAll(tb testing.TB, stream []byte) int {
	tb.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for r.Next() {
		n++
	}
	if r.Err() != nil {
		tb.Fatal(r.Err())
	}
	return n
}

// BenchmarkNative encodes prepared records to a new stream, and decodes a
// stream without keeping the records. For comparison, it measures OTLP with the
// same points.
func BenchmarkNative(b *testing.B) {
	for _, set := range metricSets(b) {
		var marshaler pmetric.ProtoMarshaler
		var unmarshaler pmetric.ProtoUnmarshaler
		otlp, err := marshaler.MarshalMetrics(set.whole)
		require.NoError(b, err)
		stream := streamOf(b, []pmetric.Metrics{set.whole}, otelstef.PublishedMetrics())
		groups := prepare(b, stream)
		var again bytes.Buffer
		encodeGroups(b, &again, groups, otelstef.PublishedMetrics())
		require.Equal(b, stream, again.Bytes(), "records that went through a program")

		run := func(op, format string, size int, f func(b *testing.B)) {
			b.Run("data="+set.name+"/op="+op+"/format="+format, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f(b)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(set.points), "ns/point")
				b.ReportMetric(float64(size)/float64(set.points), "B/point")
			})
		}
		run("encode", "otlp", len(otlp), func(b *testing.B) {
			if _, err := marshaler.MarshalMetrics(set.whole); err != nil {
				b.Fatal(err)
			}
		})
		run("encode", "stef", len(stream), func(b *testing.B) {
			encodeGroups(b, io.Discard, groups, otelstef.PublishedMetrics())
		})
		run("decode", "otlp", len(otlp), func(b *testing.B) {
			if _, err := unmarshaler.UnmarshalMetrics(otlp); err != nil {
				b.Fatal(err)
			}
		})
		run("decode", "stef", len(stream), func(b *testing.B) {
			if n := decodeAll(b, stream); n != set.points {
				b.Fatalf("%d records of %d points", n, set.points)
			}
		})
	}
}

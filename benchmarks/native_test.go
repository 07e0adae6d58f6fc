// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

type group struct {
	metric   *otelstef.Metric
	resource *otelstef.Resource
	scope    *otelstef.Scope
	attrs    *otelstef.Attributes
	points   []*otelstef.Point
}

func prepare(tb testing.TB, stream []byte) []*group {
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

func encode(tb testing.TB, dst io.Writer, groups []*group, options ...stef.WriterOption) {
	w, err := otelstef.NewMetricsWriter(dst, options...)
	require.NoError(tb, err)
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
	require.NoError(tb, w.Close())
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

func BenchmarkNative(b *testing.B) {
	for _, name := range []string{"hipstershop-otelmetrics", "hostandcollector-otelmetrics"} {
		golden := name + ".one.sorted.none.stef"
		if name == "hipstershop-otelmetrics" {
			golden = name + ".parts.sorted.none.stef"
		}
		stream, err := os.ReadFile(teltest.Golden(b, "data", golden))
		require.NoError(b, err)
		all := pmetric.NewMetrics()
		var u pmetric.ProtoUnmarshaler
		for _, p := range teltest.Parts(b, teltest.Data(b, "metrics", name+".zst")) {
			md, err := u.UnmarshalMetrics(p)
			require.NoError(b, err)
			md.ResourceMetrics().MoveAndAppendTo(all.ResourceMetrics())
		}
		points := float64(all.DataPointCount())
		var m pmetric.ProtoMarshaler
		otlp, _ := m.MarshalMetrics(all)
		b.Run("data="+name, func(b *testing.B) {
			perPoint := func(b *testing.B) {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/points, "ns/point")
				b.ReportMetric(0, "ns/op")
			}
			b.Run("op=encode/format=otlp", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					m.MarshalMetrics(all)
				}
				perPoint(b)
			})
			groups := prepare(b, stream)
			b.Run("op=encode/format=stef", func(b *testing.B) {
				b.ReportAllocs()
				var n counter
				for b.Loop() {
					n = 0
					encode(b, &n, groups, otelstef.PublishedMetrics())
				}
				perPoint(b)
				b.ReportMetric(float64(n), "bytes")
			})
			b.Run("op=decode/format=otlp", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					u.UnmarshalMetrics(otlp)
				}
				perPoint(b)
			})
			b.Run("op=decode/format=stef", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, _ := otelstef.NewMetricsReader(bytes.NewReader(stream))
					n := 0
					for r.Next() {
						n++
					}
					if r.Err() != nil || n != int(points) {
						b.Fatal(n, r.Err())
					}
				}
				perPoint(b)
			})
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Shape describes synthetic telemetry by the dimensions that determine how well
// a format performs. Vary one dimension and keep the others to see the influence of this
// dimension.
type Shape struct {
	// Attributes is the number of attributes of an item.
	Attributes int
	// New is the share of attribute values, from 0 to 1, that are new to the
	// stream. The other values are from a small set.
	New float64
	// Series is the number of time series in a batch of metrics. Each series has
	// Items/Series points.
	Series int
	// Items is the number of data points, spans or log records of a batch.
	Items int
	// Trace is the number of spans of a trace. 0 means 10.
	Trace int
}

// DefaultShape is the shape that each sweep varies in one dimension.
var DefaultShape = Shape{Attributes: 6, New: 0.1, Series: 100, Items: 1000}

func (s Shape) String() string {
	return fmt.Sprintf("%d attributes, %.0f %% new strings, %d series, %d items", s.Attributes, 100*s.New, s.Series, s.Items)
}

// ShapeSweep is a dimension and the shapes that vary it.
type ShapeSweep struct {
	Name   string
	Shapes []Shape
	Value  func(Shape) float64
}

// ShapeSweeps returns the sweeps of a signal.
func ShapeSweeps(signal otlpfile.Signal) []ShapeSweep {
	vary := func(set func(*Shape, float64), values ...float64) []Shape {
		var shapes []Shape
		for _, v := range values {
			shape := DefaultShape
			set(&shape, v)
			shapes = append(shapes, shape)
		}
		return shapes
	}
	sweeps := []ShapeSweep{
		{"attributes per item", vary(func(s *Shape, v float64) { s.Attributes = int(v) }, 0, 2, 6, 16, 40), func(s Shape) float64 { return float64(s.Attributes) }},
		{"share of new strings", vary(func(s *Shape, v float64) { s.New = v }, 0, 0.1, 0.5, 1), func(s Shape) float64 { return s.New }},
		{"items per batch", vary(func(s *Shape, v float64) { s.Items, s.Series = int(v), max(1, int(v)/10) }, 10, 100, 1000, 8000), func(s Shape) float64 { return float64(s.Items) }},
	}
	if signal == otlpfile.Metrics {
		sweeps = append(sweeps, ShapeSweep{"points per series", vary(func(s *Shape, v float64) { s.Series = s.Items / int(v) }, 1, 10, 100),
			func(s Shape) float64 { return float64(s.Items / s.Series) }})
	}
	return sweeps
}

// Batches returns n batches of the shape. Equal arguments return equal batches.
func (s Shape) Batches(signal otlpfile.Signal, n int) []otlpfile.Batch {
	g := &generator{Shape: s, random: rand.New(rand.NewPCG(1, uint64(s.Items)))}
	var all []otlpfile.Batch
	for i := range n {
		g.now = begin.Add(time.Duration(i) * 10 * time.Second)
		switch signal {
		case otlpfile.Metrics:
			all = append(all, g.metrics())
		case otlpfile.Traces:
			all = append(all, g.spans(uint64(i)))
		default:
			all = append(all, g.logs())
		}
	}
	return all
}

type generator struct {
	Shape
	random *rand.Rand
	now    time.Time
	fresh  int // new strings so far
}

func (g *generator) attributes(to pcommon.Map) {
	to.EnsureCapacity(g.Attributes)
	for i := range g.Attributes {
		value := fmt.Sprintf("value-%d-of-%d", g.random.IntN(8), i)
		if g.random.Float64() < g.New {
			g.fresh++
			value = fmt.Sprintf("new-%x-%08x", g.fresh, g.random.Uint32())
		}
		to.PutStr(fmt.Sprintf("attribute.%d", i), value)
	}
}

func (g *generator) resource(to pcommon.Resource) {
	to.Attributes().PutStr("service.name", "generator")
	to.Attributes().PutStr("service.version", "1.0.0")
}

func (g *generator) metrics() otlpfile.Batch {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	g.resource(rm.Resource())
	to := rm.ScopeMetrics().AppendEmpty().Metrics()
	series := min(g.Series, g.Items)
	for i := range series {
		if i%10 == 0 {
			m := to.AppendEmpty()
			m.SetName(fmt.Sprintf("metric.%d", i/10))
			m.SetUnit("1")
			m.SetEmptySum().SetIsMonotonic(true)
		}
		points := to.At(to.Len() - 1).Sum().DataPoints()
		attributes := pcommon.NewMap()
		g.attributes(attributes)
		for j := range g.Items / series {
			p := points.AppendEmpty()
			attributes.CopyTo(p.Attributes())
			p.SetStartTimestamp(pcommon.NewTimestampFromTime(begin))
			p.SetTimestamp(pcommon.NewTimestampFromTime(g.now.Add(time.Duration(j) * time.Second)))
			p.SetIntValue(int64(g.random.IntN(1000)))
		}
	}
	return otlpfile.MetricsBatch(md)
}

func (g *generator) spans(n uint64) otlpfile.Batch {
	b := spansOf(cmp.Or(g.Trace, longTrace), g.Items, 0, n)
	for _, rs := range b.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				g.attributes(span.Attributes())
			}
		}
	}
	return b
}

func (g *generator) logs() otlpfile.Batch {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	g.resource(rl.Resource())
	to := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i := range g.Items {
		lr := to.AppendEmpty()
		at := pcommon.NewTimestampFromTime(g.now.Add(time.Duration(i) * time.Millisecond))
		lr.SetTimestamp(at)
		lr.SetObservedTimestamp(at)
		lr.SetSeverityNumber(plog.SeverityNumberInfo)
		lr.Body().SetStr(fmt.Sprintf(phrases[g.random.IntN(len(phrases))], g.random.IntN(10000)))
		g.attributes(lr.Attributes())
	}
	return otlpfile.LogsBatch(ld)
}

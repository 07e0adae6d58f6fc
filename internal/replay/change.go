// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Change changes the items of a recording. The zero value changes nothing.
type Change struct {
	// Shift is added to all times that are set and before the year 2262.
	Shift time.Duration
	// IDs is a seed. If it is not 0, every trace id and span id is replaced.
	// Equal ids are replaced by equal ids, so that parents, links and logs
	// still refer to their spans. Different seeds produce different ids.
	IDs uint64
}

// Apply changes a batch.
func (c Change) Apply(b *otlpfile.Batch) {
	if c == (Change{}) {
		return
	}
	b.OTLP = nil
	v := visitor{time: c.shifted, trace: c.trace, span: c.span}
	v.batch(b)
}

// known reports whether a time is set and is before the year 2262. Later times do not count as
// times of the recording, because the distance to them overflows a time.Duration.
func known(t pcommon.Timestamp) bool { return t != 0 && t <= math.MaxInt64 }

func (c Change) shifted(t pcommon.Timestamp) pcommon.Timestamp {
	if !known(t) {
		return t
	}
	return t + pcommon.Timestamp(c.Shift)
}

func (c Change) trace(id pcommon.TraceID) pcommon.TraceID {
	if c.IDs == 0 || id.IsEmpty() {
		return id
	}
	hi, lo := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	binary.BigEndian.PutUint64(id[:8], mix(hi^c.IDs))
	binary.BigEndian.PutUint64(id[8:], mix(lo^c.IDs))
	return id
}

func (c Change) span(id pcommon.SpanID) pcommon.SpanID {
	if c.IDs == 0 || id.IsEmpty() {
		return id
	}
	binary.BigEndian.PutUint64(id[:], mix(binary.BigEndian.Uint64(id[:])^c.IDs))
	return id
}

// mix is the finalizer of SplitMix64, a bijection: it maps different numbers to
// different numbers.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Times returns the earliest and the latest time of a batch before the year 2262, or 0 if it has
// none.
func Times(b otlpfile.Batch) (first, last pcommon.Timestamp) {
	v := visitor{time: func(t pcommon.Timestamp) pcommon.Timestamp {
		if known(t) {
			if first == 0 || t < first {
				first = t
			}
			last = max(last, t)
		}
		return t
	}, skipStart: true}
	v.batch(&b)
	return first, last
}

// visitor calls functions for the times and ids of items and stores their
// results. A nil function for ids leaves the ids unchanged.
type visitor struct {
	time  func(pcommon.Timestamp) pcommon.Timestamp
	trace func(pcommon.TraceID) pcommon.TraceID
	span  func(pcommon.SpanID) pcommon.SpanID
	// skipStart omits the start times of points, which may be long before the
	// recording.
	skipStart bool
}

func (v *visitor) batch(b *otlpfile.Batch) {
	switch b.Signal {
	case otlpfile.Metrics:
		for _, rm := range b.Metrics.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					v.metric(m)
				}
			}
		}
	case otlpfile.Traces:
		for _, rs := range b.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					v.spanOf(span)
				}
			}
		}
	case otlpfile.Logs:
		for _, rl := range b.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					v.record(record)
				}
			}
		}
	}
}

func (v *visitor) spanOf(s ptrace.Span) {
	s.SetStartTimestamp(v.time(s.StartTimestamp()))
	s.SetEndTimestamp(v.time(s.EndTimestamp()))
	for _, e := range s.Events().All() {
		e.SetTimestamp(v.time(e.Timestamp()))
	}
	if v.trace == nil {
		return
	}
	s.SetTraceID(v.trace(s.TraceID()))
	s.SetSpanID(v.span(s.SpanID()))
	s.SetParentSpanID(v.span(s.ParentSpanID()))
	for _, l := range s.Links().All() {
		l.SetTraceID(v.trace(l.TraceID()))
		l.SetSpanID(v.span(l.SpanID()))
	}
}

func (v *visitor) record(r plog.LogRecord) {
	r.SetTimestamp(v.time(r.Timestamp()))
	r.SetObservedTimestamp(v.time(r.ObservedTimestamp()))
	if v.trace != nil {
		r.SetTraceID(v.trace(r.TraceID()))
		r.SetSpanID(v.span(r.SpanID()))
	}
}

type point interface {
	Timestamp() pcommon.Timestamp
	SetTimestamp(pcommon.Timestamp)
	StartTimestamp() pcommon.Timestamp
	SetStartTimestamp(pcommon.Timestamp)
}

func (v *visitor) metric(m pmetric.Metric) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		v.numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		v.numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			v.point(p, p.Exemplars())
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			v.point(p, p.Exemplars())
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			v.point(p, pmetric.NewExemplarSlice())
		}
	}
}

func (v *visitor) numbers(points pmetric.NumberDataPointSlice) {
	for _, p := range points.All() {
		v.point(p, p.Exemplars())
	}
}

func (v *visitor) point(p point, exemplars pmetric.ExemplarSlice) {
	p.SetTimestamp(v.time(p.Timestamp()))
	if !v.skipStart {
		p.SetStartTimestamp(v.time(p.StartTimestamp()))
	}
	for _, e := range exemplars.All() {
		e.SetTimestamp(v.time(e.Timestamp()))
		if v.trace != nil {
			e.SetTraceID(v.trace(e.TraceID()))
			e.SetSpanID(v.span(e.SpanID()))
		}
	}
}

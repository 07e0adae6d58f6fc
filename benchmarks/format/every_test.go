// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// TestEveryField proves that every format carries every field of every signal,
// including all types of points, some of which the recordings lack.
func TestEveryField(t *testing.T) {
	for _, batches := range [][]otlpfile.Batch{everyMetric(), everySpan(), everyLog()} {
		signal := batches[0].Signal
		for _, f := range All() {
			carried := batches
			if f == OTLP() || f == OTLPJSON() {
				carried = withoutSigns(batches)
			}
			want := dataset.Items(signal, carried)
			for _, c := range []Compression{None, Own} {
				t.Run(signal.String()+"/"+f.Name()+"/"+string(c), func(t *testing.T) {
					require.NoError(t, Check(f, c, batches, want))
					require.NoError(t, CheckNative(f, c, batches))
				})
			}
		}
	}
}

// withoutSigns returns the batches with 0 instead of -0 in the fields in which OTLP drops the
// sign of zero.
func withoutSigns(batches []otlpfile.Batch) []otlpfile.Batch {
	var all []otlpfile.Batch
	for _, b := range batches {
		b = dataset.Join(b)
		if b.Signal != otlpfile.Metrics {
			return batches
		}
		for _, m := range b.Metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
			switch m.Type() {
			case pmetric.MetricTypeExponentialHistogram:
				for _, p := range m.ExponentialHistogram().DataPoints().All() {
					p.SetZeroThreshold(p.ZeroThreshold() + 0)
				}
			case pmetric.MetricTypeSummary:
				for _, p := range m.Summary().DataPoints().All() {
					p.SetSum(p.Sum() + 0)
					for _, q := range p.QuantileValues().All() {
						q.SetQuantile(q.Quantile() + 0)
						q.SetValue(q.Value() + 0)
					}
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// TestDrops checks which formats lose some unusual values. Drops of a format that loses a value
// must not be empty.
func TestDrops(t *testing.T) {
	f := func(b otlpfile.Batch, losers ...string) {
		t.Helper()
		for _, f := range All() {
			err := Check(f, None, []otlpfile.Batch{b}, dataset.Items(b.Signal, []otlpfile.Batch{b}))
			if slices.Contains(losers, f.Name()) {
				require.Error(t, err, f.Name())
				require.NotEmpty(t, f.Drops(b.Signal), f.Name())
			} else {
				require.NoError(t, err, f.Name())
			}
		}
	}
	metric := func() (otlpfile.Batch, pmetric.Metric) {
		md := pmetric.NewMetrics()
		return otlpfile.MetricsBatch(md), md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	}
	b, m := metric()
	m.SetEmptySummary().DataPoints().AppendEmpty().SetSum(math.Copysign(0, -1))
	f(b, "OTLP", "OTLP/JSON")
	b, m = metric()
	m.SetEmptyGauge().DataPoints().AppendEmpty().SetDoubleValue(math.Float64frombits(0x7ff8000000001234))
	f(b, "OTLP/JSON")
	b, m = metric()
	m.SetEmptyGauge().DataPoints().AppendEmpty().Attributes().PutStr("a", "\xff")
	f(b)
	b, m = metric()
	m.SetEmptySum().SetAggregationTemporality(-1)
	m.Sum().DataPoints().AppendEmpty()
	f(b)
	b, m = metric()
	m.SetEmptyGauge().DataPoints().AppendEmpty()
	entity.ResourceEntityRefs(b.Metrics.ResourceMetrics().At(0).Resource()).AppendEmpty().SetType("service")
	f(b)
}

// TestSeededCorruption makes one small change in the output of every format, such as another unit
// or a lost metric, and requires that Check finds each change.
func TestSeededCorruption(t *testing.T) {
	f := func(batches []otlpfile.Batch, change func(otlpfile.Batch)) {
		t.Helper()
		want := dataset.Items(batches[0].Signal, batches)
		for _, of := range All() {
			err := Check(corrupting{of, change}, None, batches, want)
			require.ErrorContains(t, err, "the decoded data differs", of.Name())
		}
	}
	metric := func(change func(pmetric.MetricSlice)) {
		t.Helper()
		f(everyMetric(), func(b otlpfile.Batch) {
			for _, rm := range b.Metrics.ResourceMetrics().All() {
				for _, sm := range rm.ScopeMetrics().All() {
					change(sm.Metrics())
				}
			}
		})
	}
	all := func(change func(pmetric.Metric)) {
		t.Helper()
		metric(func(ms pmetric.MetricSlice) {
			for _, m := range ms.All() {
				change(m)
			}
		})
	}
	metric(func(ms pmetric.MetricSlice) { ms.At(ms.Len() - 1).SetUnit("other") })
	metric(func(ms pmetric.MetricSlice) {
		ms.RemoveIf(func(m pmetric.Metric) bool { return m.Type() == pmetric.MetricTypeSummary })
	})
	metric(func(ms pmetric.MetricSlice) { ms.At(0).CopyTo(ms.AppendEmpty()) })
	all(func(m pmetric.Metric) {
		if m.Type() == pmetric.MetricTypeHistogram {
			m.Histogram().DataPoints().At(0).RemoveSum()
		}
	})
	all(func(m pmetric.Metric) {
		if m.Type() == pmetric.MetricTypeExponentialHistogram {
			m.ExponentialHistogram().DataPoints().At(0).Negative().BucketCounts().Append(0)
		}
	})
	all(func(m pmetric.Metric) {
		if m.Type() == pmetric.MetricTypeGauge && m.Gauge().DataPoints().At(0).Exemplars().Len() > 0 {
			m.Gauge().DataPoints().At(0).Exemplars().At(0).SetSpanID(pcommon.SpanID{9, 9})
		}
	})
	span := func(change func(ptrace.Span)) {
		t.Helper()
		f(everySpan(), func(b otlpfile.Batch) {
			spans := b.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
			change(spans.At(spans.Len() / 2))
		})
	}
	span(func(s ptrace.Span) { s.SetEndTimestamp(s.EndTimestamp() + 1) })
	span(func(s ptrace.Span) { s.SetParentSpanID(pcommon.SpanID{9, 9}) })
	span(func(s ptrace.Span) { s.Attributes().PutEmpty("new") })
	span(func(s ptrace.Span) { s.Links().AppendEmpty() })
	record := func(change func(plog.LogRecord)) {
		t.Helper()
		f(everyLog(), func(b otlpfile.Batch) {
			records := b.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
			change(records.At(records.Len() / 2))
		})
	}
	record(func(r plog.LogRecord) { r.SetObservedTimestamp(r.ObservedTimestamp() ^ 1) })
	record(func(r plog.LogRecord) { r.Body().SetStr("other") })
	f(everyLog(), func(b otlpfile.Batch) { b.Logs.ResourceLogs().At(0).Resource().Attributes().PutBool("new", true) })
}

// corrupting is a format whose decoder changes the first batch.
type corrupting struct {
	Format
	change func(otlpfile.Batch)
}

func (f corrupting) NewDecoder(signal otlpfile.Signal, own bool) (Decoder, error) {
	d, err := f.Format.NewDecoder(signal, own)
	return &corruptingDecoder{Decoder: d, change: f.change}, err
}

type corruptingDecoder struct {
	Decoder
	change func(otlpfile.Batch)
	done   bool
}

func (d *corruptingDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	b, err := d.Decoder.Decode(message)
	if err == nil && !d.done {
		d.done = true
		d.change(b)
	}
	return b, err
}

// The values of each type, with edge cases.
var (
	everyText  = []string{"", "a", "host.name", "é", "a\x00b", strings.Repeat("long ", 100)}
	everyInt   = []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	everyFloat = []float64{0, math.Copysign(0, -1), 1.5, math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN()}
	everyCount = []uint64{0, 1, math.MaxUint64}
	everyTime  = []pcommon.Timestamp{0, 1, 1_700_000_000_000_000_000, math.MaxUint64}
)

// of returns the n-th value. After the last value, it starts again with the first value.
func of[T any](values []T, n int) T { return values[n%len(values)] }

// everyValue sets v to a value that depends on n. The values of successive n have all types and
// include all special values. Lists and maps are nested at most two levels deep.
func everyValue(v pcommon.Value, n int) { everyValueIn(v, n, 2) }

func everyValueIn(v pcommon.Value, n, depth int) {
	kind := n % 10
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		v.SetStr(of(everyText, n/10))
	case 1:
		v.SetInt(of(everyInt, n/10))
	case 2:
		v.SetDouble(of(everyFloat, n/10))
	case 3:
		v.SetBool(n/10%2 == 0)
	case 4: // no value
	case 5:
		v.SetEmptyBytes().FromRaw([]byte(of(everyText, n/10)))
	case 6:
		list := v.SetEmptySlice()
		for k := range 10 {
			everyValueIn(list.AppendEmpty(), n+k, depth-1)
		}
	case 7:
		v.SetEmptySlice()
	case 8:
		m := v.SetEmptyMap()
		for k := range 6 {
			everyValueIn(m.PutEmpty(of(everyText, k)), n+2+k, depth-1)
		}
	case 9:
		v.SetEmptyMap()
	}
}

// everyAttribute adds up to six attributes to m. For some n, it also adds one key twice.
func everyAttribute(m pcommon.Map, n int) {
	var pairs xpdata.MapBuilder
	for k := range n % 7 {
		everyValue(pairs.AppendEmpty(of(everyText, n+k)), 3*n+k)
	}
	if n%7 == 3 {
		pairs.AppendEmpty("twice").SetStr("b")
		pairs.AppendEmpty("twice").SetStr("a")
	}
	pairs.UnsafeIntoMap(m)
}

func everyContainer(r pcommon.Resource, s pcommon.InstrumentationScope, n int) {
	everyAttribute(r.Attributes(), n)
	r.SetDroppedAttributesCount(uint32(of(everyCount, n)))
	s.SetName(of(everyText, n))
	s.SetVersion(of(everyText, n+1))
	everyAttribute(s.Attributes(), n+1)
	s.SetDroppedAttributesCount(uint32(of(everyCount, n+1)))
}

const everyBatches, everyItems = 4, 40

func everyMetric() []otlpfile.Batch {
	var batches []otlpfile.Batch
	for n := range everyBatches {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		rm.SetSchemaUrl(of(everyText, n))
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.SetSchemaUrl(of(everyText, n+1))
		everyContainer(rm.Resource(), sm.Scope(), n)
		for k := range everyItems {
			m := sm.Metrics().AppendEmpty()
			m.SetName(of(everyText, k))
			m.SetDescription(of(everyText, k+1))
			m.SetUnit(of(everyText, k+2))
			everyAttribute(m.Metadata(), n+k)
			everyPoints(m, n*everyItems+k)
		}
		batches = append(batches, otlpfile.MetricsBatch(md))
	}
	return batches
}

func everyPoints(m pmetric.Metric, n int) {
	temporality := pmetric.AggregationTemporality(n % 4)
	switch n % 5 {
	case 0:
		everyNumber(m.SetEmptyGauge().DataPoints(), n)
	case 1:
		m.SetEmptySum().SetAggregationTemporality(temporality)
		m.Sum().SetIsMonotonic(n%2 == 0)
		everyNumber(m.Sum().DataPoints(), n)
	case 2:
		m.SetEmptyHistogram().SetAggregationTemporality(temporality)
		for k := range 4 {
			everyHistogram(m.Histogram().DataPoints().AppendEmpty(), n+k)
		}
	case 3:
		m.SetEmptyExponentialHistogram().SetAggregationTemporality(temporality)
		for k := range 4 {
			everyExponential(m.ExponentialHistogram().DataPoints().AppendEmpty(), n+k)
		}
	case 4:
		points := m.SetEmptySummary().DataPoints()
		for k := range 4 {
			p := points.AppendEmpty()
			everyPoint(p, n+k)
			p.SetCount(of(everyCount, n+k))
			p.SetSum(of(everyFloat, n+k))
			for j := range k {
				q := p.QuantileValues().AppendEmpty()
				q.SetQuantile(of(everyFloat, n+j))
				q.SetValue(of(everyFloat, k+j))
			}
		}
	}
}

func everyPoint(p interface {
	Attributes() pcommon.Map
	SetStartTimestamp(pcommon.Timestamp)
	SetTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
}, n int) {
	everyAttribute(p.Attributes(), n)
	p.SetStartTimestamp(of(everyTime, n))
	p.SetTimestamp(of(everyTime, n+1))
	p.SetFlags(pmetric.DataPointFlags(of(everyCount, n)))
}

func everyNumber(points pmetric.NumberDataPointSlice, n int) {
	for k := range 6 {
		p := points.AppendEmpty()
		everyPoint(p, n+k)
		switch k % 3 {
		case 0:
			p.SetIntValue(of(everyInt, n+k))
		case 1:
			p.SetDoubleValue(of(everyFloat, n+k))
		}
		everyExemplar(p.Exemplars(), n+k)
	}
}

func everyExemplar(to pmetric.ExemplarSlice, n int) {
	for k := range n % 4 {
		e := to.AppendEmpty()
		e.SetTimestamp(of(everyTime, n+k))
		switch k % 3 {
		case 0:
			e.SetIntValue(of(everyInt, n+k))
		case 1:
			e.SetDoubleValue(of(everyFloat, n+k))
		}
		e.SetTraceID(pcommon.TraceID{15: byte(n)})
		e.SetSpanID(pcommon.SpanID{7: byte(n)})
		everyAttribute(e.FilteredAttributes(), n+k)
	}
}

// everyOptional sets none, some or all optional fields.
func everyOptional(p interface {
	SetSum(float64)
	SetMin(float64)
	SetMax(float64)
}, n int) {
	if n&1 > 0 {
		p.SetSum(of(everyFloat, n))
	}
	if n&2 > 0 {
		p.SetMin(of(everyFloat, n+1))
	}
	if n&4 > 0 {
		p.SetMax(of(everyFloat, n+2))
	}
}

func everyHistogram(p pmetric.HistogramDataPoint, n int) {
	everyPoint(p, n)
	everyOptional(p, n)
	p.SetCount(of(everyCount, n))
	for k := range n % 4 {
		p.ExplicitBounds().Append(of(everyFloat, n+k))
	}
	for k := range n % 5 {
		p.BucketCounts().Append(of(everyCount, n+k))
	}
	everyExemplar(p.Exemplars(), n)
}

func everyExponential(p pmetric.ExponentialHistogramDataPoint, n int) {
	everyPoint(p, n)
	everyOptional(p, n)
	p.SetCount(of(everyCount, n))
	p.SetScale(int32(of(everyInt, n)))
	p.SetZeroCount(of(everyCount, n+1))
	p.SetZeroThreshold(of(everyFloat, n))
	for i, b := range []pmetric.ExponentialHistogramDataPointBuckets{p.Positive(), p.Negative()} {
		b.SetOffset(int32(of(everyInt, n+i)))
		for k := range (n + i) % 4 {
			b.BucketCounts().Append(of(everyCount, n+k))
		}
	}
	everyExemplar(p.Exemplars(), n)
}

func everySpan() []otlpfile.Batch {
	var batches []otlpfile.Batch
	for n := range everyBatches {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl(of(everyText, n))
		ss := rs.ScopeSpans().AppendEmpty()
		ss.SetSchemaUrl(of(everyText, n+1))
		everyContainer(rs.Resource(), ss.Scope(), n)
		for k := range everyItems {
			fillSpan(ss.Spans().AppendEmpty(), n*everyItems+k)
		}
		batches = append(batches, otlpfile.TracesBatch(td))
	}
	return batches
}

func fillSpan(s ptrace.Span, n int) {
	if n%5 > 0 {
		s.SetTraceID(pcommon.TraceID{0: 1, 15: byte(n)})
		s.SetSpanID(pcommon.SpanID{7: byte(n)})
		s.SetParentSpanID(pcommon.SpanID{6: byte(n)})
	}
	s.TraceState().FromRaw(of(everyText, n))
	s.SetFlags(uint32(of(everyCount, n)))
	s.SetName(of(everyText, n+1))
	s.SetKind(ptrace.SpanKind(n % 7))
	s.SetStartTimestamp(of(everyTime, n))
	s.SetEndTimestamp(of(everyTime, n/4))
	everyAttribute(s.Attributes(), n)
	s.SetDroppedAttributesCount(uint32(of(everyCount, n+1)))
	s.SetDroppedEventsCount(uint32(of(everyCount, n+2)))
	s.SetDroppedLinksCount(uint32(of(everyCount, n)))
	s.Status().SetCode(ptrace.StatusCode(n % 4))
	s.Status().SetMessage(of(everyText, n+3))
	for k := range n % 3 {
		e := s.Events().AppendEmpty()
		e.SetName(of(everyText, n+k))
		e.SetTimestamp(of(everyTime, n+k))
		everyAttribute(e.Attributes(), n+k)
		e.SetDroppedAttributesCount(uint32(of(everyCount, n+k)))
	}
	for k := range n % 4 {
		l := s.Links().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{3: byte(k)})
		l.SetSpanID(pcommon.SpanID{2: byte(n)})
		l.TraceState().FromRaw(of(everyText, n+k))
		l.SetFlags(uint32(of(everyCount, n+k)))
		everyAttribute(l.Attributes(), n+k)
		l.SetDroppedAttributesCount(uint32(of(everyCount, n+k+1)))
	}
}

func everyLog() []otlpfile.Batch {
	var batches []otlpfile.Batch
	for n := range everyBatches {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.SetSchemaUrl(of(everyText, n))
		sl := rl.ScopeLogs().AppendEmpty()
		sl.SetSchemaUrl(of(everyText, n+1))
		everyContainer(rl.Resource(), sl.Scope(), n)
		for k := range everyItems {
			i := n*everyItems + k
			lr := sl.LogRecords().AppendEmpty()
			lr.SetTimestamp(of(everyTime, i))
			lr.SetObservedTimestamp(of(everyTime, i/4))
			lr.SetSeverityNumber(plog.SeverityNumber(i % 26))
			lr.SetSeverityText(of(everyText, i))
			lr.SetEventName(of(everyText, i+1))
			lr.SetFlags(plog.LogRecordFlags(of(everyCount, i)))
			lr.SetDroppedAttributesCount(uint32(of(everyCount, i+1)))
			if i%3 > 0 {
				lr.SetTraceID(pcommon.TraceID{15: byte(i)})
				lr.SetSpanID(pcommon.SpanID{0: byte(i)})
			}
			everyAttribute(lr.Attributes(), i)
			everyValue(lr.Body(), i)
		}
		batches = append(batches, otlpfile.LogsBatch(ld))
	}
	return batches
}

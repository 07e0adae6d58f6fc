// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/list"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
	spec "github.com/otelstef/stef/stef-spec"
)

// rows returns the words of each line of the fenced block whose language is lang. The specification
// must have exactly one such block.
func rows(t *testing.T, lang string) (list [][]string) {
	t.Helper()
	found := blocks(lang)
	require.Len(t, found, 1, lang)
	for line := range strings.Lines(found[0].text()) {
		list = append(list, strings.Fields(line))
	}
	require.NotEmpty(t, list)
	return list
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	if text == "far" {
		return far
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// TestCompactRules checks the tables of chapter 17 against the rules, which
// TestCompactRecords checks against the writers.
func TestCompactRules(t *testing.T) {
	t.Run("residuals", func(t *testing.T) {
		var writer, reader residualField
		var last, delta uint64
		for _, row := range rows(t, "stef-residuals") {
			r := integer(t, row[0])
			v := writer.value(uint64(r))
			require.EqualValues(t, integer(t, row[1]), v)
			require.Equal(t, r, reader.residual(v))
			sent := "-"
			if v != last {
				sent = fmt.Sprint(int64(v - last - delta))
				last, delta = v, v-last
			}
			require.Equal(t, row[2], sent, "residual %d", r)
		}
	})
	t.Run("plain codes", func(t *testing.T) {
		for _, row := range rows(t, "stef-units") {
			x := integer(t, row[0])
			code := plainCode(x)
			require.Equal(t, integer(t, row[1]), code, row)
			if row[1] != "far" {
				back, err := fromPlain(code)
				require.NoError(t, err)
				require.Equal(t, x, int64(back))
			}
		}
	})
	t.Run("unit habit", func(t *testing.T) {
		var h unitHabit
		for _, row := range rows(t, "stef-habit") {
			if row[0] == "repeat" {
				for range integer(t, row[1]) {
					h.learn(integer(t, row[2]))
				}
				continue
			}
			x := integer(t, row[0])
			code := h.code(x)
			require.Equal(t, integer(t, row[1]), code, row)
			if row[1] != "far" {
				back, err := h.difference(code)
				require.NoError(t, err)
				require.Equal(t, x, int64(back))
			}
			h.learn(x)
			require.Equal(t, row[2:], []string{fmt.Sprint(h.u), fmt.Sprint(h.n)}, row)
		}
	})
	t.Run("decimals", func(t *testing.T) {
		for _, row := range rows(t, "stef-decimals") {
			bits, err := strconv.ParseUint(row[0], 16, 64)
			require.NoError(t, err)
			if row[1] != "-" {
				m := integer(t, row[2])
				require.Less(t, magnitude(m), uint64(1<<53))
				require.Equal(t, bits, math.Float64bits(decimal(m, integer(t, row[1]))), row)
				continue
			}
			for e := range int64(13) {
				near := int64(math.Round(math.Float64frombits(bits) * math.Pow10(int(e))))
				for m := near - 2; m <= near+2; m++ {
					if magnitude(m) < 1<<53 {
						require.NotEqual(t, bits, math.Float64bits(decimal(m, e)), "%v: %d places", row, e)
					}
				}
			}
		}
	})
}

func compactSchema(t *testing.T) *schema.Schema {
	t.Helper()
	return compactSchemaWith(t, "")
}

// compactSchemaWith returns the schema of the compact form with further fields.
func compactSchemaWith(t *testing.T, more string) *schema.Schema {
	t.Helper()
	otel, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	form, err := idl.Parse("compact.stef", []byte(spec.CompactSchema))
	require.NoError(t, err)
	s := schema.Extend(otel, form)
	if more != "" {
		s = schema.Extend(s, idl.MustParse("more.stef", "package otel.stef\n"+more))
	}
	return s
}

// compactRoot contains what the tests need to know about a root in the compact form.
type compactRoot struct {
	*vectorRoot
	compact, full *schema.Struct
	option        stef.WriterOption
	// write writes records with the generated writer.
	write func(t *testing.T, recs []any, each func(i int) (flush bool), options ...stef.WriterOption) []byte
	// newRecord makes a record with the content of v.
	newRecord func(v *dynamic.Struct) any
	// random makes records.
	random func(seed uint64, n int) []any
}

func newCompactRoot[R any, W recordWriter[*R], P interface {
	*R
	CopyFrom(*R)
}](t *testing.T, root *vectorRoot, compact, full *schema.Struct, option stef.WriterOption, newRecord func() *R,
	newWriter func(*bytes.Buffer, ...stef.WriterOption) (W, error), realistic func(*rand.Rand, *R)) *compactRoot {
	c := &compactRoot{vectorRoot: root, compact: compact, full: full, option: option}
	c.write = func(t *testing.T, recs []any, flush func(int) bool, options ...stef.WriterOption) []byte {
		t.Helper()
		var out bytes.Buffer
		w, err := newWriter(&out, options...)
		require.NoError(t, err)
		for i, rec := range recs {
			P(w.Record()).CopyFrom(rec.(*R))
			require.NoError(t, w.Write())
			if flush(i) {
				require.NoError(t, w.Flush())
			}
		}
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	c.newRecord = func(v *dynamic.Struct) any {
		rec := newRecord()
		steftest.Set(rec, full, v)
		return rec
	}
	c.random = func(seed uint64, n int) (recs []any) {
		r := rand.New(rand.NewPCG(seed, 17))
		if seed%2 == 0 {
			for _, v := range steftest.Records(seed, full, n, steftest.Shape{}) {
				recs = append(recs, c.newRecord(v))
			}
			return recs
		}
		held := newRecord()
		for range n {
			realistic(r, held)
			rec := newRecord()
			P(rec).CopyFrom(held)
			recs = append(recs, rec)
		}
		return recs
	}
	return c
}

func compactRoots(t *testing.T) []*compactRoot {
	return []*compactRoot{
		newCompactRoot(t, metricsRoot, otelstef.MetricsCompactRoot(), otelstef.MetricsRoot(), otelstef.CompactMetrics(), otelstef.NewMetrics,
			func(out *bytes.Buffer, o ...stef.WriterOption) (*otelstef.MetricsWriter, error) {
				return otelstef.NewMetricsWriter(out, o...)
			}, realisticPoint),
		newCompactRoot(t, spansRoot, otelstef.SpansCompactRoot(), otelstef.SpansRoot(), otelstef.CompactSpans(), otelstef.NewSpans,
			func(out *bytes.Buffer, o ...stef.WriterOption) (*otelstef.SpansWriter, error) {
				return otelstef.NewSpansWriter(out, o...)
			}, realisticSpan),
		newCompactRoot(t, logsRoot, otelstef.LogsCompactRoot(), otelstef.LogsRoot(), otelstef.CompactLogs(), otelstef.NewLogs,
			func(out *bytes.Buffer, o ...stef.WriterOption) (*otelstef.LogsWriter, error) {
				return otelstef.NewLogsWriter(out, o...)
			}, realisticLog),
	}
}

// TestCompactRecords writes records with the generated writers in the compact form,
// and reads the streams by the rules of chapter 17.
func TestCompactRecords(t *testing.T) {
	seeds, n := uint64(40), 300
	if testing.Short() {
		seeds = 12
	}
	for _, c := range compactRoots(t) {
		t.Run(c.name, func(t *testing.T) {
			for seed := range seeds {
				r := rand.New(rand.NewPCG(seed, 18))
				recs := c.random(seed, n)
				options := []stef.WriterOption{c.option}
				if seed%3 == 1 {
					options = append(options, stef.WithDictBytes(2000))
				}
				if seed%4 == 3 {
					options = append(options, stef.WithRestart(stef.FrameFlags(r.IntN(int(stef.RestartAll)+1))))
				}
				stream := c.write(t, recs, func(int) bool { return r.IntN(40) == 0 }, options...)
				got, err := readCompact(stream, c.compact, c.full)
				require.NoError(t, err, "seed %d", seed)
				require.Len(t, got, len(recs))
				for i, rec := range recs {
					want := plainValue(c.full, rec)
					require.Empty(t, steftest.Diff(c.full, want, got[i]), "seed %d: record %d", seed, i)
				}
			}
		})
	}
}

// TestCompactBounds writes records beyond the bounds of the state. readCompact, which follows
// the rules of the specification, must return the same records.
func TestCompactBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	roots := compactRoots(t)
	read := func(c *compactRoot, recs []any) {
		t.Helper()
		got, err := readCompact(c.write(t, recs, func(i int) bool { return i%5000 == 0 }, c.option), c.compact, c.full)
		require.NoError(t, err)
		require.Len(t, got, len(recs))
		for i, rec := range recs {
			if i%50 != 0 && i < len(recs)-100 {
				continue // an error in a skipped record also changes the state of later records
			}
			if diff := steftest.Diff(c.full, steftest.Value(rec, c.full, nil), got[i]); diff != "" {
				require.Fail(t, diff, "record %d", i)
			}
		}
	}
	// points returns one point of each of n series, and then a second point of the first 200 series.
	points := func(n int, set func(i int, rec *otelstef.Metrics)) (recs []any) {
		for i := range n + min(n, 200) {
			rec := otelstef.NewMetrics()
			rec.Point().SetTimestamp(start + uint64(i/1000))
			set(i%n, rec)
			recs = append(recs, rec)
		}
		return recs
	}
	t.Run("series", func(t *testing.T) {
		read(roots[0], points(ruleSeries+10, func(i int, rec *otelstef.Metrics) {
			setAttributes(rec.Attributes(), "n", i)
			rec.Point().Value().SetInt64(int64(i))
		}))
	})
	t.Run("sets", func(t *testing.T) {
		const pairs = 255
		read(roots[0], points(rulePairs/(pairs+1)+10, func(i int, rec *otelstef.Metrics) {
			list := make([]any, 2*pairs)
			for j := range pairs {
				list[2*j], list[2*j+1] = "key", i
			}
			setAttributes(rec.Attributes(), list...)
			rec.Point().Value().SetInt64(int64(i))
		}))
	})
	t.Run("words", func(t *testing.T) {
		const counts = 4000
		read(roots[0], points(ruleWords/counts*3/2+20, func(i int, rec *otelstef.Metrics) {
			setAttributes(rec.Attributes(), "n", i)
			if i%3 == 0 {
				setAttributes(rec.Attributes(), "n", []any{})
			}
			rec.Point().Value().SetHistogram().BucketCounts().SetLen(counts)
		}))
	})
	t.Run("exemplars", func(t *testing.T) {
		const texts, each = 1000, 10
		n := ruleExemplarBytes/(texts*each)*3/2 + 20
		recs := points(n, func(i int, rec *otelstef.Metrics) {
			setAttributes(rec.Attributes(), "n", i)
			if i%9 == 0 {
				setAttributes(rec.Attributes(), "n", []any{})
			}
			rec.Point().Exemplars().SetLen(each)
			for k := range each {
				rec.Point().Exemplars().At(k).SetTimestamp(uint64(i + k))
				setAttributes(rec.Point().Exemplars().At(k).FilteredAttributes(), "k", strings.Repeat("t", texts))
			}
		})
		// Add a second point of each series. These points have fewer and fewer exemplars,
		// so some series release space that later series need.
		for i, rec := range recs[:n] {
			next := otelstef.NewMetrics()
			next.CopyFrom(rec.(*otelstef.Metrics))
			next.Point().Exemplars().SetLen(each - i*each/n)
			recs = append(recs, next)
		}
		read(roots[0], append(recs, recs[:n]...))
	})
	t.Run("ticks", func(t *testing.T) {
		recs := points(6*ruleTicks, func(i int, rec *otelstef.Metrics) { setAttributes(rec.Attributes(), "n", i%3) })
		for i, rec := range recs {
			rec.(*otelstef.Metrics).Point().SetTimestamp(start + uint64(i/3%(ruleTicks+100))*second)
		}
		read(roots[0], recs)
	})
	spans := func(n int, set func(i int, s *otelstef.Span)) (recs []any) {
		for i := range n {
			rec := otelstef.NewSpans()
			rec.Span().SetTraceID(fmt.Appendf(nil, "%016d", i/5))
			rec.Span().SetSpanID(fmt.Appendf(nil, "%08d", i))
			rec.Span().SetParentSpanID(fmt.Appendf(nil, "%08d", i-i%5))
			set(i, rec.Span())
			recs = append(recs, rec)
		}
		return recs
	}
	t.Run("names", func(t *testing.T) {
		read(roots[1], spans(9000, func(i int, s *otelstef.Span) {
			s.SetName(fmt.Sprint(i % 4500))
			if i%7 == 0 {
				s.SetSpanID([]byte("odd"))
			}
		}))
	})
	t.Run("traces", func(t *testing.T) {
		read(roots[1], spans(40000, func(i int, s *otelstef.Span) { s.SetTraceID(fmt.Appendf(nil, "%016d", i%33000)) }))
	})
	t.Run("ids", func(t *testing.T) {
		read(roots[1], spans(70000, func(i int, s *otelstef.Span) { s.SetParentSpanID(fmt.Appendf(nil, "p%07d", i)) }))
	})
}

// plainValue returns a record as a reader of the compact form returns it: with the observed
// time instead of the difference.
func plainValue(full *schema.Struct, rec any) *dynamic.Struct {
	if log, ok := rec.(*otelstef.Logs); ok && log.Record().HasObservedDelta() {
		r := log.Record()
		r.SetObservedTime(r.Time() + uint64(r.ObservedDelta()))
		r.SetObservedDelta(0)
		r.UnsetObservedDelta()
	}
	return steftest.Value(rec, full, nil)
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// realisticPoint changes a point. The changes are like those in a stream of a few series.
func realisticPoint(r *rand.Rand, rec *otelstef.Metrics) {
	kind := r.IntN(6)
	rec.EditMetric().SetName(fmt.Sprint("metric", kind))
	temporality := otelstef.AggregationTemporalityCumulative
	if kind == 3 && r.IntN(4) > 0 {
		temporality = otelstef.AggregationTemporalityDelta
	}
	rec.EditMetric().SetAggregationTemporality(temporality)
	if r.IntN(5) == 0 {
		rec.EditResource().SetSchemaURL(fmt.Sprint("resource", r.IntN(3)))
	}
	var value any = r.IntN(3)
	if r.IntN(20) == 0 {
		value = pick[any](r, []any{1}, nil, 0.5, "text", true)
	}
	setAttributes(rec.Attributes(), "n", value)
	p := rec.Point()
	switch r.IntN(8) {
	case 0:
		p.SetTimestamp(r.Uint64())
	case 1, 2:
		p.SetTimestamp(p.Timestamp() + uint64(r.IntN(3))*second)
	}
	switch r.IntN(12) {
	case 0:
		p.SetStartTimestamp(r.Uint64())
	case 1:
		p.SetStartTimestamp(p.Timestamp() - second)
	}
	v := p.Value()
	places := math.Pow10(r.IntN(4))
	double := func() float64 {
		return pick(r, float64(r.IntN(1000))/places, r.Float64(), math.Copysign(0, -1), math.Inf(1), math.Float64frombits(r.Uint64()))
	}
	switch kind {
	case 0:
		v.SetType(otelstef.PointValueTypeNone)
	case 1:
		v.SetInt64(pick(r, v.Int64()+int64(r.IntN(100)), int64(r.Uint64()), 0))
	case 2:
		v.SetFloat64(double())
	case 3:
		h := v.SetHistogram()
		h.SetCount(int64(r.IntN(100)))
		h.SetOptionalSum(double(), r.IntN(4) > 0)
		h.SetOptionalMin(double(), r.IntN(2) > 0)
		h.SetOptionalMax(double(), r.IntN(2) > 0)
		lifelikeCounts(r, h.BucketCounts())
	case 4:
		h := v.SetExpHistogram()
		h.SetCount(uint64(r.IntN(100)))
		h.SetOptionalSum(double(), r.IntN(4) > 0)
		h.SetZeroThreshold(double())
		h.SetScale(int64(r.IntN(20) - 10))
		h.PositiveBuckets().SetOffset(int64(r.IntN(3)))
		lifelikeCounts(r, h.PositiveBuckets().BucketCounts())
		lifelikeCounts(r, h.NegativeBuckets().BucketCounts())
	default:
		s := v.SetSummary()
		s.SetCount(uint64(r.IntN(10)))
		s.SetSum(double())
		s.QuantileValues().SetLen(r.IntN(3))
		for i := range s.QuantileValues().Len() {
			s.QuantileValues().At(i).SetValue(double())
		}
	}
	realisticExemplars(r, kind, p.Exemplars())
}

// realisticExemplars sets exemplars. Most of them equal those of other points of the same kind.
func realisticExemplars(r *rand.Rand, kind int, list *list.Of[otelstef.Exemplar]) {
	n := 0
	if kind >= 3 {
		n = pick(r, kind, kind, kind, r.IntN(4), 70)
	}
	list.SetLen(n)
	for i := range n {
		e, age := list.At(i), 0
		if r.IntN(6) == 0 {
			age = 1 + r.IntN(2)
		}
		e.SetTimestamp(start + uint64(i)*second)
		switch i % 3 {
		case 0:
			e.Value().SetType(otelstef.ExemplarValueTypeNone)
		case 1:
			e.Value().SetInt64(int64(age))
		default:
			e.Value().SetFloat64(math.Copysign(0, float64(1-age)))
		}
		e.SetTraceID(fmt.Appendf(nil, "trace-%010d", age))
		e.SetSpanID(nil)
		if i%2 == 0 {
			e.SetSpanID(fmt.Appendf(nil, "span-%03d", age))
		}
		switch r.IntN(60) {
		case 0:
			e.SetSpanID([]byte("odd"))
		case 1:
			setAttributes(e.FilteredAttributes(), "k", []any{age})
		default:
			setAttributes(e.FilteredAttributes(), "k", age, "l", fmt.Sprint(age), "m", nil, "n", 0.5, "o", true)
		}
	}
}

func lifelikeCounts(r *rand.Rand, counts *list.Values[uint64]) {
	if r.IntN(3) == 0 {
		return
	}
	counts.SetLen(r.IntN(5))
	for i := range counts.Len() {
		counts.Set(i, uint64(r.IntN(5)))
	}
}

// realisticSpan changes a span. The changes are like those in a stream of a few traces.
func realisticSpan(r *rand.Rand, rec *otelstef.Spans) {
	s := rec.Span()
	id := func(n int) []byte { return []byte(fmt.Sprintf("%08d", n)) }
	s.SetName(fmt.Sprint("name", r.IntN(4)))
	s.SetTraceID(slices.Concat(id(r.IntN(20)), id(r.IntN(2))))
	s.SetSpanID(id(r.IntN(600)))
	s.SetParentSpanID(pick(r, nil, id(r.IntN(600)), s.SpanID()))
	if r.IntN(30) == 0 {
		s.SetParentSpanID([]byte("odd"))
	}
	s.SetStartTimeUnixNano(pick(r, s.StartTimeUnixNano()+uint64(r.IntN(50))*1000, s.StartTimeUnixNano()+second))
	if r.IntN(40) == 0 {
		s.SetStartTimeUnixNano(pick(r, 0, r.Uint64()))
	}
	s.SetEndTimeUnixNano(s.StartTimeUnixNano() + pick(r, uint64(r.IntN(50))*1000, uint64(r.IntN(100)), r.Uint64()))
	s.Events().SetLen(r.IntN(3))
	for i := range s.Events().Len() {
		s.Events().At(i).SetTimeUnixNano(pick(r, s.StartTimeUnixNano(), s.StartTimeUnixNano()+uint64(r.IntN(50)), r.Uint64()))
	}
}

func realisticLog(r *rand.Rand, rec *otelstef.Logs) {
	log := rec.Record()
	log.SetTime(pick(r, log.Time()+uint64(r.IntN(50))*1_000_000, log.Time(), 0, r.Uint64()))
	switch r.IntN(4) {
	case 0:
		log.SetObservedTime(r.Uint64())
	case 1:
		log.SetObservedTime(log.Time() + uint64(r.IntN(5)))
	case 2:
		log.SetObservedDelta(int64(r.IntN(1000)))
	default:
		log.UnsetObservedDelta()
	}
	id := func(n int) []byte { return []byte(fmt.Sprintf("%08d", n)) }
	log.SetTraceID(pick(r, nil, slices.Concat(id(r.IntN(5)), id(1)), []byte("odd")))
	log.SetSpanID(pick(r, nil, id(r.IntN(30))))
}

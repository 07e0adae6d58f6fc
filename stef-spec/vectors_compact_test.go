// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
)

// compactVectors are streams in the compact form, at least one for each rule of
// chapter 17.
func compactVectors() []vector {
	list := append(compactMetricsVectors(), compactSpansVectors()...)
	list = append(list, compactLogsVectors()...)
	for i := range list {
		list[i].compact = true
	}
	return list
}

func compactOptions(name string, option stef.WriterOption, more ...vectorOption) options {
	return append(options{{"Compact" + name + "()", option}}, more...)
}

func compactMetricsVectors() []vector {
	// Vectors of the first version of the compact form stay as they are: readers still read this
	// version.
	withCompact := options{{"WithSchema(8 1 8 7 4 4 5 5 5 5 9 2 3 2 5 2 6), the first version of the compact form", stef.WithSchema(firstCompactMetrics)}}
	return []vector{
		metricsVector("compact_integers", "integers of two series: steps, steps that repeat, the ends of the range, a point without a value.", withCompact, func(s *metrics) {
			values := []int64{10, 20, 30, 40, 51, math.MaxInt64, math.MinInt64, 0}
			for i, v := range values {
				for k := range 2 {
					s.write(func(rec *otelstef.Metrics) {
						setAttributes(rec.Attributes(), "k", k)
						rec.Point().SetTimestamp(start + uint64(i)*10*second)
						rec.Point().Value().SetInt64(v * int64(1-2*k))
						if i == 3 && k == 1 {
							rec.Point().Value().SetType(otelstef.PointValueTypeNone)
						}
					})
				}
			}
		}),
		metricsVector("compact_doubles", "doubles: decimals whose places grow and shrink, -0, infinity, NaN with a payload, a double that is no decimal.", withCompact, func(s *metrics) {
			for i, v := range []float64{20.5, 20.75, 21, 1e15, 1e300, math.Copysign(0, -1), math.Inf(-1),
				math.Float64frombits(0x7ff8000000000001), 1.0 / 3, 1.0/3 + 1e-16, 0.1, 0.1, 0.3} {
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(start + uint64(i)*second)
					rec.Point().Value().SetFloat64(v)
				})
			}
		}),
		metricsVector("compact_times", "times of three series: common and own intervals, far times, starts that are the time before, times that go back.", withCompact, func(s *metrics) {
			times := []uint64{start, start + second, start + 2*second, start + 2*second, start + second + 7, 0, math.MaxUint64, start}
			for i, time := range times {
				for k := range 3 {
					s.write(func(rec *otelstef.Metrics) {
						setAttributes(rec.Attributes(), "k", k)
						p := rec.Point()
						if k == 1 && i > 0 {
							p.SetStartTimestamp(times[i-1] + 1_000_000)
						} else if i > 4 {
							p.SetStartTimestamp(uint64(i) << 61)
						}
						p.SetTimestamp(time + uint64(k)*1_000_000)
						p.Value().SetInt64(1)
					})
				}
			}
		}),
		metricsVector("compact_homes", "three resources: the first series of the third one has the time of tick 0, which is the tick of a home that is not known.", withCompact, func(s *metrics) {
			for _, p := range []struct {
				resource string
				time     uint64
			}{{"a", start}, {"b", start + 20*second}, {"c", start}, {"a", start + 30*second}, {"b", start + 45*second}, {"c", start + 30*second}} {
				s.write(func(rec *otelstef.Metrics) {
					rec.EditResource().SetSchemaURL(p.resource)
					rec.Point().SetTimestamp(p.time)
				})
			}
		}),
		metricsVector("compact_histogram", "histograms: the same again, other counts, more and fewer buckets, sum, minimum and maximum that come and go, a far time.", withCompact, func(s *metrics) {
			write := func(time uint64, change func(h *otelstef.HistogramValue)) {
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(time)
					change(rec.Point().Value().SetHistogram())
				})
			}
			write(start, func(h *otelstef.HistogramValue) {
				h.SetCount(6)
				h.SetSum(12.5)
				h.BucketCounts().SetValues([]uint64{1, 2, 3})
			})
			write(start+second, func(*otelstef.HistogramValue) {})
			write(start+2*second, func(h *otelstef.HistogramValue) {
				h.SetCount(10)
				h.SetSum(14)
				h.SetMin(0.5)
				h.SetMax(4)
				h.BucketCounts().SetValues([]uint64{2, 2, 3, 3})
			})
			write(start+3*second, func(h *otelstef.HistogramValue) {
				h.UnsetSum()
				h.BucketCounts().SetValues([]uint64{5})
			})
			write(math.MaxUint64, func(*otelstef.HistogramValue) {})
		}),
		metricsVector("compact_exp_histogram", "exponential histograms: both lists of buckets, offsets, scale, a negative difference of the count.", withCompact, func(s *metrics) {
			for i := range uint64(3) {
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(start + i*second)
					h := rec.Point().Value().SetExpHistogram()
					h.SetCount(10 + i)
					h.SetSum(-1.25)
					h.SetMin(-2)
					h.SetScale(-3 - int64(i))
					h.SetZeroCount(i)
					h.SetZeroThreshold(0.001)
					h.PositiveBuckets().SetOffset(-7)
					h.PositiveBuckets().BucketCounts().SetValues([]uint64{4, i})
					h.NegativeBuckets().SetOffset(int64(i))
					h.NegativeBuckets().BucketCounts().SetValues([]uint64{1, 2, 3}[i:])
				})
			}
		}),
		metricsVector("compact_summary", "summaries with no, two and one quantile.", withCompact, func(s *metrics) {
			for i := range uint64(4) {
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(start + i*second)
					v := rec.Point().Value().SetSummary()
					v.SetCount(100 * i)
					v.SetSum(float64(i) / 4)
					v.QuantileValues().SetLen(int([]uint64{0, 2, 2, 1}[i]))
					for q := range v.QuantileValues().Len() {
						v.QuantileValues().At(q).SetQuantile(0.5)
						v.QuantileValues().At(q).SetValue(float64(q) + 1.5)
					}
				})
			}
		}),
		metricsVector("compact_series", "what a series is: resources, scopes and metrics that return, kinds that change, attributes in another order, an attribute that is an array.", withCompact, func(s *metrics) {
			for i := range uint64(12) {
				s.write(func(rec *otelstef.Metrics) {
					rec.EditMetric().SetName([]string{"a", "b"}[i/6])
					rec.EditResource().SetSchemaURL([]string{"r1", "r2", "r2"}[i%3])
					switch i % 4 {
					case 0:
						setAttributes(rec.Attributes(), "x", 1, "y", 1.5)
					case 1:
						setAttributes(rec.Attributes(), "y", 1.5, "x", 1)
					case 2:
						setAttributes(rec.Attributes(), "x", []any{1})
					case 3:
						setAttributes(rec.Attributes(), "x", true, "y", nil)
					}
					rec.Point().SetTimestamp(start + i*second)
					rec.Point().Value().SetInt64(int64(100 + i*i))
					if i%5 == 4 {
						rec.Point().Value().SetFloat64(float64(i) / 2)
					}
				})
			}
		}),
		metricsVector("compact_restart", "dictionaries restart: the state is empty, the record keeps its metric and all compact fields.",
			append(withCompact, withRestart("RestartDictionaries", stef.RestartDictionaries)), func(s *metrics) {
				for i := range uint64(9) {
					s.write(func(rec *otelstef.Metrics) {
						rec.EditMetric().SetName("kept")
						setAttributes(rec.Attributes(), "k", int(i%2))
						rec.Point().SetTimestamp(start + i/2*second)
						rec.Point().Value().SetFloat64(1/float64(3+i/6) + float64(i))
					})
					if i == 3 || i == 6 {
						s.flush()
					}
				}
			}),
		metricsVector("compact_exemplars", "exemplars that the last point of the series has: all, none, some, more, fewer; some that series do not keep; a restart.",
			compactOptions("Metrics", otelstef.CompactMetrics(), withRestart("RestartDictionaries", stef.RestartDictionaries)), writeExemplars),
	}
}

// firstCompactMetrics is the schema of the first version of the compact form of metrics.
var firstCompactMetrics = schema.WireSchema{8, 1, 8, 7, 4, 4, 5, 5, 5, 5, 9, 2, 3, 2, 5, 2, 6}

func writeExemplars(s *metrics) {
	// Each letter is an exemplar.
	for i, x := range [][2]string{
		{"abc", ""}, {"abc", ""}, {"abc", "x"}, {"aDc", "x"}, {"aDcef", ""}, {"aDcef", "y"}, {"aDc", "yz"}, {"", "yz"}, {"", "yz"},
		{"g", "!"}, {"g", "!"}, {"g", "[]"}, {"g", "[]"},
		{"gh", "h"}, {"gh", "h"}, // after a restart
	} {
		for k, letters := range x {
			s.write(func(rec *otelstef.Metrics) {
				setAttributes(rec.Attributes(), "k", k)
				rec.Point().SetTimestamp(start + uint64(i)*second)
				rec.Point().Value().SetInt64(int64(i))
				list := rec.Point().Exemplars()
				list.SetLen(len(letters))
				for at, letter := range letters {
					e := list.At(at)
					e.SetTimestamp(start + uint64(letter)*1_000_000)
					e.Value().SetFloat64(float64(letter) / 8)
					e.SetTraceID(fmt.Appendf(nil, "trace-%c-------16", letter))
					e.SetSpanID(fmt.Appendf(nil, "span-%c-8", letter))
					e.FilteredAttributes().SetLen(0)
					switch letter {
					case 'a':
						setAttributes(e.FilteredAttributes(), "letter", "a", "n", 1, "f", 0.5, "b", true, "none", nil)
					case '[', ']':
						setAttributes(e.FilteredAttributes(), "list", []any{1})
					case '!':
						e.SetSpanID([]byte("odd"))
					}
				}
			})
		}
		if i == 12 {
			s.flush()
		}
	}
}

func compactSpansVectors() []vector {
	withCompact := compactOptions("Spans", otelstef.CompactSpans())
	id := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, 0x0102030405060000+uint64(n)) }
	trace := func(n int) []byte { return append(id(0), id(0x1000+n)...) }
	return []vector{
		spansVector("compact_tree", "parents that were sent, that follow later and that never do; traces that alternate, follow each other, and are told by number.", withCompact, func(s *spans) {
			for i, x := range []struct{ trace, span, parent int }{
				{1, 1, 0}, {1, 2, 1}, {1, 3, 2}, {2, 4, 9}, {2, 5, 9}, {1, 6, 1}, {2, 9, 0}, {3, 7, 7}, {1, 1, 1}, {2, 5, 4}, {3, 8, 7}, {3, 1, 0},
			} {
				s.write(func(rec *otelstef.Spans) {
					span := rec.Span()
					span.SetName([]string{"a", "b"}[i%2])
					span.SetTraceID(trace(x.trace))
					span.SetSpanID(id(x.span))
					span.SetParentSpanID(nil)
					if x.parent > 0 {
						span.SetParentSpanID(id(x.parent))
					}
					span.SetStartTimeUnixNano(start + uint64(i)*1_000_000)
					span.SetEndTimeUnixNano(start + uint64(i)*1_000_000 + 250_000)
				})
			}
		}),
		spansVector("compact_ids", "ids of other lengths, alone and again, between spans with ordinary ids; links.", withCompact, func(s *spans) {
			for i, x := range [][3][]byte{
				{trace(1), id(1), nil}, {trace(1), id(2), []byte("odd")}, {trace(1), id(2), []byte("odd")}, {trace(1), id(3), id(1)},
				{nil, nil, nil}, {[]byte("t"), id(1), id(1)}, {trace(1), id(4), id(3)},
			} {
				s.write(func(rec *otelstef.Spans) {
					span := rec.Span()
					span.SetTraceID(x[0])
					span.SetSpanID(x[1])
					span.SetParentSpanID(x[2])
					span.SetStartTimeUnixNano(start + uint64(i))
					span.SetEndTimeUnixNano(start + uint64(i))
					span.Links().SetLen(i % 2)
					if i%2 == 1 {
						span.Links().At(0).SetTraceID(trace(1))
						span.Links().At(0).SetSpanID(id(i))
					}
				})
			}
		}),
		spansVector("compact_times", "starts and durations: units, a unit habit of 16 spans and its end, far and negative ones, a start of 0, times of events.", withCompact, func(s *spans) {
			for i := range uint64(24) {
				s.write(func(rec *otelstef.Spans) {
					span := rec.Span()
					span.SetTraceID(trace(1))
					span.SetSpanID(id(int(i)))
					time, duration := start+i*3_000_000, 1_000_000*(i+1)
					switch i {
					case 18:
						time += 5
					case 20:
						time = 0
					case 21:
						time, duration = math.MaxUint64, 1
					case 22:
						duration = 1<<64 - 1_000_000
					}
					span.SetStartTimeUnixNano(time)
					span.SetEndTimeUnixNano(time + duration)
					span.Events().SetLen(0)
					if i == 3 || i == 20 || i == 21 {
						span.Events().SetLen(3)
						span.Events().At(0).SetTimeUnixNano(time)
						span.Events().At(1).SetTimeUnixNano(time + 1_500)
						span.Events().At(2).SetTimeUnixNano(start)
					}
				})
			}
		}),
		spansVector("compact_restart", "frames that restart everything and are self-contained.",
			append(withCompact, withRestart("RestartAll", stef.RestartAll)), func(s *spans) {
				for i := range 4 {
					s.write(func(rec *otelstef.Spans) {
						rec.Span().SetTraceID(trace(1))
						rec.Span().SetSpanID(id(i + 1))
						rec.Span().SetParentSpanID(id(i))
						rec.Span().SetName("job")
						rec.Span().SetStartTimeUnixNano(start + uint64(i)*second)
						rec.Span().SetEndTimeUnixNano(start + uint64(i)*second + 5_000_000)
					})
					if i%2 == 1 {
						s.flush()
					}
				}
			}),
	}
}

func compactLogsVectors() []vector {
	// Vectors of the first version of the compact form stay as they are: readers still read this
	// version.
	first := options{{"WithSchema(8 1 4 7 4 5 15 3 7 2 2), the first version of the compact form", stef.WithSchema(firstCompactLogs)}}
	vectorOf := func(name, about string, run func(s *logs)) vector {
		return newVector(logsRoot, otelstef.NewLogsWriter, "logs_"+name, about, first, run)
	}
	secondVersion := options{{"WithSchema(8 1 4 7 4 5 15 3 7 2 3), the second version of the compact form", stef.WithSchema(secondCompactLogs)}}
	withReferences := func(name, about string, options options, run func(w *otelstef.LogsWriter) error) vector {
		return vector{name: "logs_" + name, about: about, root: logsRoot, options: options,
			write: func(out io.Writer, options []stef.WriterOption) error {
				w, err := otelstef.NewLogsWriter(out, options...)
				if err != nil {
					return err
				}
				return errors.Join(run(w), w.Close())
			}}
	}
	return []vector{
		vectorOf("compact_times", "times and observed times: after the record before, after the time, without a time, far, by ObservedDelta.", func(s *logs) {
			for i, x := range [][2]uint64{
				{start, start + 5}, {start + 1000, start + 2000}, {start + 2000, start + 3000}, {start + 3000, start + 4000}, {0, start + 4000},
				{0, 0}, {1 << 63, 7}, {start, math.MaxUint64}, {start + second, start + second}, {start + 2*second, start + 2*second},
			} {
				s.write(func(rec *otelstef.Logs) {
					rec.Record().SetTime(x[0])
					rec.Record().SetObservedTime(x[1])
					if i == 8 {
						rec.Record().SetObservedDelta(0)
					} else {
						rec.Record().UnsetObservedDelta()
					}
				})
			}
			for i := range uint64(20) { // a unit habit
				s.write(func(rec *otelstef.Logs) {
					rec.Record().SetTime(start + 3*second + i*i*1_000_000)
					rec.Record().SetObservedTime(start + 3*second + i*i*1_000_000 + 2_000_000)
				})
			}
		}),
		vectorOf("compact_ids", "no ids, both, a trace alone, ids of other lengths, and each again.", func(s *logs) {
			for i, x := range [][2]string{
				{"", ""}, {"trace-1-------16", "span-1-8"}, {"trace-1-------16", "span-2-8"}, {"trace-1-------16", "span-1-8"}, {"trace-2-------16", ""},
				{"trace-1-------16", ""}, {"", ""}, {"odd", "span-2-8"}, {"odd", "span-2-8"}, {"", "span-2-8"}, {"trace-2-------16", "span-1-8"},
			} {
				s.write(func(rec *otelstef.Logs) {
					rec.Record().SetTime(start + uint64(i)*second)
					rec.Record().SetObservedTime(start + uint64(i)*second)
					rec.Record().SetTraceID([]byte(x[0]))
					rec.Record().SetSpanID([]byte(x[1]))
				})
			}
		}),
		vectorOf("compact_template", "templates, which the compact form leaves as they are.", func(s *logs) {
			for i := range uint64(2) {
				s.write(func(rec *otelstef.Logs) {
					rec.Record().SetTime(start + i*second)
					rec.Record().SetObservedTime(start + i*second + 100)
					body := rec.Record().Body().SetTemplate()
					body.SetTemplate("took \x00 ms")
					body.Params().SetLen(1)
					body.Params().Set(0, false, []string{"12", "7"}[i])
				})
			}
		}),
		withReferences("compact_references", "parameters that are references: ids, attributes, the time in each format, and texts that only look like references.", secondVersion, writeReferences),
		withReferences("compact_values", "attributes and texts in a structured body that are references: ids, times, pairs of the body; a record whose values are no references.", secondVersion, writeValueReferences),
		withReferences("compact_formats", "references with a format: clocks in several layouts and zones, and decimals of doubles; texts that only look like them.", compactOptions("Logs", otelstef.CompactLogs()), writeFormats),
	}
}

// firstCompactLogs is the schema of the first version of the compact form of logs.
var firstCompactLogs = schema.WireSchema{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 2}

// secondCompactLogs is the schema of the second version, which does not have the field Formats.
var secondCompactLogs = schema.WireSchema{8, 1, 4, 7, 4, 5, 15, 3, 7, 2, 3}

func writeReferences(w *otelstef.LogsWriter) error {
	refs := []string{otelstef.ReferenceTrace, otelstef.ReferenceSpan, otelstef.ReferenceAttribute + "\x00", otelstef.ReferenceAttribute + "\x01",
		otelstef.ReferenceAttribute + "\x02", otelstef.ReferenceAttribute + "\x03", "\x00T0", "\x00T3", "\x00T6", "\x00T9", "\x00TC", "\x00T1", "\x00kk", "\x00t "}
	for i := range uint64(3) {
		r := w.Record().Record()
		r.SetTime(start + i*1_234_567_890)
		r.SetTraceID([]byte("trace-1-------16"))
		r.SetSpanID([]byte([]string{"span-1-8", "span-2-8", ""}[i]))
		setAttributes(r.Attributes(), "path", fmt.Sprint("/", i), "size", -int(i), "took", []any{7}, "ratio", 0.5)
		t := r.Body().SetTemplate()
		t.SetTemplate(strings.Repeat("\x00 ", len(refs)+1))
		t.Params().SetLen(len(refs) + 1)
		for p, ref := range refs {
			t.Params().Set(p, true, ref)
		}
		t.Params().Set(len(refs), false, otelstef.ReferenceTrace) // no reference: its key is false
		if err := w.Write(); err != nil {
			return err
		}
	}
	return nil
}

func writeFormats(w *otelstef.LogsWriter) error {
	refs := []string{"\x00LT3+D", "\x00L c0D", "\x00L/6Z@", "\x00LC0 0", "\x00LJ00V", "\x00LA60@", "\x00LT9:V", "\x00LT0Zx", "\x00LT0Zy", "\x00LT0+",
		"\x00d\x000", "\x00d\x003", "\x00d\x010", "\x00d\x011", "\x00d\x021", "\x00d\x030", "\x00d\x00:"}
	for i := range uint64(3) {
		r := w.Record().Record()
		r.SetTime([]uint64{start + 9*24*3600*second + 1_234_567_890, start + 1, 3600 * second}[i])
		setAttributes(r.Attributes(), "uptime", 4.18+float64(i), "ratio", float64(i), "tiny", 1e-7, "count", 7)
		if i == 0 {
			w.SetReferences(true)
			r.Attributes().SetLen(5)
			r.Attributes().SetString(4, "at", "\x00L 00D")
		}
		t := r.Body().SetTemplate()
		t.SetTemplate(strings.Repeat("\x00 ", len(refs)))
		t.Params().SetLen(len(refs))
		for p, ref := range refs {
			t.Params().Set(p, true, ref)
		}
		if err := w.Write(); err != nil {
			return err
		}
	}
	return nil
}

func writeValueReferences(w *otelstef.LogsWriter) error {
	for i := range uint64(4) {
		r := w.Record().Record()
		r.SetTime(start + i*second)
		r.SetTraceID([]byte("trace-1-------16"))
		r.SetSpanID([]byte([]string{"span-1-8", "span-2-8", "", "span-2-8"}[i]))
		w.SetReferences(i != 2)
		setAttributes(r.Attributes(), "trace_id", otelstef.ReferenceTrace, "span_id", otelstef.ReferenceSpan, "time", "\x00T3",
			"event", otelstef.ReferenceKey+"id", "name", otelstef.ReferenceKey+"name", "at", otelstef.ReferenceKey+"at",
			"none", otelstef.ReferenceKey+"count", "number", otelstef.ReferenceAttribute+"\x00")
		m := r.Body().SetValue().SetMap()
		m.SetLen(5)
		m.SetString(0, "id", fmt.Sprint("event-", i))
		m.SetString(1, "at", "\x00T0")
		m.SetKey(2, "user")
		user := m.Value(2).SetMap()
		user.SetLen(2)
		user.SetString(0, "name", fmt.Sprint("user-", i/2))
		user.SetString(1, "id", otelstef.ReferenceSpan)
		m.SetKey(3, "count")
		m.Value(3).SetInt64(int64(i))
		m.SetKey(4, "list")
		list := m.Value(4).SetArray()
		list.SetLen(1)
		list.At(0).SetString(otelstef.ReferenceTrace) // no reference: it is in an array
		if err := w.Write(); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"
	"math"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// start is a time, in Unix nanoseconds.
const start = 1_700_000_000_000_000_000

const second = 1_000_000_000

type (
	metrics = script[*otelstef.Metrics]
	options = []vectorOption
)

func describe(rec *otelstef.Metrics, name, unit string, typ otelstef.MetricType) {
	m := rec.EditMetric()
	m.SetName(name)
	m.SetUnit(unit)
	m.SetType(typ)
	setAttributes(rec.EditResource().Attributes(), "service.name", "shop", "host.id", 7)
	rec.EditScope().SetName("shop/metrics")
}

func metricsVectors() []vector {
	var list []vector
	list = append(list, metricsPointVectors()...)
	list = append(list, metricsAttributeVectors()...)
	list = append(list, metricsDictionaryVectors()...)
	return append(list, metricsStreamVectors()...)
}

func metricsPointVectors() []vector {
	return []vector{
		metricsVector("numbers", "number points: integers, doubles, a point without a value, flags.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				describe(rec, "queue.length", "{item}", otelstef.MetricTypeGauge)
				rec.Point().SetTimestamp(start)
				rec.Point().Value().SetInt64(12)
			})
			s.write(func(rec *otelstef.Metrics) {
				rec.Point().SetTimestamp(start + 10*second)
				rec.Point().Value().SetInt64(9)
			})
			s.write(func(rec *otelstef.Metrics) {
				rec.Point().SetTimestamp(start + 20*second)
				rec.Point().Value().Reset()
				rec.Point().SetFlags(1)
			})
			s.write(func(rec *otelstef.Metrics) {
				m := rec.EditMetric()
				m.SetName("requests")
				m.SetDescription("Requests since the start.")
				m.SetType(otelstef.MetricTypeSum)
				m.SetAggregationTemporality(otelstef.AggregationTemporalityCumulative)
				m.SetMonotonic(true)
				rec.Point().SetStartTimestamp(start)
				rec.Point().Value().SetFloat64(1.5)
				rec.Point().SetFlags(0)
			})
		}),
		metricsVector("integers", "integers at the ends of their range: differences wrap around.", nil, func(s *metrics) {
			for _, n := range []int64{math.MaxInt64, math.MinInt64, -1, 0, math.MinInt64, math.MaxInt64} {
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(uint64(n))
					rec.Point().Value().SetInt64(n)
				})
			}
		}),
		metricsVector("floats", "floats: windows, signed zeros, infinities, NaN with a payload.", nil, func(s *metrics) {
			for _, f := range []float64{1, 1.5, 1.25, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.Pi,
				math.Float64frombits(0x7ff8_0000_0000_0001), math.MaxFloat64, math.SmallestNonzeroFloat64, 100.5, 100.75, 101} {
				s.write(func(rec *otelstef.Metrics) { rec.Point().Value().SetFloat64(f) })
			}
		}),
		metricsVector("float_texts", "the texts of floats in canonical JSON: borders of the form with an exponent.", nil, func(s *metrics) {
			for _, bits := range floatBits() {
				s.write(func(rec *otelstef.Metrics) { rec.Point().Value().SetFloat64(math.Float64frombits(bits)) })
			}
		}),
		metricsVector("histogram", "histograms: bounds in the metric, optional sum, minimum and maximum, buckets that grow.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				describe(rec, "duration", "ms", otelstef.MetricTypeHistogram)
				rec.EditMetric().HistogramBounds().SetValues([]float64{5, 10, 25})
				h := rec.Point().Value().SetHistogram()
				h.SetCount(6)
				h.SetSum(71.5)
				h.BucketCounts().SetValues([]uint64{1, 2, 2, 1})
			})
			s.write(func(rec *otelstef.Metrics) {
				h := rec.Point().Value().Histogram()
				h.SetCount(8)
				h.UnsetSum()
				h.SetMin(0.5)
				h.SetMax(40)
				h.BucketCounts().SetValues([]uint64{1, 3, 2, 2})
			})
			s.write(func(rec *otelstef.Metrics) {
				rec.EditMetric().HistogramBounds().SetValues([]float64{5, 10})
				h := rec.Point().Value().Histogram()
				h.SetSum(71.5)
				h.BucketCounts().SetValues([]uint64{4, 4, 0})
			})
		}),
		metricsVector("exp_histogram", "an exponential histogram.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				describe(rec, "size", "By", otelstef.MetricTypeExpHistogram)
				h := rec.Point().Value().SetExpHistogram()
				h.SetCount(9)
				h.SetSum(-12.25)
				h.SetMin(-20)
				h.SetMax(4)
				h.SetScale(-2)
				h.SetZeroCount(1)
				h.SetZeroThreshold(1e-9)
				h.PositiveBuckets().SetOffset(-3)
				h.PositiveBuckets().BucketCounts().SetValues([]uint64{2, 0, 3})
				h.NegativeBuckets().SetOffset(1)
				h.NegativeBuckets().BucketCounts().SetValues([]uint64{3})
			})
			s.write(func(rec *otelstef.Metrics) {
				h := rec.Point().Value().ExpHistogram()
				h.SetCount(10)
				h.UnsetMin()
				h.PositiveBuckets().BucketCounts().Set(1, 1)
			})
		}),
		metricsVector("summary", "summaries: an array of structs that shrinks and grows again.", options{withHeader}, func(s *metrics) {
			quantiles := func(v *otelstef.SummaryValue, of ...float64) {
				v.QuantileValues().SetLen(len(of) / 2)
				for i := range v.QuantileValues().Len() {
					v.QuantileValues().At(i).SetQuantile(of[2*i])
					v.QuantileValues().At(i).SetValue(of[2*i+1])
				}
			}
			s.write(func(rec *otelstef.Metrics) {
				describe(rec, "latency", "s", otelstef.MetricTypeSummary)
				v := rec.Point().Value().SetSummary()
				v.SetCount(100)
				v.SetSum(12.5)
				quantiles(v, 0.5, 0.1, 0.9, 0.2, 1, 0.4)
			})
			s.write(func(rec *otelstef.Metrics) { quantiles(rec.Point().Value().Summary(), 0.5, 0.1) })
			s.write(func(rec *otelstef.Metrics) { quantiles(rec.Point().Value().Summary(), 0.5, 0.15, 0.9, 0.2) })
		}),
		metricsVector("exemplars", "exemplars with values of both kinds and none, ids, attributes.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				describe(rec, "requests", "1", otelstef.MetricTypeSum)
				rec.Point().SetTimestamp(start)
				rec.Point().Value().SetInt64(3)
				list := rec.Point().Exemplars()
				list.SetLen(3)
				list.At(0).SetTimestamp(start - second)
				list.At(0).Value().SetInt64(1)
				list.At(0).SetTraceID([]byte("0123456789abcdef"))
				list.At(0).SetSpanID([]byte("01234567"))
				setAttributes(list.At(0).FilteredAttributes(), "user", "ann")
				list.At(1).SetTimestamp(start - 1)
				list.At(1).Value().SetFloat64(2.5)
			})
			s.write(func(rec *otelstef.Metrics) {
				rec.Point().SetTimestamp(start + second)
				rec.Point().Exemplars().Reset()
			})
		}),
	}
}

func metricsAttributeVectors() []vector {
	return []vector{
		metricsVector("values", "attribute values of every kind, nested and changing from one kind to another.", nil, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				setAttributes(rec.Attributes(), "none", nil, "string", "text", "bool", true, "int", -5, "double", 0.25,
					"bytes", []byte{0, 255}, "array", []any{"text", 1, []any{}}, "map", pairs{"k", "v", "k", pairs{"", nil}})
			})
			s.write(func(rec *otelstef.Metrics) {
				setAttributes(rec.Attributes(), "none", "text", "string", nil, "bool", 1, "int", true, "double", []any{nil},
					"bytes", []byte{}, "array", []any{"text", 2}, "map", pairs{"k", "v"})
			})
		}),
		metricsVector("attributes", "attributes: values alone, a changed key, fewer, more, none, an empty and a repeated key.", nil, func(s *metrics) {
			for _, attrs := range []pairs{
				{"method", "GET", "status", 200}, {"method", "GET", "status", 404}, {"method", "PUT", "status", 404},
				{"method", "PUT", "code", 404}, {"method", "PUT"}, {"method", "PUT", "code", 0}, {}, {"", "x", "", "y", "m", "z"},
			} {
				s.write(func(rec *otelstef.Metrics) { setAttributes(rec.Attributes(), attrs...) })
			}
		}),
		metricsVector("many_attributes", "62 attributes, of which values alone may follow, and 63, of which they may not.", nil, func(s *metrics) {
			for _, n := range []int{62, 63} {
				for _, last := range []int{1, 2} {
					s.write(func(rec *otelstef.Metrics) {
						m := rec.Attributes()
						m.SetLen(n)
						for i := range n {
							m.SetInt64(i, fmt.Sprint("k", i), 1)
						}
						m.SetInt64(n-1, fmt.Sprint("k", n-1), int64(last))
					})
				}
			}
		}),
		metricsVector("texts", "texts that enter a dictionary and that are too short to, and one that is no UTF-8.", nil, func(s *metrics) {
			for _, text := range []string{"ab", "a", "", "ab", "\xff\xfe", "a\nb\"\\", "\xff\xfe"} {
				s.write(func(rec *otelstef.Metrics) { setAttributes(rec.Attributes(), text, text) })
			}
		}),
		metricsVector("envelope", "the attributes of the envelope, which have no dictionaries.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				m := rec.Envelope().Attributes()
				m.SetLen(2)
				m.Set(0, "tenant", []byte("a1"))
				m.Set(1, "hop", []byte{1})
			})
			s.write(func(rec *otelstef.Metrics) { rec.Envelope().Attributes().SetValue(1, []byte{2}) })
		}),
	}
}

func metricsDictionaryVectors() []vector {
	return []vector{
		metricsVector("dictionaries", "struct dictionaries: values that come back, and one that differs in a single field.", options{withHeader}, func(s *metrics) {
			cpu, mem := otelstef.NewMetric(), otelstef.NewMetric()
			cpu.SetName("cpu")
			cpu.SetUnit("1")
			mem.SetName("memory")
			mem.SetUnit("By")
			setAttributes(mem.Metadata(), "origin", "cgroup")
			for i, m := range []*otelstef.Metric{cpu, mem, cpu, mem} {
				s.write(func(rec *otelstef.Metrics) {
					rec.SetMetric(m)
					rec.Point().Value().SetInt64(int64(i))
				})
			}
			s.write(func(rec *otelstef.Metrics) { rec.EditMetric().SetUnit("MiBy") })
			s.write(func(rec *otelstef.Metrics) { rec.EditMetric().SetUnit("By") })
		}),
		metricsVector("entities", "the entities of a resource, arrays of texts in a dictionary.", options{withHeader}, func(s *metrics) {
			s.write(func(rec *otelstef.Metrics) {
				r := rec.EditResource()
				r.SetSchemaURL("https://example.com/schemas/1")
				setAttributes(r.Attributes(), "service.name", "shop", "host.id", 7)
				r.EntityRefs().SetLen(2)
				r.EntityRefs().At(0).SetSchemaURL("https://example.com/schemas/1")
				r.EntityRefs().At(0).SetType("service")
				r.EntityRefs().At(0).IDKeys().SetValues([]string{"service.name"})
				r.EntityRefs().At(1).SetType("host")
				r.EntityRefs().At(1).IDKeys().SetValues([]string{"host.id"})
				r.EntityRefs().At(1).DescriptionKeys().SetValues([]string{"host.id", "service.name"})
			})
			s.write(func(rec *otelstef.Metrics) { rec.EditResource().SetDroppedAttributesCount(1) })
		}),
		metricsVector("dictionary_limit", "dictionaries that reach a limit of 700 bytes and are restarted.",
			options{withHeader, {"WithDictBytes(700)", stef.WithDictBytes(700)}}, func(s *metrics) {
				for i := range 6 {
					s.write(func(rec *otelstef.Metrics) {
						rec.EditMetric().SetName(fmt.Sprint("metric.", i%3))
						rec.Point().SetTimestamp(uint64(i))
					})
				}
			}),
	}
}

// threeFrames writes three frames of two records each.
func threeFrames(s *metrics) {
	for i := range 6 {
		s.write(func(rec *otelstef.Metrics) {
			if i == 0 {
				describe(rec, "queue.length", "{item}", otelstef.MetricTypeGauge)
			}
			setAttributes(rec.Attributes(), "queue", []string{"mail", "bills"}[i%2], "shard", i%4)
			rec.Point().SetTimestamp(start + 10*second*uint64(i))
			rec.Point().Value().SetInt64(int64(i * i))
		})
		if i%2 == 1 {
			s.flush()
		}
	}
}

func metricsStreamVectors() []vector {
	return []vector{
		metricsVector("empty", "no records.", nil, func(*metrics) {}),
		metricsVector("unchanged", "a record in which nothing is set, twice, and one that is written again.", nil, func(s *metrics) {
			s.write(func(*otelstef.Metrics) {})
			s.write(func(*otelstef.Metrics) {})
			s.write(func(rec *otelstef.Metrics) { rec.Point().SetTimestamp(1) })
			s.write(func(*otelstef.Metrics) {})
		}),
		metricsVector("user_data", "user data, in the order of keys.", options{withHeader,
			{`WithUserData({"z":"last","a":"first","":"empty"})`, stef.WithUserData(map[string]string{"z": "last", "a": "first", "": "empty"})},
		}, func(s *metrics) { s.write(func(*otelstef.Metrics) {}) }),
		metricsVector("frames", "three frames without restarts: state goes on.", options{withHeader}, threeFrames),
		metricsVector("restart_dictionaries", "three frames; dictionaries restart.",
			options{withHeader, withRestart("RestartDictionaries", stef.RestartDictionaries)}, threeFrames),
		metricsVector("restart_codecs", "three frames; codecs restart.",
			options{withHeader, withRestart("RestartCodecs", stef.RestartCodecs)}, threeFrames),
		metricsVector("self_contained", "three frames that can be read on their own: the first record of each sends everything.",
			options{withHeader, withRestart("RestartAll", stef.RestartAll)}, threeFrames),
		metricsVector("zstd", "three frames in one zstd stream; the variable header is a zstd frame of its own.",
			options{withHeader, withZstd}, threeFrames),
		metricsVector("zstd_restart", "three frames; the zstd stream restarts.",
			options{withHeader, withZstd, withRestart("RestartCompression", stef.RestartCompression)}, threeFrames),
		metricsVector("zstd_self_contained", "three zstd frames that can be read on their own.",
			options{withHeader, withZstd, withRestart("RestartAll", stef.RestartAll)}, threeFrames),
		metricsVector("published", "the published schema, which applies if a stream announces none: entities and flags of points are omitted.",
			options{{"PublishedMetrics()", otelstef.PublishedMetrics()}}, func(s *metrics) {
				s.write(func(rec *otelstef.Metrics) {
					describe(rec, "queue.length", "{item}", otelstef.MetricTypeGauge)
					rec.EditResource().EntityRefs().Append().SetType("host")
					rec.Point().SetTimestamp(start)
					rec.Point().Value().SetInt64(3)
					rec.Point().SetFlags(2)
				})
				s.write(func(rec *otelstef.Metrics) {
					rec.Point().SetTimestamp(start + second)
					rec.Point().SetFlags(0)
				})
			}),
		metricsVector("older", "a schema cut down: no temporality and monotonicity, of values numbers alone, no exemplars. Masks and choices take fewer bits.",
			options{withSchema(6, 1, 6, 7, 4, 4, 5, 3, 2)}, func(s *metrics) {
				s.write(func(rec *otelstef.Metrics) {
					describe(rec, "requests", "1", otelstef.MetricTypeSum)
					rec.EditMetric().SetMonotonic(true)
					rec.Point().SetTimestamp(start)
					rec.Point().Value().SetInt64(3)
				})
				s.write(func(rec *otelstef.Metrics) { rec.Point().Value().SetHistogram().SetCount(1) })
			}),
	}
}

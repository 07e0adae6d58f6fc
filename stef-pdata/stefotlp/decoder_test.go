// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func TestMaxBytes(t *testing.T) {
	parts := fixture(t, fixtures.Metrics())
	stream := metrics.encode(t, joined(parts))
	f := func(most, least int) {
		t.Helper()
		got := metrics.decode(t, stream, stefotlp.WithMaxBytes(most))
		require.Greater(t, len(got), least)
		require.Empty(t, canon.DiffOrderedMetrics(
			metrics.one(metrics.unmarshal(t, parts)), metrics.one(metrics.unmarshal(t, got))))
	}
	f(100_000, 5)
	f(0, metrics.one(metrics.unmarshal(t, parts)).DataPointCount()-1)
}

func TestMaxItems(t *testing.T) {
	stream := logs.encode(t, joined(fixture(t, fixtures.Logs())))
	f := func(most, want int) {
		t.Helper()
		for _, ld := range logs.unmarshal(t, logs.decode(t, stream, stefotlp.WithMaxItems(most)))[:3] {
			require.Equal(t, want, ld.LogRecordCount())
		}
	}
	f(7, 7)
	f(1, 1)
	f(0, 1)
	f(-1, 1)
}

// A decoder returns no items of a truncated frame. If a frame is damaged, it returns the items before
// the damage.
func TestBrokenStream(t *testing.T) {
	stream := traces.encode(t, fixture(t, fixtures.Traces()))
	r, err := otelstef.NewSpansReader(bytes.NewReader(stream[:len(stream)-1]))
	require.NoError(t, err)
	d := stefotlp.NewTracesDecoder(r)
	for {
		b, err := d.AppendOTLP(nil)
		if err == nil {
			require.NotEmpty(t, b)
			continue
		}
		require.ErrorIs(t, err, stef.ErrCorrupt)
		require.Empty(t, b)
		again, sameErr := d.AppendOTLP(nil)
		require.Empty(t, again)
		require.Equal(t, err, sameErr)
		break
	}

	var frame bytes.Buffer
	w, err := otelstef.NewSpansWriter(&frame)
	require.NoError(t, err)
	for i := range 20 {
		w.Record().Span().SetName(string(rune('a' + i)))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	for at := frame.Len() - 1; ; at-- {
		require.Positive(t, at, "no damaged byte has spans before it")
		damaged := bytes.Clone(frame.Bytes())
		damaged[at] ^= 0xff
		r, err := otelstef.NewSpansReader(bytes.NewReader(damaged))
		if err != nil {
			continue
		}
		if b, err := stefotlp.NewTracesDecoder(r).AppendOTLP(nil); errors.Is(err, stef.ErrCorrupt) && len(b) > 0 {
			return
		}
	}
}

// metricsRecords returns a stream of records, each changed by one of the functions.
func metricsRecords(t *testing.T, change ...func(*otelstef.Metrics)) []byte {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	for _, f := range change {
		w.Record().Reset()
		f(w.Record())
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// left decodes a stream. It returns the errors of the records that the decoder omits, and the number
// of bytes that it appends for the other records.
func left(t *testing.T, appendOTLP func([]byte) ([]byte, error)) (stefotlp.RecordErrors, int) {
	t.Helper()
	b, err := appendOTLP(nil)
	var left stefotlp.RecordErrors
	require.ErrorAs(t, err, &left)
	require.ErrorIs(t, err, stefotlp.ErrRecord)
	_, err = appendOTLP(nil)
	require.ErrorIs(t, err, io.EOF)
	return left, len(b)
}

// The errors about bad records count towards the limit of WithMaxBytes, because a frame of a few
// hundred bytes can have a million bad records.
func TestBadRecordsFillMessages(t *testing.T) {
	const records, most = 100_000, 1 << 20
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	for i := range records { // adjacent records have different reasons, so each record is a range
		types := [...]otelstef.PointValueType{otelstef.PointValueTypeHistogram, otelstef.PointValueTypeSummary}
		w.Record().Point().Value().SetType(types[i%2])
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	require.Less(t, buf.Len(), 1000)
	r, err := otelstef.NewMetricsReader(&buf)
	require.NoError(t, err)
	d := stefotlp.NewMetricsDecoder(r, stefotlp.WithMaxItems(records), stefotlp.WithMaxBytes(most))
	for total := uint64(0); total < records; {
		var bad stefotlp.RecordErrors
		b, err := d.AppendOTLP(nil)
		require.Empty(t, b)
		require.ErrorAs(t, err, &bad)
		require.LessOrEqual(t, len(bad), most/200+1)
		total += bad.Records()
	}
}

// If a decoder omits records before a stream breaks, one call returns the errors of these records,
// and the next call returns the error of the stream.
func TestRecordsBeforeABreak(t *testing.T) {
	good := func(rec *otelstef.Metrics) { rec.Point().Value().SetInt64(1) }
	bad := func(rec *otelstef.Metrics) { rec.Point().SetFlags(1 << 32) }
	stream := metricsRecords(t, good, bad, good, good)
	broken := 0
	for at := range stream {
		damaged := bytes.Clone(stream)
		damaged[at] ^= 0x10
		if r, err := otelstef.NewMetricsReader(bytes.NewReader(damaged)); err == nil {
			signals[0].decoded(t, damaged)
			d := stefotlp.NewMetricsDecoder(r)
			_, err := d.AppendOTLP(nil)
			require.Equal(t, r.Stats().Records, d.Records()) // including omitted records
			var left stefotlp.RecordErrors
			if !errors.As(err, &left) {
				continue
			}
			if _, err := d.AppendOTLP(nil); !errors.Is(err, io.EOF) {
				require.ErrorIs(t, err, stef.ErrCorrupt)
				broken++
			}
		}
	}
	require.Positive(t, broken)
}

func TestMetricsRecordsThatAreNoOTLP(t *testing.T) {
	f := func(field string, change func(*otelstef.Metrics)) {
		t.Run(field, func(t *testing.T) {
			good := func(rec *otelstef.Metrics) { rec.Point().Value().SetInt64(1) }
			stream := metricsRecords(t, good, change, change, good)
			r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
			require.NoError(t, err)
			errs, n := left(t, stefotlp.NewMetricsDecoder(r).AppendOTLP)
			require.Len(t, errs, 1)
			require.Equal(t, uint64(2), errs.Records())
			require.Equal(t, []uint64{2, 3}, []uint64{errs[0].First, errs[0].Last})
			require.Equal(t, field, errs[0].Field)
			require.Contains(t, errs.Error(), "2 records were not converted, the first: records 2 to 3: "+field)
			require.NotZero(t, n)
			metrics.decoded(t, stream)

			// If the stream has only this record, the message has no containers.
			r, err = otelstef.NewMetricsReader(bytes.NewReader(metricsRecords(t, change)))
			require.NoError(t, err)
			errs, n = left(t, stefotlp.NewMetricsDecoder(r).AppendOTLP)
			require.Contains(t, errs.Error(), "record 1: "+field)
			require.Zero(t, n)
		})
	}
	const large = 1 << 32
	f("Resource.DroppedAttributesCount", func(rec *otelstef.Metrics) { rec.Resource().SetDroppedAttributesCount(large) })
	f("Scope.DroppedAttributesCount", func(rec *otelstef.Metrics) { rec.Scope().SetDroppedAttributesCount(large) })
	f("Metric.Type", func(rec *otelstef.Metrics) { rec.Metric().SetType(5) })
	f("Metric.AggregationTemporality", func(rec *otelstef.Metrics) { rec.Metric().SetAggregationTemporality(1 << 31) })
	f("Point.Flags", func(rec *otelstef.Metrics) { rec.Point().SetFlags(large) })
	f("Point.Value", func(rec *otelstef.Metrics) { rec.Point().Value().SetHistogram() })
	exponential := func(change func(*otelstef.ExpHistogramValue)) func(rec *otelstef.Metrics) {
		return func(rec *otelstef.Metrics) {
			rec.Metric().SetType(otelstef.MetricTypeExpHistogram)
			change(rec.Point().Value().SetExpHistogram())
		}
	}
	f("Point.Value.ExpHistogram.Scale", exponential(func(h *otelstef.ExpHistogramValue) { h.SetScale(-large) }))
	f("Point.Value.ExpHistogram.PositiveBuckets.Offset", exponential(func(h *otelstef.ExpHistogramValue) {
		h.PositiveBuckets().SetOffset(large)
	}))
	f("Point.Value.ExpHistogram.NegativeBuckets.Offset", exponential(func(h *otelstef.ExpHistogramValue) {
		h.NegativeBuckets().SetOffset(large)
	}))
	f("Point.Exemplars[1].SpanID", func(rec *otelstef.Metrics) {
		rec.Point().Exemplars().SetLen(2)
		rec.Point().Exemplars().At(1).SetSpanID([]byte("7 bytes"))
	})
	f("Point.Exemplars[0].TraceID", func(rec *otelstef.Metrics) {
		rec.Point().Exemplars().Append().SetTraceID([]byte("no hexadecimal text, though long"))
	})
}

func TestSpansThatAreNoOTLP(t *testing.T) {
	f := func(field string, change func(*otelstef.Spans)) {
		t.Run(field, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewSpansWriter(&out)
			require.NoError(t, err)
			change(w.Record())
			require.NoError(t, w.Write())
			require.NoError(t, w.Close())
			r, err := otelstef.NewSpansReader(bytes.NewReader(out.Bytes()))
			require.NoError(t, err)
			errs, n := left(t, stefotlp.NewTracesDecoder(r).AppendOTLP)
			require.Equal(t, field, errs[0].Field)
			require.Zero(t, n)
			traces.decoded(t, out.Bytes())
		})
	}
	const large = 1 << 32
	f("Resource.DroppedAttributesCount", func(rec *otelstef.Spans) { rec.Resource().SetDroppedAttributesCount(large) })
	f("Span.TraceID", func(rec *otelstef.Spans) { rec.Span().SetTraceID([]byte("short")) })
	f("Span.SpanID", func(rec *otelstef.Spans) { rec.Span().SetSpanID([]byte("no hex as text..")) })
	f("Span.ParentSpanID", func(rec *otelstef.Spans) { rec.Span().SetParentSpanID([]byte("long, not too long")) })
	f("Span.Kind", func(rec *otelstef.Spans) { rec.Span().SetKind(1 << 31) })
	f("Span.Status.Code", func(rec *otelstef.Spans) { rec.Span().Status().SetCode(1 << 31) })
	f("Span.Flags", func(rec *otelstef.Spans) { rec.Span().SetFlags(large) })
	f("Span.DroppedAttributesCount", func(rec *otelstef.Spans) { rec.Span().SetDroppedAttributesCount(large) })
	f("Span.DroppedEventsCount", func(rec *otelstef.Spans) { rec.Span().SetDroppedEventsCount(large) })
	f("Span.DroppedLinksCount", func(rec *otelstef.Spans) { rec.Span().SetDroppedLinksCount(large) })
	f("Span.Events[0].DroppedAttributesCount", func(rec *otelstef.Spans) {
		rec.Span().Events().Append().SetDroppedAttributesCount(large)
	})
	f("Span.Links[0].Flags", func(rec *otelstef.Spans) { rec.Span().Links().Append().SetFlags(large) })
	f("Span.Links[0].TraceID", func(rec *otelstef.Spans) { rec.Span().Links().Append().SetTraceID([]byte("x")) })
	f("Span.Links[0].DroppedAttributesCount", func(rec *otelstef.Spans) {
		rec.Span().Links().Append().SetDroppedAttributesCount(large)
	})
}

func TestLogRecordsThatAreNoOTLP(t *testing.T) {
	f := func(field string, change func(*otelstef.LogRecord)) {
		t.Run(field, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewLogsWriter(&out)
			require.NoError(t, err)
			change(w.Record().Record())
			require.NoError(t, w.Write())
			require.NoError(t, w.Close())
			r, err := otelstef.NewLogsReader(bytes.NewReader(out.Bytes()))
			require.NoError(t, err)
			errs, n := left(t, stefotlp.NewLogsDecoder(r).AppendOTLP)
			require.Equal(t, field, errs[0].Field)
			require.Zero(t, n)
			logs.decoded(t, out.Bytes())
		})
	}
	const large = 1 << 32
	f("Record.SeverityNumber", func(r *otelstef.LogRecord) { r.SetSeverityNumber(1 << 31) })
	f("Record.Flags", func(r *otelstef.LogRecord) { r.SetFlags(large) })
	f("Record.DroppedAttributesCount", func(r *otelstef.LogRecord) { r.SetDroppedAttributesCount(large) })
	f("Record.TraceID", func(r *otelstef.LogRecord) { r.SetTraceID([]byte("x")) })
	f("Record.SpanID", func(r *otelstef.LogRecord) { r.SetSpanID([]byte("x")) })
	f("Record.Body.Template.Params", func(r *otelstef.LogRecord) { r.Body().SetTemplate().SetTemplate("a\x00b\x00") })
	f("Record.Body.Template.Params", func(r *otelstef.LogRecord) { r.Body().SetTemplate().Params().SetLen(1) })
}

// Records with equal resources, scopes and metrics are decoded to one resource, one scope and one
// metric, even if each record has its own copies of them. Metrics that differ only in their histogram
// bounds are decoded to one metric.
func TestEqualContainersAreOne(t *testing.T) {
	var change []func(*otelstef.Metrics)
	for i := range 4 {
		change = append(change, func(rec *otelstef.Metrics) {
			metric := otelstef.NewMetric()
			metric.SetType(otelstef.MetricTypeHistogram)
			metric.HistogramBounds().SetValues([]float64{float64(i)})
			rec.SetMetric(metric)
			rec.SetResource(otelstef.NewResource())
			rec.SetScope(otelstef.NewScope())
		})
	}
	mds := metrics.unmarshal(t, metrics.decode(t, metricsRecords(t, change...)))
	require.Len(t, mds, 1)
	require.Equal(t, 1, mds[0].MetricCount())
	require.Equal(t, 4, mds[0].DataPointCount())
	require.Equal(t, 1, mds[0].ResourceMetrics().At(0).ScopeMetrics().Len())
}

// hugeText is shorter than 64 KiB: a writer does not check the size of a record with such texts.
var hugeText = strings.Repeat("x", 60<<10)

// A record of a few bytes can refer to a text many times. If such a record is too large as OTLP,
// decoders stop before they have written much of it, and return the records before it.
func TestHugeRecord(t *testing.T) {
	const times = 20_000
	attributes := func(a *otelstef.Attributes) {
		a.SetLen(1000)
		for i := range 1000 {
			a.SetString(i, "k", hugeText)
		}
	}
	deep := func(a *otelstef.Attributes) {
		list := a.Append("k").SetArray()
		list.SetLen(times)
		for i := range times {
			list.At(i).SetString(hugeText)
		}
	}
	pairs := func(a *otelstef.Attributes) {
		list := a.Append("k").SetArray()
		list.SetLen(times / 1000)
		for i := range times / 1000 {
			for range 1000 {
				list.At(i).SetKVList().Append("k").SetString(hugeText)
			}
		}
	}
	for name, set := range map[string]func(*otelstef.Spans){
		"attributes": func(r *otelstef.Spans) { attributes(r.Span().Attributes()) },
		"array":      func(r *otelstef.Spans) { deep(r.Span().Attributes()) },
		"map":        func(r *otelstef.Spans) { pairs(r.Span().Attributes()) },
		"scope":      func(r *otelstef.Spans) { attributes(r.EditScope().Attributes()) },
		"entity": func(r *otelstef.Spans) {
			r.EditResource().EntityRefs().SetLen(2)
			for i := range 2 {
				for range times {
					r.EditResource().EntityRefs().At(i).IDKeys().Append(hugeText)
				}
			}
		},
		"events": func(r *otelstef.Spans) {
			r.Span().Events().SetLen(times)
			for i := range times {
				r.Span().Events().At(i).SetName(hugeText)
			}
		},
		"links": func(r *otelstef.Spans) {
			r.Span().Links().SetLen(times / 1000)
			for i := range times / 1000 {
				attributes(r.Span().Links().At(i).Attributes())
			}
		},
	} {
		t.Run("spans, "+name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewSpansWriter(&out, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			testHugeRecord(t, &out, w, func() { set(w.Record()) }, func() (otlpDecoder, error) {
				r, err := otelstef.NewSpansReader(&out)
				return stefotlp.NewTracesDecoder(r), err
			}, func(b []byte) int { return traces.unmarshal(t, [][]byte{b})[0].SpanCount() })
		})
	}
	for name, set := range map[string]func(*otelstef.Metrics){
		"metadata": func(r *otelstef.Metrics) { attributes(r.EditMetric().Metadata()) },
		"exemplars": func(r *otelstef.Metrics) {
			r.Point().Exemplars().SetLen(times / 1000)
			for i := range times / 1000 {
				attributes(r.Point().Exemplars().At(i).FilteredAttributes())
			}
		},
	} {
		t.Run("metrics, "+name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			testHugeRecord(t, &out, w, func() { set(w.Record()) }, func() (otlpDecoder, error) {
				r, err := otelstef.NewMetricsReader(&out)
				return stefotlp.NewMetricsDecoder(r), err
			}, func(b []byte) int { return metrics.unmarshal(t, [][]byte{b})[0].DataPointCount() })
		})
	}
	for name, set := range map[string]func(*otelstef.Logs){
		"resource": func(r *otelstef.Logs) { attributes(r.EditResource().Attributes()) },
		"body": func(r *otelstef.Logs) {
			list := r.Record().Body().SetValue().SetArray()
			list.SetLen(times)
			for i := range times {
				list.At(i).SetString(hugeText)
			}
		},
		"body map": func(r *otelstef.Logs) {
			for range 1000 {
				r.Record().Body().SetValue().SetMap().Append("k").SetString(hugeText)
			}
		},
	} {
		t.Run("logs, "+name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewLogsWriter(&out, stef.WithCompression(stef.Zstd))
			require.NoError(t, err)
			testHugeRecord(t, &out, w, func() { set(w.Record()) }, func() (otlpDecoder, error) {
				r, err := otelstef.NewLogsReader(&out)
				return stefotlp.NewLogsDecoder(r), err
			}, func(b []byte) int { return logs.unmarshal(t, [][]byte{b})[0].LogRecordCount() })
		})
	}
}

type otlpDecoder interface {
	AppendOTLP([]byte) ([]byte, error)
	Records() uint64
}

// testHugeRecord writes two records to w and decodes them. set makes the second record huge before it
// is written.
func testHugeRecord(t *testing.T, out *bytes.Buffer, w interface {
	Write() error
	Close() error
}, set func(), open func() (otlpDecoder, error), count func([]byte) int) {
	require.NoError(t, w.Write())
	set()
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	require.Less(t, out.Len(), 64<<10)
	d, err := open()
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := d.AppendOTLP(nil)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.ErrorContains(t, err, "record 2 takes more than 33558528 bytes as OTLP")
	require.Equal(t, 1, count(b))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(400<<20))
	require.EqualValues(t, 1, d.Records())
	again, sameErr := d.AppendOTLP(nil)
	require.Empty(t, again)
	require.Equal(t, err, sameErr)
	require.EqualValues(t, 1, d.Records())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"

	descriptors "github.com/otelstef/stef/internal/signal"
)

// deep sets v to a value inside depth nested arrays.
func deep(v pcommon.Value, depth int) {
	for range depth {
		v = v.SetEmptySlice().AppendEmpty()
	}
	v.SetInt(1)
}

func tooMany(m pcommon.Map) {
	for i := range stef.MaxPairs + 1 {
		m.PutInt(fmt.Sprint("key", i), 1)
	}
}

func tooDeep(m pcommon.Map) { deep(m.PutEmpty("deep"), stefpdata.MaxDepth+1) }

func tooLarge(m pcommon.Map) { m.PutStr("large", strings.Repeat("x", stefpdata.MaxItemBytes)) }

// threePoints returns a batch that has a gauge with three numbered points. It also returns the
// gauge.
func threePoints() (pmetric.Metrics, pmetric.Metric) {
	md := pmetric.NewMetrics()
	m := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("m")
	points := m.SetEmptyGauge().DataPoints()
	for i := range 3 {
		p := points.AppendEmpty()
		p.SetIntValue(int64(i))
		p.Attributes().PutStr("k", "v")
	}
	return md, m
}

// Items that exceed a limit are reported with their indexes in the batch, and all other items are
// written.
func TestItemsBeyondLimits(t *testing.T) {
	f := func(field string, items, left int, at stefpdata.ItemError, spoil func(pmetric.Metrics, pmetric.Metric)) {
		t.Helper()
		for _, mode := range modes {
			md, m := threePoints()
			m.CopyTo(md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty())
			spoil(md, m)
			at.Field = field
			requireRefused(t, descriptors.Metrics, mode, md, items, left, at)
		}
	}
	resource := stefpdata.ItemError{Resource: 0, Scope: -1, Metric: -1, Item: -1}
	scope := stefpdata.ItemError{Resource: 0, Scope: 0, Metric: -1, Item: -1}
	metric := stefpdata.ItemError{Resource: 0, Scope: 0, Metric: 0, Item: -1}
	point := stefpdata.ItemError{Resource: 0, Scope: 0, Metric: 0, Item: 1}
	for _, spoil := range []struct {
		path  string
		spoil func(pcommon.Map)
	}{
		{"", tooMany},
		{`["deep"]` + strings.Repeat("[0]", stefpdata.MaxDepth), tooDeep},
		{`["large"]`, tooLarge},
	} {
		f("resource.attributes"+spoil.path, 3, 3, resource, func(md pmetric.Metrics, _ pmetric.Metric) {
			spoil.spoil(md.ResourceMetrics().At(0).Resource().Attributes())
		})
		f("scope.attributes"+spoil.path, 3, 3, scope, func(md pmetric.Metrics, _ pmetric.Metric) {
			spoil.spoil(md.ResourceMetrics().At(0).ScopeMetrics().At(0).Scope().Attributes())
		})
		f("metric.metadata"+spoil.path, 3, 3, metric, func(_ pmetric.Metrics, m pmetric.Metric) { spoil.spoil(m.Metadata()) })
		f("attributes"+spoil.path, 1, 5, point, func(_ pmetric.Metrics, m pmetric.Metric) {
			spoil.spoil(m.Gauge().DataPoints().At(1).Attributes())
		})
		f("exemplars[1].filtered_attributes"+spoil.path, 1, 5, point, func(_ pmetric.Metrics, m pmetric.Metric) {
			es := m.Gauge().DataPoints().At(1).Exemplars()
			es.AppendEmpty()
			spoil.spoil(es.AppendEmpty().FilteredAttributes())
		})
	}
	// The limit of an item applies to the sum of a point and its attributes.
	large := strings.Repeat("x", stefpdata.MaxItemBytes/2)
	f(`exemplars[0].filtered_attributes["large"]`, 1, 5, point, func(_ pmetric.Metrics, m pmetric.Metric) {
		p := m.Gauge().DataPoints().At(1)
		p.Attributes().PutStr("large", large)
		p.Exemplars().AppendEmpty().FilteredAttributes().PutStr("large", large)
	})
	f("bucket_counts", 1, 3, stefpdata.ItemError{}, func(_ pmetric.Metrics, m pmetric.Metric) {
		p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
		p.Attributes().PutStr("large", large)
		p.BucketCounts().FromRaw(make([]uint64, stefpdata.MaxItemBytes/2/32))
	})
	f("bucket_counts", 1, 3, stefpdata.ItemError{}, func(_ pmetric.Metrics, m pmetric.Metric) {
		m.SetEmptyHistogram().DataPoints().AppendEmpty().BucketCounts().FromRaw(make([]uint64, stefpdata.MaxItemBytes/32+1))
	})
	f("explicit_bounds", 1, 3, stefpdata.ItemError{}, func(_ pmetric.Metrics, m pmetric.Metric) {
		m.SetEmptyHistogram().DataPoints().AppendEmpty().ExplicitBounds().FromRaw(make([]float64, stefpdata.MaxItemBytes/32+1))
	})
}

// Readers with default limits read items that are just within the limits of the encoder.
func TestItemsAtLimits(t *testing.T) {
	f := func(fill func(pcommon.Map)) {
		md, m := threePoints()
		fill(m.Gauge().DataPoints().At(1).Attributes())
		fill(md.ResourceMetrics().At(0).Resource().Attributes())
		for _, mode := range modes {
			requireSame(t, mode, []pmetric.Metrics{md}, decodeMetrics(t, encodeMetrics(t, []pmetric.Metrics{md}, mode)))
		}
	}
	f(func(m pcommon.Map) {
		tooMany(m)
		m.Remove("key0")
		m.Remove("k")
	})
	f(func(m pcommon.Map) { deep(m.PutEmpty("deep"), stefpdata.MaxDepth) })
	f(func(m pcommon.Map) {
		v := m.PutEmpty("deep")
		for range stefpdata.MaxDepth {
			v = v.SetEmptyMap().PutEmpty("k")
		}
	})
	f(func(m pcommon.Map) { m.PutStr("large", strings.Repeat("x", stefpdata.MaxItemBytes-1000)) })
	f(func(m pcommon.Map) {
		list := m.PutEmptySlice("list")
		for range 30_000 {
			list.AppendEmpty().SetEmptyMap()
		}
	})
}

// Readers and decoders with default limits accept a record whose item, resource, scope and metric
// are all just within the limits of the encoder.
func TestRecordsAtLimits(t *testing.T) {
	const most = stefpdata.MaxItemBytes
	buckets := make([]uint64, most/32)
	for i := range buckets {
		buckets[i] = uint64(i)
	}
	bounds := make([]float64, most/32-1)
	for name, fill := range map[string]func(rm pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, m pmetric.Metric){
		"texts": func(rm pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, m pmetric.Metric) {
			rm.SetSchemaUrl(strings.Repeat("r", most))
			sm.Scope().SetName(strings.Repeat("s", most))
			m.SetDescription(strings.Repeat("d", most))
			m.SetEmptyGauge().DataPoints().AppendEmpty().Attributes().PutStr("text", strings.Repeat("x", most-300))
		},
		"histogram": func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
			p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
			p.BucketCounts().FromRaw(buckets)
			p.ExplicitBounds().FromRaw(bounds)
		},
		"exponential": func(_ pmetric.ResourceMetrics, _ pmetric.ScopeMetrics, m pmetric.Metric) {
			p := m.SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
			p.Positive().BucketCounts().FromRaw(buckets[:most/64])
			p.Negative().BucketCounts().FromRaw(buckets[most/64:])
		},
		"all": func(rm pmetric.ResourceMetrics, sm pmetric.ScopeMetrics, m pmetric.Metric) {
			for _, attrs := range []pcommon.Map{rm.Resource().Attributes(), sm.Scope().Attributes()} {
				list := attrs.PutEmptySlice("list")
				for range most/256 - 2 {
					list.AppendEmpty().SetEmptyMap()
				}
			}
			p := m.SetEmptyHistogram().DataPoints().AppendEmpty()
			p.BucketCounts().FromRaw(buckets)
			p.ExplicitBounds().FromRaw(bounds)
		},
	} {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		sm := rm.ScopeMetrics().AppendEmpty()
		fill(rm, sm, sm.Metrics().AppendEmpty())
		for form, root := range map[string]func() *schema.Struct{"full": descriptors.Metrics.Root, "compact": descriptors.Metrics.Compact} {
			t.Run(name+"/"+form, func(t *testing.T) {
				stream := encodeMetrics(t, []pmetric.Metrics{md}, stefpdata.Ordered, stef.WithSchema(schema.WireOf(root())))
				requireSame(t, stefpdata.Ordered, []pmetric.Metrics{md}, decodeMetrics(t, stream))
			})
		}
	}
}

// Records that OTLP cannot express are reported, and all other records are converted.
func TestRecordsBeyondOTLP(t *testing.T) {
	f := func(field string, spoil func(*otelstef.Metrics)) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		good := func() {
			rec := w.Record()
			rec.Reset()
			rec.Point().Value().SetInt64(1)
			require.NoError(t, w.Write())
		}
		good()
		for range 2 {
			spoil(w.Record())
			require.NoError(t, w.Write())
		}
		good()
		require.NoError(t, w.Close())

		requireLeftOut(t, descriptors.Metrics, out.Bytes(), field)
	}
	f("Resource.DroppedAttributesCount", func(m *otelstef.Metrics) { m.EditResource().SetDroppedAttributesCount(1 << 32) })
	f("Scope.DroppedAttributesCount", func(m *otelstef.Metrics) { m.EditScope().SetDroppedAttributesCount(1 << 32) })
	f("Metric.Type", func(m *otelstef.Metrics) { m.EditMetric().SetType(5) })
	f("Metric.AggregationTemporality", func(m *otelstef.Metrics) { m.EditMetric().SetAggregationTemporality(1 << 31) })
	f("Point.Value", func(m *otelstef.Metrics) { m.Point().Value().SetSummary() })
	f("Point.Value", func(m *otelstef.Metrics) { m.EditMetric().SetType(otelstef.MetricTypeHistogram) })
	f("Point.Value", func(m *otelstef.Metrics) { m.Point().Value().SetExpHistogram() })
	f("Point.Flags", func(m *otelstef.Metrics) { m.Point().SetFlags(1 << 32) })
	f("Point.Exemplars[1].TraceID", func(m *otelstef.Metrics) {
		m.Point().Exemplars().SetLen(2)
		m.Point().Exemplars().At(1).SetTraceID([]byte("short"))
	})
	f("Point.Exemplars[0].SpanID", func(m *otelstef.Metrics) {
		m.Point().Exemplars().SetLen(1)
		m.Point().Exemplars().At(0).SetSpanID([]byte("sixteen, no hex!"))
	})
	exponential := func(m *otelstef.Metrics) *otelstef.ExpHistogramValue {
		m.EditMetric().SetType(otelstef.MetricTypeExpHistogram)
		return m.Point().Value().SetExpHistogram()
	}
	f("Point.Value.ExpHistogram.Scale", func(m *otelstef.Metrics) { exponential(m).SetScale(math.MaxInt32 + 1) })
	f("Point.Value.ExpHistogram.PositiveBuckets.Offset", func(m *otelstef.Metrics) {
		exponential(m).PositiveBuckets().SetOffset(math.MinInt32 - 1)
	})
	f("Point.Value.ExpHistogram.NegativeBuckets.Offset", func(m *otelstef.Metrics) {
		exponential(m).NegativeBuckets().SetOffset(1 << 40)
	})
}

// Ids of exemplars may be text, as in the spans of the published schema.
func TestExemplarIDsAsText(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	exemplars := w.Record().Point().Exemplars()
	exemplars.SetLen(2)
	exemplars.At(0).SetTraceID([]byte("0102030405060708090a0b0c0d0e0f10"))
	exemplars.At(0).SetSpanID([]byte("0102030405060708"))
	exemplars.At(1).SetTraceID(make([]byte, 16))
	require.NoError(t, errors.Join(w.Write(), w.Close()))
	mds := decodeMetrics(t, out.Bytes())
	es := mds[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().At(0).Exemplars()
	require.Equal(t, "0102030405060708090a0b0c0d0e0f10", es.At(0).TraceID().String())
	require.Equal(t, "0102030405060708", es.At(0).SpanID().String())
	require.True(t, es.At(1).TraceID().IsEmpty())
	require.True(t, es.At(1).SpanID().IsEmpty())
}

// TestBadRecordsFillBatches: the errors about bad records count as memory of the batch, because a
// frame of a few hundred bytes can have a million bad records.
func TestBadRecordsFillBatches(t *testing.T) {
	const records, most = 1_000_000, 8 << 20
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf, stef.WithCompression(stef.Zstd))
	require.NoError(t, err)
	w.Record().Metric().SetType(otelstef.MetricTypeGauge)
	for i := range records {
		w.Record().Point().Value().SetType(otelstef.PointValueTypeHistogram)
		if i%2 == 0 { // adjacent records have different reasons, so they are not one range
			w.Record().Point().Value().SetType(otelstef.PointValueTypeSummary)
		}
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Flush())
	require.Less(t, buf.Len(), 1000)
	r, err := otelstef.NewMetricsReader(&buf)
	require.NoError(t, err)
	d := stefpdata.NewMetricsDecoder(r, stefpdata.WithMaxItems(math.MaxInt), stefpdata.WithMaxBytes(most))
	total := uint64(0)
	for total < records {
		var bad stefpdata.RecordErrors
		_, err := d.Decode()
		require.ErrorAs(t, err, &bad)
		require.LessOrEqual(t, len(bad), most/100)
		require.GreaterOrEqual(t, d.BatchBytes(), 100*len(bad))
		require.LessOrEqual(t, d.BatchBytes(), most+1000)
		total += bad.Records()
	}
	require.EqualValues(t, records, total)
}

// TestBadRecordsAfterSkippedOnes: errors have the numbers of records in the stream, even if the
// program skipped some records before, as the receiver of files does after a restart.
func TestBadRecordsAfterSkippedOnes(t *testing.T) {
	var buf bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&buf)
	require.NoError(t, err)
	for i := range 5 {
		w.Record().EditMetric().SetType(otelstef.MetricTypeGauge)
		if i == 3 {
			w.Record().EditMetric().SetType(99)
		}
		w.Record().Point().Value().SetInt64(int64(i))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&buf)
	require.NoError(t, err)
	require.True(t, r.Next())
	require.True(t, r.Next())
	d := stefpdata.NewMetricsDecoder(r)
	md, err := d.Decode()
	var bad stefpdata.RecordErrors
	require.ErrorAs(t, err, &bad)
	require.Equal(t, 2, md.DataPointCount())
	require.EqualValues(t, 4, bad[0].First)
	require.EqualValues(t, 4, bad[0].Last)
	require.EqualValues(t, 5, d.Records())
}

// If the number of buckets does not match the number of bounds, decoders convert both unchanged,
// because OTLP can express them.
func TestBucketsBesideBounds(t *testing.T) {
	for _, options := range [][]stef.WriterOption{nil, {otelstef.CompactMetrics()}} {
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out, options...)
		require.NoError(t, err)
		rec := w.Record()
		rec.EditMetric().SetType(otelstef.MetricTypeHistogram)
		rec.EditMetric().HistogramBounds().SetValues([]float64{1, 2})
		counts := [][]uint64{{1, 2, 3}, {1, 2, 3, 4, 5}, {}, {7}}
		for i, c := range counts {
			rec.Point().SetTimestamp(uint64(i))
			rec.Point().Value().SetHistogram().BucketCounts().SetValues(c)
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		check := func(md pmetric.Metrics) {
			t.Helper()
			points := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Histogram().DataPoints()
			require.Equal(t, len(counts), points.Len())
			for i, c := range counts {
				require.Equal(t, c, append([]uint64{}, points.At(i).BucketCounts().AsRaw()...))
				require.Equal(t, []float64{1, 2}, points.At(i).ExplicitBounds().AsRaw())
			}
		}
		check(oneBatch(decodeMetrics(t, out.Bytes())))

		r, err := otelstef.NewMetricsReader(&out)
		require.NoError(t, err)
		message, err := stefotlp.NewMetricsDecoder(r).AppendOTLP(nil)
		require.NoError(t, err)
		md, err := new(pmetric.ProtoUnmarshaler).UnmarshalMetrics(message)
		require.NoError(t, err)
		check(md)
	}
}

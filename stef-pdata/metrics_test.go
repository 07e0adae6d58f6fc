// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

var modes = []stefpdata.Mode{stefpdata.Sorted, stefpdata.Ordered}

// The output of a round trip equals the input, and the input is not changed.
func TestRealMetricsRoundTrip(t *testing.T) {
	f := func(name string, mds []pmetric.Metrics, mode stefpdata.Mode, options ...stef.WriterOption) {
		t.Run(fmt.Sprint(name, "/", mode), func(t *testing.T) {
			before := marshalAll(t, mds)
			stream := encodeMetrics(t, mds, mode, options...)
			require.Equal(t, before, marshalAll(t, mds))
			requireSame(t, mode, mds, decodeMetrics(t, stream, stefpdata.WithMaxItems(10_000)))
		})
	}
	published, zstd := otelstef.PublishedMetrics(), stef.WithCompression(stef.Zstd)
	for _, mode := range modes {
		f("recorded, full", recordedMetrics(t), mode)
		f("recorded, published", recordedMetrics(t), mode, published, zstd)
	}
	t.Run("real", func(t *testing.T) {
		f(hipstershop, realMetrics(t, hipstershop), stefpdata.Sorted, zstd)
		f(hipstershop, realMetrics(t, hipstershop), stefpdata.Ordered, published)
		f(hostandcollector, realMetrics(t, hostandcollector), stefpdata.Sorted, published)
		f(hostandcollector, realMetrics(t, hostandcollector), stefpdata.Ordered, zstd)
	})
}

func marshalAll(tb testing.TB, mds []pmetric.Metrics) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, md := range mds {
		data, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		require.NoError(tb, err)
		h.Write(data)
	}
	h.Sum(sum[:0])
	return sum
}

// All content of pdata survives the round trip, with any framing and compression.
func TestRandomMetricsRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := newRandom(seed)
		var mds []pmetric.Metrics
		for range 1 + r.IntN(4) {
			mds = append(mds, r.metrics())
		}
		options := []stef.WriterOption{
			stef.WithCompression(pick(r, stef.None, stef.Zstd)),
			stef.WithRestart(pick(r, stef.FrameFlags(0), stef.RestartDictionaries, stef.RestartDictionaries|stef.RestartCodecs|stef.RestartCompression)),
			stef.WithFrameBytes(pick(r, 1, 500, stef.DefaultFrameBytes)),
			stef.WithDictBytes(pick(r, 1, 5000, stef.DefaultDictBytes)),
		}
		if seed%3 == 0 {
			options = append(options, otelstef.CompactMetrics())
		}
		for _, mode := range modes {
			stream := encodeMetrics(t, mds, mode, options...)
			got := decodeMetrics(t, stream, stefpdata.WithMaxItems(pick(r, 0, 3, 1000)))
			requireSame(t, mode, mds, got)
			require.Equal(t, stream, encodeMetrics(t, mds, mode, options...), "the same input gives the same bytes")
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The order of points in the mode Sorted depends neither on the order in the input nor on earlier
// batches.
func TestSortedOrderIsByValue(t *testing.T) {
	for seed := range uint64(100) {
		r := newRandom(seed)
		mds := []pmetric.Metrics{r.metrics(), r.metrics(), r.metrics()}
		md := oneBatch(mds)
		stamp(md)
		want := decodeMetrics(t, encodeMetrics(t, []pmetric.Metrics{md}, stefpdata.Sorted))
		scattered := r.scatter(md)
		requireSame(t, stefpdata.Sorted, []pmetric.Metrics{md}, []pmetric.Metrics{scattered})
		got := decodeMetrics(t, encodeMetrics(t, []pmetric.Metrics{scattered}, stefpdata.Sorted))
		requireSame(t, stefpdata.Ordered, want, got)

		late := decodeMetrics(t, encodeMetrics(t, append(mds, scattered), stefpdata.Sorted))
		if len(want) > 0 {
			requireSame(t, stefpdata.Ordered, want, late[len(late)-1:])
		}
	}
}

// stamp sets a different time for every point, so that no two points are equal.
func stamp(md pmetric.Metrics) {
	now := pcommon.Timestamp(0)
	eachPoint(md, func(p interface{ SetTimestamp(pcommon.Timestamp) }) {
		now++
		p.SetTimestamp(now)
	})
}

func eachPoint(md pmetric.Metrics, visit func(p interface{ SetTimestamp(pcommon.Timestamp) })) {
	numbers := func(ps pmetric.NumberDataPointSlice) {
		for _, p := range ps.All() {
			visit(p)
		}
	}
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					numbers(m.Gauge().DataPoints())
				case pmetric.MetricTypeSum:
					numbers(m.Sum().DataPoints())
				case pmetric.MetricTypeHistogram:
					for _, p := range m.Histogram().DataPoints().All() {
						visit(p)
					}
				case pmetric.MetricTypeExponentialHistogram:
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						visit(p)
					}
				case pmetric.MetricTypeSummary:
					for _, p := range m.Summary().DataPoints().All() {
						visit(p)
					}
				}
			}
		}
	}
}

// Encoding content that the encoder has already seen allocates nothing.
func TestSteadyEncodeAllocatesNothing(t *testing.T) {
	md := oneBatch(recordedMetrics(t))
	for _, mode := range modes {
		w, err := otelstef.NewMetricsWriter(io.Discard)
		require.NoError(t, err)
		e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
		encode := func() { require.NoError(t, errors.Join(e.Encode(md), w.Flush())) }
		encode()
		require.Zero(t, testing.AllocsPerRun(5, encode), "%v", mode)
	}
}

// Decode returns at most as many points as WithMaxItems allows, and returns every point once.
func TestMaxItemsOfMetrics(t *testing.T) {
	mds := recordedMetrics(t)
	stream := encodeMetrics(t, []pmetric.Metrics{oneBatch(mds)}, stefpdata.Ordered)
	got := decodeMetrics(t, stream, stefpdata.WithMaxItems(7))
	for _, md := range got[:len(got)-1] {
		require.Equal(t, 7, md.DataPointCount())
	}
	requireSame(t, stefpdata.Ordered, mds, got)
	require.Len(t, decodeMetrics(t, stream), 1)
}

// TestNewSeries: batches in which most series are new are sorted by arrival, not by value, and
// lose no points. The series of the last batches repeat.
func TestNewSeries(t *testing.T) {
	var mds []pmetric.Metrics
	for b := range 12 {
		md := pmetric.NewMetrics()
		rm := md.ResourceMetrics().AppendEmpty()
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName("new.series")
		points := m.SetEmptyGauge().DataPoints()
		for i := range 1000 {
			p := points.AppendEmpty()
			p.SetTimestamp(pcommon.Timestamp(b + 1))
			p.SetIntValue(int64(i))
			p.Attributes().PutStr("request.id", fmt.Sprint(min(b, 9)*1000+i))
			if i%10 == 0 {
				p.Attributes().PutEmptySlice("parts").AppendEmpty().SetInt(int64(i))
			}
		}
		mds = append(mds, md)
	}
	requireSame(t, stefpdata.Sorted, mds, decodeMetrics(t, encodeMetrics(t, mds, stefpdata.Sorted)))
}

func TestEmptyMetrics(t *testing.T) {
	md := pmetric.NewMetrics()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty()
	md.ResourceMetrics().AppendEmpty()
	for _, mode := range modes {
		require.Empty(t, decodeMetrics(t, encodeMetrics(t, []pmetric.Metrics{md}, mode)))
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// writeExemplars writes points of a few series. A point repeats some exemplars of the
// previous point of its series.
func writeExemplars(t *testing.T, random *rand.Rand, options ...stef.WriterOption) []byte {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, options...)
	require.NoError(t, err)
	type exemplar struct{ time, id uint64 }
	var held [6][]exemplar
	for i := range uint64(600) {
		series := random.IntN(len(held))
		rec := w.Record()
		metric := otelstef.NewMetric()
		metric.SetName(fmt.Sprint("m", series%3))
		metric.SetAggregationTemporality(otelstef.AggregationTemporality(1 + series%2))
		rec.SetMetric(metric)
		rec.Attributes().Reset()
		rec.Attributes().AppendInt64("series", int64(series))
		p := rec.Point()
		p.SetTimestamp(i * 1e9)
		if series < 4 {
			h := p.Value().SetHistogram()
			h.SetCount(int64(i))
			h.SetOptionalSum(float64(i)*1.5, true)
			h.BucketCounts().SetValues([]uint64{i, i / 2, 3})
		} else {
			p.Value().SetInt64(int64(i * i))
		}
		list := held[series]
		if n := random.IntN(4); len(list) != n {
			list = append(list, make([]exemplar, 4)...)[:n]
		}
		for k := range list {
			if random.IntN(2) == 0 {
				list[k] = exemplar{i, random.Uint64N(3)}
			}
		}
		held[series] = list
		p.Exemplars().SetLen(len(list))
		for k, x := range list {
			e := p.Exemplars().At(k)
			e.SetTimestamp(x.time)
			e.Value().SetFloat64(float64(x.id))
			e.SetTraceID(binary.BigEndian.AppendUint64(make([]byte, 8), x.id))
			e.SetSpanID(binary.BigEndian.AppendUint64(nil, x.id))
			e.FilteredAttributes().Reset()
			e.FilteredAttributes().AppendString("same", "text")
			e.FilteredAttributes().AppendString("id", fmt.Sprint("id", x.id))
			if x.id == 2 {
				nested := e.FilteredAttributes().AppendKVList("nested")
				nested.AppendInt64("time", int64(x.time/3))
			}
		}
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// change changes a point that a reader returned. It does not change the exemplars: programs must not,
// because the reader decodes the next exemplars relative to them.
func change(random *rand.Rand, p *otelstef.Point) {
	p.SetTimestamp(random.Uint64())
	p.SetStartTimestamp(random.Uint64())
	if v := p.Value(); v.Type() == otelstef.PointValueTypeHistogram {
		v.Histogram().BucketCounts().Set(0, random.Uint64())
		v.Histogram().BucketCounts().SetLen(random.IntN(5))
		v.Histogram().SetCount(int64(random.Uint64()))
		v.Histogram().UnsetSum()
	} else {
		v.SetInt64(int64(random.Uint64()))
	}
}

// If a program changes the times and the value of a point that it read, the state of the
// series does not change: all further points are read as they were written.
func TestChangedPointsLeaveTheState(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 6))
		stream := writeExemplars(t, random, otelstef.CompactMetrics())
		want, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		require.NoError(t, err)
		got, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		require.NoError(t, err)
		for i := 0; want.Next(); i++ {
			require.True(t, got.Next(), "record %d: %v", i, got.Err())
			require.True(t, got.Record().Equal(want.Record()), "seed %d, record %d: %v instead of %v", seed, i, got.Record(), want.Record())
			change(random, got.Record().Point())
		}
		require.NoError(t, want.Err())
		require.False(t, got.Next())
		require.NoError(t, got.Err())
	}
}

// exemplarsOf returns copies of the exemplars of a point.
func exemplarsOf(p *otelstef.Point) (list []*otelstef.Exemplar) {
	for i := range p.Exemplars().Len() {
		e := otelstef.NewExemplar()
		e.CopyFrom(p.Exemplars().At(i))
		list = append(list, e)
	}
	return list
}

// A reader of the compact form has three ways to set the exemplars of a record: it decodes them into the
// record, decodes them into a separate list, or copies the exemplars of the series. In any order of these
// cases, the record must have the same exemplars as in the full form, and exemplars that differ from the
// last record must be marked.
func TestExemplarsOfBothForms(t *testing.T) {
	for seed := range uint64(20) {
		full, err := otelstef.NewMetricsReader(bytes.NewReader(writeExemplars(t, rand.New(rand.NewPCG(seed, 7)))))
		require.NoError(t, err)
		compact, err := otelstef.NewMetricsReader(bytes.NewReader(
			writeExemplars(t, rand.New(rand.NewPCG(seed, 7)), otelstef.CompactMetrics(), stef.WithFrameBytes(4000), stef.WithRestart(stef.RestartDictionaries))))
		require.NoError(t, err)
		var last []*otelstef.Exemplar
		for i := 0; full.Next(); i++ {
			require.True(t, compact.Next(), "record %d: %v", i, compact.Err())
			p := compact.Record().Point()
			now := exemplarsOf(p)
			require.Equal(t, fmt.Sprint(exemplarsOf(full.Record().Point())), fmt.Sprint(now), "seed %d, record %d", seed, i)
			marked := compact.Record().Modified()&otelstef.MetricsFieldPoint != 0 && p.Modified()&otelstef.PointFieldExemplars != 0
			if !marked {
				require.Equal(t, fmt.Sprint(last), fmt.Sprint(now), "seed %d, record %d: no marks", seed, i)
			}
			for k := range min(len(last), len(now)) {
				if p.Exemplars().At(k).Modified() == 0 || !marked {
					require.True(t, last[k].Equal(now[k]), "seed %d, record %d, exemplar %d: no marks", seed, i, k)
				}
			}
			last = now
		}
		require.NoError(t, full.Err())
		require.False(t, compact.Next())
		require.NoError(t, compact.Err())
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// A fill function sets the fields of record i like a program with live telemetry:
// resources and scopes are shared values, texts are from a vocabulary, and times
// and numbers change.
const (
	vocabulary = 40
	cycle      = 240 // records after which a fill repeats its values
)

func words(format string) []string {
	var list []string
	for i := range vocabulary {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}

var (
	hosts  = words("host-%d.example.com")
	routes = words("/api/v1/route/%d")
)

func resources() []*otelstef.Resource {
	var list []*otelstef.Resource
	for _, host := range hosts[:4] {
		r := otelstef.NewResource()
		r.SetSchemaURL("https://opentelemetry.io/schemas/1.27.0")
		r.Attributes().SetLen(2)
		r.Attributes().SetString(0, "host.name", host)
		r.Attributes().SetInt64(1, "process.pid", int64(len(list)))
		list = append(list, r)
	}
	return list
}

func scopes() []*otelstef.Scope {
	var list []*otelstef.Scope
	for _, name := range routes[:3] {
		s := otelstef.NewScope()
		s.SetName(name)
		s.SetVersion("1.2.3")
		list = append(list, s)
	}
	return list
}

func metricsFill() func(rec *otelstef.Metrics, i int) {
	resources, scopes := resources(), scopes()
	var metrics []*otelstef.Metric
	for i, name := range words("metric.name.%d") {
		m := otelstef.NewMetric()
		m.SetName(name)
		m.SetUnit("ms")
		m.SetType(otelstef.MetricType(i % 5))
		m.HistogramBounds().SetValues([]float64{1, 2, 5, float64(i)})
		metrics = append(metrics, m)
	}
	return func(rec *otelstef.Metrics, i int) {
		rec.SetMetric(metrics[i/6%vocabulary])
		rec.SetResource(resources[i/60%4])
		rec.SetScope(scopes[i/80%3])
		attrs := rec.Attributes()
		attrs.SetLen(2 + i%3)
		attrs.SetString(0, "http.route", routes[i%vocabulary])
		attrs.SetInt64(1, "http.status", int64(200+i%5))
		for k := 2; k < attrs.Len(); k++ {
			attrs.SetBool(k, hosts[k], i%2 == 0)
		}
		p := rec.Point()
		p.SetStartTimestamp(1_700_000_000_000_000_000)
		p.SetTimestamp(1_700_000_000_000_000_000 + uint64(i)*1_000_000)
		fillValue(p.Value(), i)
		p.Exemplars().SetLen(i % 3)
		for k := range p.Exemplars().Len() {
			x := p.Exemplars().At(k)
			x.SetTimestamp(p.Timestamp() - 5)
			x.Value().SetFloat64(float64(i))
			var id [16]byte
			binary.BigEndian.PutUint64(id[:], uint64(i)*codec.GoldenRatio)
			x.SetTraceID(id[:])
			x.SetSpanID(id[:8])
		}
	}
}

func fillValue(v *otelstef.PointValue, i int) {
	switch i / 6 % 5 {
	case 0:
		v.SetInt64(int64(i) * 3)
	case 1:
		v.SetFloat64(float64(i) / 7)
	case 2:
		h := v.SetHistogram()
		h.SetCount(int64(i))
		h.SetSum(float64(i) * 1.5)
		h.SetOptionalMin(0.25, i%2 == 0)
		h.BucketCounts().SetLen(5)
		for k := range 5 {
			h.BucketCounts().Set(k, uint64(i*k))
		}
	case 3:
		h := v.SetExpHistogram()
		h.SetCount(uint64(i))
		h.SetScale(int64(i % 4))
		h.PositiveBuckets().SetOffset(int64(-i % 9))
		h.PositiveBuckets().BucketCounts().SetLen(1 + i%20)
		h.PositiveBuckets().BucketCounts().Set(0, uint64(i))
	case 4:
		s := v.SetSummary()
		s.SetCount(uint64(i))
		s.QuantileValues().SetLen(2)
		s.QuantileValues().At(1).SetQuantile(0.99)
		s.QuantileValues().At(1).SetValue(float64(i))
	}
}

func spansFill() func(rec *otelstef.Spans, i int) {
	resources, scopes := resources(), scopes()
	return func(rec *otelstef.Spans, i int) {
		rec.SetResource(resources[i/60%4])
		rec.SetScope(scopes[i/80%3])
		s := rec.Span()
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], uint64(i/4)*codec.GoldenRatio)
		binary.BigEndian.PutUint64(id[8:], uint64(i)*0xbf58476d1ce4e5b9)
		s.SetTraceID(id[:])
		s.SetParentSpanID(s.SpanID())
		s.SetSpanID(id[8:])
		s.SetName(routes[i%vocabulary])
		s.SetKind(otelstef.SpanKind(i % 6))
		s.SetStartTimeUnixNano(1_700_000_000_000_000_000 + uint64(i)*977)
		s.SetEndTimeUnixNano(s.StartTimeUnixNano() + 100)
		s.Attributes().SetLen(3)
		s.Attributes().SetString(0, "http.route", routes[i%vocabulary])
		s.Attributes().SetString(1, "net.peer.name", hosts[i*7%vocabulary])
		s.Attributes().SetBytes(2, "payload", id[:i%16])
		s.Events().SetLen(i % 3)
		for k := range s.Events().Len() {
			e := s.Events().At(k)
			e.SetName("exception")
			e.SetTimeUnixNano(s.StartTimeUnixNano() + uint64(k))
			e.Attributes().SetLen(1)
			list := e.Attributes().Value(0).SetArray()
			list.SetLen(2)
			list.At(0).SetInt64(int64(i))
			list.At(1).SetString(hosts[k])
		}
		s.Links().SetLen(i % 2)
		if i%2 == 1 {
			s.Links().At(0).SetTraceID(id[:])
		}
		s.Status().SetCode(uint64(i % 3))
		s.Status().SetMessage(routes[i%3])
	}
}

func logsFill() func(rec *otelstef.Logs, i int) {
	resources, scopes := resources(), scopes()
	return func(rec *otelstef.Logs, i int) {
		rec.SetResource(resources[i/60%4])
		rec.SetScope(scopes[i/80%3])
		l := rec.Record()
		l.SetTime(1_700_000_000_000_000_000 + uint64(i)*55)
		l.SetOptionalObservedDelta(int64(i%100), i%4 != 0)
		l.SetSeverityNumber(uint64(9 + i%4*4))
		l.SetSeverityText(hosts[i%4])
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], uint64(i%10)*codec.GoldenRatio)
		l.SetTraceID(id[:])
		switch i / 8 % 3 {
		case 0:
			l.Body().SetString(routes[i%vocabulary])
		case 1:
			t := l.Body().SetTemplate()
			t.SetTemplate("request \x00 took \x00")
			t.Params().SetLen(2)
			t.Params().SetValue(0, routes[i%vocabulary])
			t.Params().SetValue(1, hosts[i%vocabulary])
		case 2:
			m := l.Body().SetValue().SetMap()
			m.SetLen(2)
			m.SetString(0, "event", routes[i%vocabulary])
			m.SetInt64(1, "code", int64(i%7))
		}
		l.Attributes().SetLen(1 + i%2)
		l.Attributes().SetString(0, "logger", hosts[i%5])
	}
}

type liveWriter interface {
	Write() error
	Flush() error
	Close() error
}

type liveReader interface {
	Next() bool
	Err() error
	BufferedRecords() uint64
}

// live has the functions of a test for one signal. open returns a writer and a function that sets the
// fields of record i, for any number of records.
type live struct {
	name string
	open func(w io.Writer, options ...stef.WriterOption) (liveWriter, func(i int), error)
	read func(r io.Reader) (liveReader, error)
}

var lives = []live{
	{"metrics", func(w io.Writer, options ...stef.WriterOption) (liveWriter, func(i int), error) {
		x, err := otelstef.NewMetricsWriter(w, options...)
		fill := metricsFill()
		return x, func(i int) { fill(x.Record(), i) }, err
	}, func(r io.Reader) (liveReader, error) { return otelstef.NewMetricsReader(r) }},
	{"spans", func(w io.Writer, options ...stef.WriterOption) (liveWriter, func(i int), error) {
		x, err := otelstef.NewSpansWriter(w, options...)
		fill := spansFill()
		return x, func(i int) { fill(x.Record(), i) }, err
	}, func(r io.Reader) (liveReader, error) { return otelstef.NewSpansReader(r) }},
	{"logs", func(w io.Writer, options ...stef.WriterOption) (liveWriter, func(i int), error) {
		x, err := otelstef.NewLogsWriter(w, options...)
		fill := logsFill()
		return x, func(i int) { fill(x.Record(), i) }, err
	}, func(r io.Reader) (liveReader, error) { return otelstef.NewLogsReader(r) }},
}

func eachLive(t *testing.T, f func(t *testing.T, l live, compression stef.Compression)) {
	for _, l := range lives {
		for _, c := range []stef.Compression{stef.None, stef.Zstd} {
			t.Run(l.name+"/"+c.String(), func(t *testing.T) { f(t, l, c) })
		}
	}
}

// TestWriteAllocatesNothing counts the allocations of setting, writing and flushing
// records, after the writer has written all values once.
func TestWriteAllocatesNothing(t *testing.T) {
	eachLive(t, func(t *testing.T, l live, c stef.Compression) {
		w, fill, err := l.open(io.Discard, stef.WithCompression(c))
		require.NoError(t, err)
		i := 0
		frame := func() {
			for range cycle {
				fill(i % cycle)
				if err := w.Write(); err != nil {
					t.Fatal(err)
				}
				i++
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			frame()
		}
		require.Zero(t, testing.AllocsPerRun(20, frame), "allocations in a frame of %d records", cycle)
	})
}

// TestNextAllocatesNothing counts the allocations of a reader, within a frame and over
// several frames. Text without a dictionary is allocated once per column and frame.
func TestNextAllocatesNothing(t *testing.T) {
	eachLive(t, func(t *testing.T, l live, c stef.Compression) {
		const frames = 30
		var stream bytes.Buffer
		w, fill, err := l.open(&stream, stef.WithCompression(c))
		require.NoError(t, err)
		for range frames {
			for i := range cycle {
				fill(i)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Close())

		r, err := l.read(bytes.NewReader(stream.Bytes()))
		require.NoError(t, err)
		next := func(n int) {
			for range n {
				if !r.Next() {
					t.Fatal(r.Err())
				}
			}
		}
		next(5*cycle + 30)
		require.Zero(t, testing.AllocsPerRun(4, func() { next(40) }), "allocations in 40 records of a frame")
		next(int(r.BufferedRecords()))
		texts := map[string]float64{"metrics": 0, "spans": 1, "logs": 1}[l.name]
		require.LessOrEqual(t, testing.AllocsPerRun(20, func() { next(cycle) }), texts, "allocations in a frame of %d records", cycle)
	})
}

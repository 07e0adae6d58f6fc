// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package slab

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Decoders are slower if they do not know the memory layout of pdata. This test fails if a new
// version of pdata changes the layout.
func TestLayoutIsKnown(t *testing.T) {
	require.True(t, theLayout.known)
	for _, s := range []reflect.Type{
		reflect.TypeFor[pmetric.MetricSlice](), reflect.TypeFor[pmetric.NumberDataPointSlice](),
		reflect.TypeFor[pmetric.HistogramDataPointSlice](), reflect.TypeFor[ptrace.SpanSlice](),
		reflect.TypeFor[pmetric.ExponentialHistogramDataPointSlice](), reflect.TypeFor[pmetric.SummaryDataPointSlice](),
		reflect.TypeFor[pmetric.SummaryDataPointValueAtQuantileSlice](),
		reflect.TypeFor[ptrace.SpanEventSlice](), reflect.TypeFor[ptrace.SpanLinkSlice](), reflect.TypeFor[plog.LogRecordSlice](),
	} {
		require.NotNil(t, elementOf(s), s)
	}
	var exemplars Structs[pmetric.ExemplarSlice]
	exemplars.Reserve(pmetric.NewExemplarSlice(), 1)
	require.True(t, exemplars.ready)
}

// Types whose memory layout differs from pdata are rejected.
func TestOtherLayoutsAreRefused(t *testing.T) {
	for _, other := range []any{
		0, "", struct{}{}, struct{ a, b *int }{}, struct{ a, b *[]int }{}, struct{ a, b *[]*int }{},
		struct {
			a *[]*struct{}
			b int
		}{}, struct{ a, b, c *[]*struct{} }{},
	} {
		require.Nil(t, elementOf(reflect.TypeOf(other)), "%T", other)
	}
	for _, other := range []any{1, new(int), &struct{ int }{}, &struct{ a, b string }{}} {
		holder := struct{ V any }{other}
		_, ok := boxOf(reflect.ValueOf(&holder).Elem().Field(0), reflect.String)
		require.False(t, ok, "%T", other)
	}
}

// maker makes metrics. It allocates their objects in chunks of memory, or calls the public functions
// of pdata.
type maker struct {
	Values
	metrics Items[pmetric.MetricSlice, pmetric.Metric]
	points  Items[pmetric.NumberDataPointSlice, pmetric.NumberDataPoint]
	counts  Numbers[pcommon.UInt64Slice, uint64]
	// examples are the exemplars of number points.
	examples Structs[pmetric.ExemplarSlice]
}

func publicMaker() *maker {
	m := &maker{Values: Values{new(layout)}}
	m.metrics.asked, m.points.asked, m.counts.asked, m.examples.asked = true, true, true, true
	return m
}

func (m *maker) fill(dst pmetric.MetricSlice, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range r.IntN(20) {
		metric := m.metrics.Append(dst)
		metric.SetName(fmt.Sprint("metric", r.IntN(100)))
		if r.IntN(3) == 0 {
			p := m.SetHistogram(metric).DataPoints().AppendEmpty()
			m.counts.Set(p.BucketCounts(), []uint64{r.Uint64(), 2, 3}[:r.IntN(4)])
			m.counts.Set(pmetric.NewHistogramDataPoint().BucketCounts(), make([]uint64, 300))
			continue
		}
		points := pmetric.NumberDataPointSlice{}
		if r.IntN(2) == 0 {
			points = m.SetGauge(metric).DataPoints()
		} else {
			points = m.SetSum(metric).DataPoints()
		}
		n := r.IntN(60)
		m.points.Reserve(points, r.IntN(n+1))
		for range n {
			m.point(m.points.Append(points), r)
		}
	}
}

func (m *maker) point(p pmetric.NumberDataPoint, r *rand.Rand) {
	switch r.IntN(3) {
	case 0:
		m.SetPointInt(p, r.Int64())
	case 1:
		m.SetPointDouble(p, r.Float64())
	}
	if n := r.IntN(60); n < 40 {
		m.examples.Reserve(p.Exemplars(), n)
		for range n {
			m.exemplar(p.Exemplars().AppendEmpty(), r)
		}
	}
	n := r.IntN(10)
	if r.IntN(50) == 0 {
		n = 200
	}
	var pairs Pairs
	m.Begin(&pairs, p.Attributes(), n)
	for i := range n {
		v := pairs.At(i, fmt.Sprint("key", r.IntN(100), i))
		switch r.IntN(7) {
		case 0:
			m.SetInt(v, r.Int64())
		case 1:
			m.SetDouble(v, r.Float64())
		case 2:
			m.SetBool(v, r.IntN(2) == 0)
		case 3:
			v.SetEmptyMap().PutStr("a", "b")
		case 4: // empty
		default:
			m.SetStr(v, fmt.Sprint("value", r.IntN(100)))
		}
	}
	pairs.End()
}

func (m *maker) exemplar(x pmetric.Exemplar, r *rand.Rand) {
	x.SetTimestamp(pcommon.Timestamp(r.Uint64()))
	switch r.IntN(3) {
	case 0:
		m.SetExemplarInt(x, r.Int64())
	case 1:
		m.SetExemplarDouble(x, r.Float64())
	}
}

// TestChunksMatchPdata builds the same content in slabs and with the functions of pdata,
// with garbage collections in between, and compares the results.
func TestChunksMatchPdata(t *testing.T) {
	chunks, public := new(maker), publicMaker()
	var kept []pmetric.Metrics
	marshal := func(m pmetric.Metrics) []byte {
		b, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(m)
		require.NoError(t, err)
		return b
	}
	make := func(m *maker, seed uint64) pmetric.Metrics {
		md := pmetric.NewMetrics()
		m.fill(md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics(), seed)
		return md
	}
	for seed := range uint64(60) {
		kept = append(kept, make(chunks, seed))
		if seed%10 == 0 {
			runtime.GC()
		}
	}
	for seed, md := range kept {
		require.Equal(t, marshal(make(public, uint64(seed))), marshal(md), seed)
	}
}

// pdata holds the text of a value in an object, the box. Values of a batch share a box if their text
// has the same address. A change of one value does not change the other values.
func TestTextsShareBoxes(t *testing.T) {
	require.True(t, theLayout.shares)
	text := strings.Clone("text")
	fill := func(m *Values) pcommon.Map {
		var pairs Pairs
		dst := pcommon.NewMap()
		m.Begin(&pairs, dst, 3)
		for i, s := range []string{text, text, strings.Clone(text)} {
			m.SetStr(pairs.At(i, fmt.Sprint("key", i)), s)
		}
		pairs.End()
		return dst
	}
	box := func(m pcommon.Map, key string) unsafe.Pointer {
		v, _ := m.Get(key)
		return (*dynamic)((*wrapper)(unsafe.Pointer(&v)).orig).data
	}
	m := new(Values)
	a := fill(m)
	require.Equal(t, box(a, "key0"), box(a, "key1"))
	require.NotEqual(t, box(a, "key0"), box(a, "key2"))
	m.EndBatch()
	b := fill(m)
	require.NotEqual(t, box(a, "key0"), box(b, "key0"))
	want := map[string]any{"key0": "text", "key1": "text", "key2": "text"}
	for i, change := range changes {
		b := fill(m)
		other := pcommon.NewMap()
		b.CopyTo(other)
		v, _ := b.Get("key0")
		change(v, pcommon.NewMap())
		b.RemoveIf(func(key string, _ pcommon.Value) bool { return key == "key0" })
		rest, _ := b.Get("key1")
		require.Equal(t, "text", rest.Str(), i)
		require.Equal(t, want, a.AsRaw(), i)
		require.Equal(t, want, other.AsRaw(), i)
	}
}

// If the pools of pdata are enabled, pdata reuses boxes, so values must not share boxes.
func TestPoolsOfPdataShareNoBoxes(t *testing.T) {
	const gate = "pdata.useProtoPooling"
	require.NoError(t, featuregate.GlobalRegistry().Set(gate, true))
	defer func() { require.NoError(t, featuregate.GlobalRegistry().Set(gate, false)) }()
	m, text := new(Values), "text"
	a, b := pcommon.NewValueEmpty(), pcommon.NewValueEmpty()
	m.SetStr(a, text)
	m.SetStr(b, text)
	a.SetInt(1)
	require.Equal(t, "text", b.Str())
}

func TestNoPointersToTheEndsOfChunks(t *testing.T) {
	c := chunkOf(reflect.TypeFor[[]*int]())
	require.Nil(t, c.run(0))
	for range 100 {
		c.one()
		require.Nil(t, c.run(0))
	}
	c.renew()
	require.Nil(t, c.run(0))
}

func TestChunksFitTheirUse(t *testing.T) {
	c := chunkOf(reflect.TypeFor[[]*int]())
	for range 1000 {
		c.one()
	}
	require.Equal(t, int(chunkBytes/c.size), c.n)
	for range 2 { // few objects between renewals
		c.renew()
		for range 10 {
			c.one()
		}
	}
	require.Equal(t, 10, c.n)
	c.renew()
	c.run(40)
	require.Equal(t, 40, c.n)
}

func TestSlicesDoNotShareCapacity(t *testing.T) {
	m := new(maker)
	a, b := pcommon.NewMap(), pcommon.NewMap()
	for _, dst := range []pcommon.Map{a, b} {
		var pairs Pairs
		m.Begin(&pairs, dst, 1)
		m.SetStr(pairs.At(0, "key"), "text")
		pairs.End()
	}
	x, y := pcommon.NewUInt64Slice(), pcommon.NewUInt64Slice()
	m.counts.Set(x, []uint64{1})
	m.counts.Set(y, []uint64{2})
	p, q := pmetric.NewNumberDataPointSlice(), pmetric.NewNumberDataPointSlice()
	m.points.Reserve(p, 1)
	m.points.Reserve(q, 1)
	m.points.Append(p).SetFlags(1)
	m.points.Append(q).SetFlags(2)
	u, v := pmetric.NewExemplarSlice(), pmetric.NewExemplarSlice()
	m.examples.Reserve(u, 1)
	m.examples.Reserve(v, 1)
	m.SetExemplarInt(u.AppendEmpty(), 5)
	m.SetExemplarInt(v.AppendEmpty(), 6)
	u.AppendEmpty().SetIntValue(7)
	require.Equal(t, 1, v.Len())
	require.EqualValues(t, 6, v.At(0).IntValue())
	require.EqualValues(t, 5, u.At(0).IntValue())
	a.PutStr("other", "more")
	x.Append(3)
	p.AppendEmpty().SetFlags(4)
	require.Equal(t, map[string]any{"key": "text"}, b.AsRaw())
	require.Equal(t, map[string]any{"key": "text", "other": "more"}, a.AsRaw())
	require.Equal(t, []uint64{2}, y.AsRaw())
	require.Equal(t, 1, q.Len())
	require.EqualValues(t, 2, q.At(0).Flags())
	require.EqualValues(t, 1, p.At(0).Flags())
}

// Chunks save most allocations: a data point with three attributes takes less than one on average.
func TestChunksAllocateSeldom(t *testing.T) {
	m := new(maker)
	p := pmetric.NewNumberDataPointSlice()
	n := testing.AllocsPerRun(1000, func() {
		x := m.points.Append(p)
		m.SetPointInt(x, 1)
		var pairs Pairs
		m.Begin(&pairs, x.Attributes(), 3)
		for i := range 3 {
			m.SetStr(pairs.At(i, "key"), "text")
		}
		pairs.End()
	})
	require.Less(t, n, 1.0) // pdata allocates 6 objects
}

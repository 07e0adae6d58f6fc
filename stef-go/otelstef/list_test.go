// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/list"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestListsAreSafe compares the exported methods of lists with a list in the test. None of these methods
// may clear marks of modified fields.
func TestListsAreSafe(t *testing.T) {
	f := func(l any, extra ...string) {
		t.Helper()
		var names []string
		typ := reflect.TypeOf(l)
		for i := range typ.NumMethod() {
			names = append(names, typ.Method(i).Name)
		}
		want := append([]string{"All", "Append", "At", "CopyFrom", "Delete", "Equal", "Len", "Reset", "SetLen", "String"}, extra...)
		require.ElementsMatch(t, want, names)
	}
	f(new(list.Of[otelstef.Exemplar]))
	f(new(list.Values[uint64]), "Set", "Values", "SetValues")
	f(new(list.Floats), "Set", "Values", "SetValues")
	f(new(list.Bytes), "Set")
}

// Lists print their elements, as records do.
func TestListsAsText(t *testing.T) {
	f := func(want string, list fmt.Stringer) {
		t.Helper()
		require.Equal(t, want, fmt.Sprint(list))
	}
	span := otelstef.NewSpans().Span()
	f("[]", span.Events())
	span.Events().Append().SetName("a")
	span.Events().Append().SetName("b")
	f("["+span.Events().At(0).String()+","+span.Events().At(1).String()+"]", span.Events())
	value := otelstef.NewAnyValue()
	value.SetArray().Append().SetString("1, 2")
	value.Array().Append().SetInt64(3)
	value.Array().Append().SetArray().Append().SetBool(true)
	value.Array().Append()
	f(`["1, 2",3,[true],null]`, value.Array())
	require.Equal(t, value.String(), value.Array().String())
	metric := otelstef.NewMetrics().EditMetric()
	metric.HistogramBounds().SetValues([]float64{1, 10.5, math.Inf(1)})
	f(`[1,10.5,"+Inf"]`, metric.HistogramBounds())
	buckets := otelstef.NewHistogramValue().BucketCounts()
	f("[]", buckets)
	buckets.SetValues([]uint64{1, math.MaxUint64})
	f("[1,18446744073709551615]", buckets)
	keys := otelstef.NewEntityRef().IDKeys()
	keys.SetValues([]string{"a", `"`})
	f(`["a","\""]`, keys)
	raws := otelstef.NewMetrics().Envelope().Attributes()
	raws.Append("k", []byte("ab"))
	f(`{"k":"YWI="}`, raws)
	f("[]", (*list.Bytes)(nil))
}

// The getters of a missing value return zero, nil, or a list or map without elements.
func TestMissingValues(t *testing.T) {
	span := otelstef.NewSpans().Span()
	span.Attributes().AppendString("text", "x")
	for _, value := range []*otelstef.AnyValue{span.Attributes().Get("none"), span.Attributes().Get("text")} {
		require.Zero(t, value.Int64())
		require.Zero(t, value.Array().Len())
		for range value.Array().All() {
			t.Error("an element")
		}
		require.Equal(t, "[]", value.Array().String())
		require.Zero(t, value.KVList().Len())
		require.Empty(t, value.KVList().Get("x").KVList().Get("y").Str())
		for range value.KVList().All() {
			t.Error("a pair")
		}
	}
	for range (*otelstef.EnvelopeAttributes)(nil).All() {
		t.Error("a pair")
	}
	_, ok := (*otelstef.EnvelopeAttributes)(nil).Get("k")
	require.False(t, ok)
	require.Empty(t, (*list.Floats)(nil).Values())
	require.Zero(t, (*list.Floats)(nil).Len())
	for range (*list.Values[uint64])(nil).All() {
		t.Error("an element")
	}
	for range (*list.Bytes)(nil).All() {
		t.Error("an element")
	}
}

// A program can change lists several times between two calls of Write. The reader returns the final lists.
func TestListChanges(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewSpansWriter(&out)
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	var want [][]string
	var now []string
	for i := range 500 {
		events := w.Record().Span().Events()
		for range rnd.IntN(4) {
			switch rnd.IntN(3) {
			case 0:
				name := fmt.Sprint("event", i)
				events.Append().SetName(name)
				now = append(now, name)
			case 1:
				from := rnd.IntN(len(now) + 1)
				to := from + rnd.IntN(len(now)-from+1)
				events.Delete(from, to)
				now = append(append([]string{}, now[:from]...), now[to:]...)
			default:
				if n := rnd.IntN(5); n < len(now) {
					events.SetLen(n)
					now = now[:n:n]
				}
			}
		}
		require.NoError(t, w.Write())
		want = append(want, append([]string{}, now...))
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewSpansReader(&out)
	require.NoError(t, err)
	var got [][]string
	for r.Next() {
		names := []string{}
		for i, e := range r.Record().Span().Events().All() {
			require.Same(t, r.Record().Span().Events().At(i), e)
			names = append(names, e.Name())
		}
		got = append(got, names)
	}
	require.NoError(t, r.Err())
	require.Equal(t, want, got)
}

// A change of a list of plain values marks its field as modified. Deleting an empty range does
// not mark the field.
func TestValueListChanges(t *testing.T) {
	w, err := otelstef.NewMetricsWriter(new(bytes.Buffer))
	require.NoError(t, err)
	m, h := w.Record().EditMetric(), w.Record().Point().Value().SetHistogram()
	h.BucketCounts().SetValues([]uint64{1, 2, 3, 4})
	m.HistogramBounds().SetValues([]float64{0.5, 1, 2})
	require.NoError(t, w.Write())

	h, m = w.Record().Point().Value().Histogram(), w.Record().EditMetric()
	h.BucketCounts().Delete(1, 1)
	m.HistogramBounds().Delete(3, 3)
	require.Zero(t, h.Modified()&otelstef.HistogramValueFieldBucketCounts)
	require.Zero(t, m.Modified())
	h.BucketCounts().Delete(1, 3)
	m.HistogramBounds().Delete(0, 1)
	require.NotZero(t, h.Modified()&otelstef.HistogramValueFieldBucketCounts)
	require.NotZero(t, m.Modified()&otelstef.MetricFieldHistogramBounds)
	require.Equal(t, []uint64{1, 4}, h.BucketCounts().Values())
	require.Equal(t, []float64{1, 2}, m.HistogramBounds().Values())
	for i, v := range h.BucketCounts().All() {
		require.Equal(t, h.BucketCounts().At(i), v)
	}
}

// Lengths and ranges out of bounds panic in the call that receives them. The message contains
// the value.
func TestListPanics(t *testing.T) {
	s := otelstef.NewSpan()
	require.PanicsWithValue(t, "stef: SetLen(-1): a length cannot be negative", func() { s.Events().SetLen(-1) })
	require.PanicsWithValue(t, "stef: SetLen(-2): a length cannot be negative", func() { s.Attributes().SetLen(-2) })
	require.Panics(t, func() { s.Events().Delete(0, 1) })
	require.Panics(t, func() { s.Events().Delete(1, 0) })
	require.Panics(t, func() { s.Events().At(0) })
	m := otelstef.NewMetric()
	require.PanicsWithValue(t, "stef: SetLen(-3): a length cannot be negative", func() { m.HistogramBounds().SetLen(-3) })
	require.Panics(t, func() { m.HistogramBounds().Delete(0, 1) })
	require.Zero(t, s.Events().Len())
}

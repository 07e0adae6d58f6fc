// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// primitives is the common interface of arrays of primitive values. V is the type that
// their setters receive.
type primitives[A any, V any] interface {
	*A
	Init(parent *stefrt.Node, bit uint64)
	Len() int
	At(i int) V
	SetLen(n int)
	Set(i int, v V)
	Append(v V)
	CopyFrom(src *A)
	Equal(o *A) bool
	Reset()
	Clear()
	MarkAll(*stefrt.Check)
	Clean()
	MarkDiff(held *A) bool
	Hash(h *codec.Hash)
	Size() int
}

// testScalars tests an array type. zero, x and y are three different values of its elements; zero is the
// initial value.
func testScalars[A any, P primitives[A, V], V any](t *testing.T, zero, x, y V) {
	t.Helper()
	var top stefrt.Node
	top.Init(nil, 0)
	a := P(new(A))
	a.Init(&top, 1<<2)
	// change checks whether do marks the array in the record.
	change := func(want bool, do func()) {
		t.Helper()
		top.Take()
		a.Clean()
		do()
		require.Equal(t, stefrt.If(want, 1<<2), top.Modified())
	}
	is := func(want ...V) {
		t.Helper()
		require.Equal(t, len(want), a.Len())
		for i, v := range want {
			require.Equal(t, fmt.Sprint(v), fmt.Sprint(a.At(i)), "element %d", i)
		}
	}
	change(true, func() { a.Append(x) })
	change(true, func() { a.Append(y) })
	is(x, y)
	change(false, func() { a.Set(0, x) })
	change(true, func() { a.Set(0, y) })
	is(y, y)
	change(false, func() { a.SetLen(2) })
	change(true, func() { a.SetLen(4) })
	is(y, y, zero, zero)
	change(true, func() { a.SetLen(1) })
	change(true, func() { a.SetLen(3) })
	is(y, zero, zero)
	require.Panics(t, func() { a.At(3) })
	require.Panics(t, func() { a.Set(3, x) })

	b := P(new(A))
	require.False(t, a.Equal((*A)(b)))
	change(true, func() { a.CopyFrom((*A)(b)) })
	is()
	require.True(t, a.Equal((*A)(b)))
	b.Append(x)
	b.Append(y)
	change(true, func() { a.CopyFrom((*A)(b)) })
	change(false, func() { a.CopyFrom((*A)(b)) })
	b.Set(0, y)
	is(x, y)

	a.Clean()
	require.True(t, a.MarkDiff((*A)(b)))
	require.False(t, a.MarkDiff((*A)(a)))
	c := P(new(A))
	c.CopyFrom((*A)(a))
	require.Equal(t, hashOf(a.Hash), hashOf(c.Hash))
	require.NotEqual(t, hashOf(a.Hash), hashOf(b.Hash), "the hash depends on the elements, not only on the length")
	require.Positive(t, a.Size())

	change(true, a.Reset)
	change(false, a.Reset)
	a.Append(x)
	change(false, a.Clear)
	is()
	a.MarkAll(new(stefrt.Check))
	a.Append(x) // does not mark the record: MarkAll has set the mark of the array. change clears that mark.
	change(true, func() { a.Append(y) })
}

func TestScalars(t *testing.T) {
	testScalars[stefrt.Scalars[bool], *stefrt.Scalars[bool]](t, false, true, false)
}

func TestScalarsOfNumbers(t *testing.T) {
	testScalars[stefrt.Scalars[uint64], *stefrt.Scalars[uint64]](t, 0, 1<<63, 7)
	testScalars[stefrt.Scalars[int64], *stefrt.Scalars[int64]](t, 0, -1, 7)
	testScalars[stefrt.Float64s, *stefrt.Float64s](t, 0, math.Copysign(0, -1), 1.5)
}

func TestScalarsOfText(t *testing.T) {
	testScalars[stefrt.Scalars[string], *stefrt.Scalars[string]](t, "", "x", "yy")
	testScalars[stefrt.ByteRuns, *stefrt.ByteRuns](t, []byte{}, []byte("x"), []byte("yy"))
}

func TestSetValues(t *testing.T) {
	var top stefrt.Node
	top.Init(nil, 0)
	var a stefrt.Scalars[int64]
	a.Init(&top, 1)
	v := []int64{1, 2}
	a.SetValues(v)
	require.Equal(t, uint64(1), top.Take())
	a.Encoding()
	v[0] = 9
	require.Equal(t, []int64{1, 2}, a.Values(), "the values are copied")
	a.SetValues([]int64{1, 2})
	require.Zero(t, top.Modified())
	a.SetValues(nil)
	require.Equal(t, uint64(1), top.Modified())
	require.Zero(t, a.Len())
}

// TestFloat64sBits: floats are compared by their bits.
func TestFloat64sBits(t *testing.T) {
	var top stefrt.Node
	top.Init(nil, 0)
	var a stefrt.Float64s
	a.Init(&top, 1)
	nan := func(payload uint64) float64 { return math.Float64frombits(0x7ff8000000000000 | payload) }
	f := func(changes bool, v float64) {
		t.Helper()
		top.Take()
		a.Encoding()
		a.SetValues([]float64{v})
		require.Equal(t, stefrt.If(changes, 1), top.Modified())
		a.Set(0, v)
		require.Equal(t, math.Float64bits(v), math.Float64bits(a.At(0)))
	}
	f(true, 0)
	f(true, math.Copysign(0, -1))
	f(true, nan(1))
	f(false, nan(1))
	f(true, nan(2))
	require.True(t, stefrt.SameFloat(nan(3), nan(3)))
	require.False(t, stefrt.SameFloat(0, math.Copysign(0, -1)))
}

// TestByteRunsCopy: values are copied when they are set and when the array is copied.
func TestByteRunsCopy(t *testing.T) {
	var a stefrt.ByteRuns
	v := []byte("ab")
	a.Append(v)
	v[0] = 'x'
	require.Equal(t, "ab", string(a.At(0)))
	var b stefrt.ByteRuns
	b.CopyFrom(&a)
	a.Set(0, []byte("cd"))
	require.Equal(t, "ab", string(b.At(0)))
	a.SetLen(0)
	a.SetLen(1)
	require.Empty(t, a.At(0), "removed elements do not return")
}

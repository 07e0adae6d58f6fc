// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// cell is a minimal element type. Like a generated struct, it has a node, which stores whether the value was
// modified: its mark.
type cell struct {
	node stefrt.Node
	v    uint64
}

func (c *cell) set(v uint64) {
	if c.v != v {
		c.v = v
		c.node.Mark(1)
	}
}

var cells = stefrt.Elem[cell]{
	Init:     func(c *cell, parent *stefrt.Node, bit uint64) { c.node.Init(parent, bit) },
	Clear:    func(c *cell) { c.v = 0; c.node.SetModified(0) },
	Reset:    func(c *cell) { c.set(0) },
	CopyFrom: func(c, src *cell) { c.set(src.v) },
	Equal:    func(c, o *cell) bool { return c.v == o.v },
	MarkAll:  func(c *cell, _ *stefrt.Check) { c.node.SetModified(1) },
	Clean:    func(c *cell) { c.node.SetModified(0) },
	MarkDiff: func(c, held *cell) { c.node.SetModified(stefrt.If(c.v != held.v, 1)) },
	Hash:     func(c *cell, h *codec.Hash) { h.Uint64(c.v) },
	Size:     func(*cell) int { return 8 },
}

// arrayOf returns an array in a record.
func arrayOf(values ...uint64) (a *stefrt.Array[cell], top *stefrt.Node) {
	a, top = new(stefrt.Array[cell]), new(stefrt.Node)
	top.Init(nil, 0)
	a.Init(&cells, top, 1<<4)
	for _, v := range values {
		a.Append().set(v)
	}
	return a, top
}

// written clears the marks of modified elements, as an encoder does when it writes the array.
func written(a *stefrt.Array[cell], top *stefrt.Node) {
	top.Take()
	for i := range a.BeginEncode() {
		a.At(i).node.Take()
	}
}

func valuesOf(a *stefrt.Array[cell]) []uint64 {
	out := []uint64{}
	for i := range a.Len() {
		out = append(out, a.At(i).v)
	}
	return out
}

func marksOf(a *stefrt.Array[cell]) []uint64 {
	out := []uint64{}
	for i := range a.Len() {
		out = append(out, a.At(i).node.Modified())
	}
	return out
}

func TestArray(t *testing.T) {
	a, top := arrayOf()
	require.Zero(t, a.Len())
	require.Zero(t, top.Modified())
	first := a.Append()
	require.Equal(t, uint64(1<<4), top.Modified())
	first.set(5)
	for i := range uint64(100) {
		a.Append().set(i)
	}
	require.Equal(t, 101, a.Len())
	require.Same(t, first, a.At(0), "elements do not move")
	require.Equal(t, uint64(99), a.At(100).v)
	require.Panics(t, func() { a.At(101) })
	require.Panics(t, func() { a.At(-1) })

	written(a, top)
	a.At(50).set(a.At(50).v)
	a.SetLen(101)
	require.Zero(t, top.Modified(), "no change is no mark")
	a.At(50).set(7)
	require.Equal(t, uint64(1<<4), top.Modified())
	require.Equal(t, uint64(1), a.At(50).node.Modified())
}

// TestArrayShrinksAndGrows: if an array shrinks and grows again, the new elements have the initial value. A
// new element is marked as modified if the reader of the stream has another value for it.
func TestArrayShrinksAndGrows(t *testing.T) {
	f := func(wantMarks []uint64, change func(a *stefrt.Array[cell], top *stefrt.Node)) {
		t.Helper()
		a, top := arrayOf(1, 0, 3)
		written(a, top)
		change(a, top)
		require.Equal(t, len(wantMarks), a.Len())
		require.Equal(t, wantMarks, marksOf(a))
		require.Equal(t, uint64(1<<4), top.Modified())
		for i := 1; i < a.Len(); i++ {
			require.Zero(t, a.At(i).v, "element %d", i)
		}
	}
	// The reader has the values 1, 0 and 3. The last two elements are removed and added again. Only the
	// third element is marked, because the reader has a value other than 0 for it.
	f([]uint64{0, 0, 1}, func(a *stefrt.Array[cell], _ *stefrt.Node) {
		a.SetLen(1)
		a.SetLen(3)
	})
	f([]uint64{0, 0, 1, 0}, func(a *stefrt.Array[cell], _ *stefrt.Node) {
		a.SetLen(1)
		a.SetLen(4)
	})
	// The reader has only one element, 1.
	f([]uint64{0, 0, 0}, func(a *stefrt.Array[cell], top *stefrt.Node) {
		a.SetLen(1)
		written(a, top)
		a.SetLen(3)
	})
	// Marks of removed elements do not return.
	f([]uint64{0, 0, 0}, func(a *stefrt.Array[cell], top *stefrt.Node) {
		a.At(2).set(9)
		a.SetLen(1)
		written(a, top)
		a.SetLen(3)
	})
	f([]uint64{1}, func(a *stefrt.Array[cell], _ *stefrt.Node) {
		a.Reset()
		a.SetLen(1)
	})
	// After Clear, new elements have the initial value and no marks.
	a, _ := arrayOf(1, 2)
	a.Clear()
	a.SetLen(2)
	require.Equal(t, []uint64{0, 0}, valuesOf(a))
	require.Equal(t, []uint64{0, 0}, marksOf(a))
}

func TestArrayCopyAndEqual(t *testing.T) {
	a, top := arrayOf(1, 2, 3)
	b, _ := arrayOf(4)
	require.False(t, a.Equal(b))
	b.CopyFrom(a)
	require.True(t, a.Equal(b))
	require.Equal(t, []uint64{1, 2, 3}, valuesOf(b))
	b.At(1).set(9)
	require.False(t, a.Equal(b))
	require.Equal(t, uint64(2), a.At(1).v, "nothing is shared")
	written(a, top)
	c, _ := arrayOf(1, 2, 3)
	a.CopyFrom(c)
	require.Zero(t, top.Modified(), "a copy of the same is no change")
	c.SetLen(2)
	a.CopyFrom(c)
	require.Equal(t, []uint64{1, 2}, valuesOf(a))
	require.NotZero(t, top.Modified())
}

func TestArrayForDictionaries(t *testing.T) {
	held, _ := arrayOf(1, 2, 3)
	f := func(differs bool, marks []uint64, values ...uint64) {
		t.Helper()
		a, _ := arrayOf(values...)
		a.Clean()
		require.Equal(t, make([]uint64, len(values)), marksOf(a))
		require.Equal(t, differs, a.MarkDiff(held))
		require.Equal(t, marks, marksOf(a))
	}
	f(false, []uint64{0, 0, 0}, 1, 2, 3)
	f(true, []uint64{0, 1, 0}, 1, 9, 3)
	f(true, []uint64{0}, 1)
	f(true, []uint64{0, 0, 0, 1}, 1, 2, 3, 4)
	f(true, []uint64{0, 0, 0, 1}, 1, 2, 3, 0)

	a, _ := arrayOf(1, 2)
	b, _ := arrayOf(1, 2)
	c, _ := arrayOf(2, 1)
	require.Equal(t, hashOf(a.Hash), hashOf(b.Hash))
	require.NotEqual(t, hashOf(a.Hash), hashOf(c.Hash))
	require.Equal(t, 2*(stefrt.PairSize+8), a.Size())
	a.Clean()
	a.MarkAll(new(stefrt.Check))
	require.Equal(t, []uint64{1, 1}, marksOf(a))
}

func hashOf(add func(*codec.Hash)) codec.Hash {
	var h codec.Hash
	add(&h)
	return h
}

func TestArrayBeginDecode(t *testing.T) {
	a, _ := arrayOf()
	alloc := &codec.Alloc{Left: 1 << 10}
	require.True(t, a.BeginDecode(4, alloc))
	left := alloc.Left
	require.Less(t, left, 1<<10)
	a.At(3).v = 9
	require.True(t, a.BeginDecode(3, alloc))
	require.True(t, a.BeginDecode(4, alloc))
	require.Zero(t, a.At(3).v, "an element that grew again is initial")
	require.Equal(t, left, alloc.Left, "allocated elements are not counted again")

	for _, n := range []int{1 << 10, 1 << 30, math.MaxInt} {
		alloc.Left = 1 << 10
		require.False(t, a.BeginDecode(n, alloc))
		require.Equal(t, 4, a.Len())
	}
}

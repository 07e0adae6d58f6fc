// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// nestedNodes returns three nodes: of a record, of a value in the record, and of a value nested in that
// value.
func nestedNodes() (top, mid, leaf *stefrt.Node) {
	top, mid, leaf = new(stefrt.Node), new(stefrt.Node), new(stefrt.Node)
	top.Init(nil, 0)
	mid.Init(top, 1<<3)
	leaf.Init(mid, 1<<5)
	return top, mid, leaf
}

func TestRefuseNested(t *testing.T) {
	top, mid, leaf := nestedNodes()
	_, other, _ := nestedNodes()
	for _, pair := range [][2]*stefrt.Node{{top, mid}, {top, leaf}, {mid, leaf}} {
		require.Panics(t, func() { stefrt.RefuseNested(pair[0], pair[1]) })
		require.Panics(t, func() { stefrt.RefuseNested(pair[1], pair[0]) })
	}
	var sibling stefrt.Node
	sibling.Init(top, 1)
	for _, pair := range [][2]*stefrt.Node{{top, top}, {leaf, leaf}, {leaf, &sibling}, {leaf, other}, {other, top}} {
		stefrt.RefuseNested(pair[0], pair[1])
	}
	leaf.Freeze()
	stefrt.RefuseNested(top, leaf)
	stefrt.RefuseNested(leaf, top)
}

func TestMark(t *testing.T) {
	f := func(wantTop, wantMid, wantLeaf uint64, do func(top, mid, leaf *stefrt.Node)) {
		t.Helper()
		top, mid, leaf := nestedNodes()
		do(top, mid, leaf)
		require.Equal(t, []uint64{wantTop, wantMid, wantLeaf}, []uint64{top.Modified(), mid.Modified(), leaf.Modified()})
	}
	f(0, 0, 0, func(_, _, _ *stefrt.Node) {})
	f(1, 0, 0, func(top, _, _ *stefrt.Node) { top.Mark(1) })
	f(1<<3, 1<<1, 0, func(_, mid, _ *stefrt.Node) { mid.Mark(1 << 1) })
	f(1<<3, 1<<5, 1<<63, func(_, _, leaf *stefrt.Node) { leaf.Mark(1 << 63) })
	f(1<<3, 1<<5, 3, func(_, _, leaf *stefrt.Node) { leaf.Mark(1); leaf.Mark(2) })
	f(1|1<<3, 1<<5, 1, func(top, _, leaf *stefrt.Node) { top.Mark(1); leaf.Mark(1) })

	// Unmark does not clear the marks of enclosing values.
	f(1<<3, 1<<5, 0, func(_, _, leaf *stefrt.Node) { leaf.Mark(1); leaf.Unmark(1) })
	f(1<<3, 1<<5, 2, func(_, _, leaf *stefrt.Node) { leaf.Mark(3); leaf.Unmark(1) })
	f(1<<3, 1<<5, 0, func(_, _, leaf *stefrt.Node) {
		leaf.Mark(9)
		require.Equal(t, uint64(9), leaf.Take())
		require.Zero(t, leaf.Take())
	})
	f(0, 0, 7, func(_, _, leaf *stefrt.Node) { leaf.SetModified(7) })
}

// Mark marks a value as modified, and then the values that enclose it. TestMarkStopsAtAMark: it stops at the
// first mark that is already set, because the marks of the enclosing values are then set, too.
func TestMarkStopsAtAMark(t *testing.T) {
	top, mid, leaf := nestedNodes()
	leaf.Mark(1)
	top.Take()
	leaf.Mark(2)
	require.Zero(t, top.Modified(), "Take broke the invariant, and Mark stopped at mid")
	mid.Take()
	leaf.Mark(4)
	require.Equal(t, uint64(1<<3), top.Modified())
}

// TestMarksInvariant: after any changes and writes, if a value has marks, its bit in the enclosing value is
// set.
func TestMarksInvariant(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	nodes := make([]stefrt.Node, 40)
	parents := make([]int, len(nodes))
	for i := range nodes {
		if i == 0 {
			nodes[0].Init(nil, 0)
			continue
		}
		parents[i] = rnd.IntN(i)
		nodes[i].Init(&nodes[parents[i]], 1<<(i%64))
	}
	for range 2000 {
		if rnd.IntN(10) == 0 {
			// A record is written from the top down.
			for i := range nodes {
				nodes[i].Take()
			}
		}
		nodes[rnd.IntN(len(nodes))].Mark(1 << rnd.IntN(64))
		for i := 1; i < len(nodes); i++ {
			if nodes[i].Modified() != 0 {
				require.NotZero(t, nodes[parents[i]].Modified()&(1<<(i%64)))
			}
		}
	}
}

func TestPairBit(t *testing.T) {
	f := func(i int, want uint64) {
		t.Helper()
		require.Equal(t, want, stefrt.PairBit(i))
	}
	f(0, 1)
	f(1, 2)
	f(61, 1<<61)
	f(62, stefrt.FullBit)
	f(63, stefrt.FullBit)
	f(1022, stefrt.FullBit)
}

func TestFrozen(t *testing.T) {
	top, mid, leaf := nestedNodes()
	require.True(t, top.Free())
	require.False(t, mid.Free())
	leaf.Mark(1)
	mid.Freeze()
	require.True(t, mid.Frozen())
	require.False(t, mid.Free())
	require.False(t, leaf.Frozen(), "only the shared value itself is frozen, not the values in it")
	require.Zero(t, mid.Modified())

	require.PanicsWithValue(t, "stef: a shared value cannot be changed; use the Edit method of the record", func() { mid.Mark(1) })
	require.Zero(t, mid.Modified())
	leaf.Take()
	for range 2 {
		require.Panics(t, func() { leaf.Mark(1) })
		require.Zero(t, leaf.Modified(), "a mark would hide the next change")
		require.Zero(t, mid.Modified())
	}

	leaf.Take()
	for _, size := range []int{3, 8, 16} {
		for _, v := range [][]byte{make([]byte, size), {1}} {
			dst := bytes.Repeat([]byte{7}, size)
			require.Panics(t, func() { stefrt.SetBytes(&dst, v, leaf, 1) })
			require.Equal(t, bytes.Repeat([]byte{7}, size), dst)
		}
	}
}

func TestOversize(t *testing.T) {
	top, mid, leaf := nestedNodes()
	require.False(t, top.Oversize())
	leaf.SetOversize(true)
	require.True(t, top.Oversize())
	require.False(t, mid.Oversize())
	mid.SetOversize(false)
	require.False(t, top.Oversize())

	// Freeze keeps the result of Oversize. Oversize of a part of a record returns false.
	// Here the mark of the part is 1, the value of the flag oversize.
	free := new(stefrt.Node)
	free.Init(nil, 0)
	free.SetOversize(true)
	free.Freeze()
	require.True(t, free.Oversize())
	part := new(stefrt.Node)
	part.Init(top, 1)
	require.False(t, part.Oversize())
	part.Freeze()
	require.False(t, part.Oversize())
	part.SetOversize(true)
	require.False(t, part.Oversize(), "a shared value does not change")
}

func TestIfAndBoolBits(t *testing.T) {
	require.Equal(t, uint64(6), stefrt.If(true, 6))
	require.Zero(t, stefrt.If(false, 6))
	require.Equal(t, uint64(1), stefrt.BoolBits(true))
	require.Zero(t, stefrt.BoolBits(false))
}

func TestOneofWidth(t *testing.T) {
	f := func(want uint, choices ...int) {
		t.Helper()
		for _, n := range choices {
			require.Equal(t, want, stefrt.OneofWidth(n), "%d choices", n)
		}
	}
	f(1, 0)
	f(2, 1, 2)
	f(3, 3, 4, 5, 6)
	f(4, 7, 14)
	f(5, 15, 30)
	f(8, 127, 254)
	f(9, 255)
}

func TestSetBytes(t *testing.T) {
	var dst []byte
	var node stefrt.Node
	for _, n := range []int{0, 1, 8, 16, 8, 7, 0, 40, 40, 16} {
		for _, last := range []byte{1, 2, 2} {
			v := bytes.Repeat([]byte{7}, n)
			if n > 0 {
				v[n-1] = last
			}
			want := !bytes.Equal(dst, v)
			require.Equal(t, want, stefrt.SetBytes(&dst, v, &node, 4))
			require.Equal(t, stefrt.If(want, 4), node.Take())
			require.Equal(t, string(v), string(dst))
			clear(v)
			require.False(t, n > 0 && bytes.Equal(dst, v), "it is a copy")
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/recursive"
)

const nested = "stef: CopyFrom between a value and a part of itself; copy the source to a new value first, and copy from there"

// value is a generated type, or an array of package list.
type value[T any] interface {
	*T
	CopyFrom(*T)
	Equal(*T) bool
	String() string
}

// refused checks copies between a value and a part of it. No such copy is possible in either direction, a
// refused copy changes nothing, and a copy of the value to itself is possible.
func refused[T any, V value[T]](t *testing.T, whole, part V) {
	t.Helper()
	before := whole.String()
	require.PanicsWithValue(t, nested, func() { part.CopyFrom(whole) })
	require.PanicsWithValue(t, nested, func() { whole.CopyFrom(part) })
	require.Equal(t, before, whole.String())
	whole.CopyFrom(whole)
	part.CopyFrom(part)
	require.Equal(t, before, whole.String())
}

func TestCopyOfNestedIsRefused(t *testing.T) {
	v := recursive.NewValue()
	refused(t, v, v.SetSelf().Value())
	refused(t, v, v.SetSelf().Value().SetList().Append())
	refused(t, v, v.SetList().Append())
	refused(t, v.List(), v.List().At(0).SetList())
	refused(t, v.List(), v.List().At(0).List().Append().SetObject().Append("key").SetList())
	refused(t, v, v.SetObject().Append("key"))
	refused(t, v.Object(), v.Object().Value(0).SetObject())

	box := recursive.NewBox()
	refused(t, box, box.Value().SetSelf())

	chain := recursive.NewChain()
	next := chain.AddNext().AddNext()
	next.SetN(3)
	refused(t, chain, next)

	first := recursive.NewFirst()
	second := first.AddSecond()
	second.SetS("s")
	second.ByFirst().SetLen(1)
	refused(t, first, second.Firsts().Append())
	refused(t, first, second.ByFirst().Key(0))
	refused(t, second, second.ByFirst().Value(0))
	refused(t, second.ByFirst(), second.ByFirst().Value(0).ByFirst())

	group := recursive.NewGroup()
	group.SetLen(1)
	refused(t, group, group.Value(0))
	refused(t, group.Key(0), group.Key(0).SetInner().SetInner())

	record := recursive.NewRecord()
	refused(t, record, record.AddParent())
	refused(t, record.Value(), record.Value().SetList().Append())

	writer := recursive.NewRecord()
	loop := writer.EditLoop()
	turn := loop.Turns().Append()
	refused(t, loop, turn.EditLoop())
	refused(t, turn, turn.Loop().Turns().Append())
	refused(t, turn, turn.EditMaybe().Turns().Append())
}

// A shared value is not part of the values that share it.
func TestCopyOfSharedPart(t *testing.T) {
	shared := recursive.NewLoop()
	shared.SetN(7)
	shared.Turns().Append().EditLoop().SetN(8)
	loop := recursive.NewLoop()
	loop.Turns().Append().SetLoop(shared)
	require.Same(t, shared, loop.Turns().At(0).Loop())
	before := shared.String()
	loop.CopyFrom(shared)
	require.Equal(t, before, loop.String())
	require.Equal(t, before, shared.String())

	loop.Turns().At(0).SetLoop(shared)
	loop.CopyFrom(shared.Turns().At(0).Loop())
	require.EqualValues(t, 8, loop.N())
	require.Equal(t, before, shared.String())
	refused(t, loop, loop.Turns().Append().EditLoop())
}

// tree is a part of a random tree.
type tree struct {
	*optionals.Tree
	path string // begins with the path of the trees that it is part of
}

// grow adds random content to a tree, and returns all trees in it.
func grow(r *rand.Rand, t tree, depth int) (all []tree) {
	all = append(all, t)
	for range r.IntN(5) {
		t.SetName(fmt.Sprint(r.IntN(1000)))
		add := func(part *optionals.Tree) {
			all = append(all, grow(r, tree{part, fmt.Sprintf("%s%d/", t.path, len(all))}, depth-1)...)
		}
		switch kind := r.IntN(4); {
		case depth == 0:
		case kind == 0 && !t.HasLeft():
			add(t.AddLeft())
		case kind == 1:
			add(t.AddKids().Append())
		case kind == 2 && !t.HasBranch():
			add(t.AddBranch().SetTree())
		case kind == 3:
			add(t.AddByName().Append("name"))
		}
	}
	return all
}

// A copy between two trees has the same result as a copy through a new value, unless one tree is
// part of the other. The trees are in one record or in two.
func TestCopyBetweenParts(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := grow(r, tree{optionals.NewRecord().AddTree(), "a/"}, 3)
		all = append(all, grow(r, tree{optionals.NewTree(), "b/"}, 3)...)
		dst, src := all[r.IntN(len(all))], all[r.IntN(len(all))]
		want := optionals.NewTree()
		want.CopyFrom(src.Tree)
		inside, around := strings.HasPrefix(dst.path, src.path), strings.HasPrefix(src.path, dst.path)
		switch {
		case inside && around:
			counts["itself"]++
		case inside || around:
			counts["nested"]++
			require.PanicsWithValue(t, nested, func() { dst.CopyFrom(src.Tree) }, "seed %d", seed)
			require.True(t, want.Equal(src.Tree), "seed %d", seed)
			continue
		case dst.path[0] == src.path[0]:
			counts["apart"]++
		default:
			counts["other"]++
		}
		dst.CopyFrom(src.Tree)
		require.True(t, want.Equal(dst.Tree), "seed %d: %v instead of %v", seed, dst, want)
		require.True(t, want.Equal(src.Tree), "seed %d: the source is %v, and was %v", seed, src, want)
	}
	for _, kind := range []string{"itself", "nested", "apart", "other"} {
		require.Greater(t, counts[kind], 100, kind)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
)

// tree sets v to a random tree, and returns all trees in it.
func tree(r *rand.Rand, v *optionals.Tree, depth int) (all []*optionals.Tree) {
	add := func(part *optionals.Tree) { all = append(all, tree(r, part, depth-1)...) }
	for range r.IntN(5) {
		v.SetName(fmt.Sprint(r.IntN(1000)))
		switch kind := r.IntN(4); {
		case depth == 0:
		case kind == 0 && !v.HasLeft():
			add(v.AddLeft())
		case kind == 1:
			add(v.AddKids().Append())
		case kind == 2 && !v.HasBranch():
			add(v.AddBranch().SetTree())
		case kind == 3:
			add(v.AddByName().Append("name"))
		}
	}
	return append(all, v)
}

// A struct can be copied to a part of itself, and a part of a struct to the whole struct.
func TestCopyNestedStructs(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		dst := optionals.NewTree()
		all := tree(r, dst, 3)
		src := all[r.IntN(len(all))]
		if seed%2 == 0 {
			dst, src = src, dst
		}
		want := optionals.NewTree()
		want.CopyFrom(src)
		dst.CopyFrom(src)
		require.True(t, want.Equal(dst), "seed %d: %v instead of %v", seed, dst, want)
	}
}

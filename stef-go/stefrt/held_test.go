// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestSizeOf(t *testing.T) {
	type leaf struct {
		Node
		text  string
		bytes []byte
	}
	type tree struct {
		leaf
		leaves []*leaf
		_      [100]uint64
		_      []string
	}
	base := sizeOf(&tree{})
	const word, leafBytes = int(unsafe.Sizeof(uintptr(0))), int(unsafe.Sizeof(leaf{}))
	require.Equal(t, int(unsafe.Sizeof(tree{})), base)
	grown := func(x *tree) int { return sizeOf(x) - base }

	require.Equal(t, 1000, grown(&tree{leaf: leaf{bytes: make([]byte, 0, 1000)}}), "capacity counts")
	require.Equal(t, pieceBytes, grown(&tree{leaf: leaf{text: strings.Clone("short")}}), "a text keeps its piece")
	require.Equal(t, 10_000, grown(&tree{leaf: leaf{text: strings.Repeat("x", 10_000)}}))

	one := &leaf{bytes: make([]byte, 500)}
	hidden := &tree{leaves: []*leaf{one, one}}
	hidden.leaves = hidden.leaves[:0]
	require.Equal(t, 2*word+leafBytes+500, grown(hidden), "what is beyond the length counts, each value once")

	cycle := &tree{leaves: []*leaf{{}}}
	cycle.leaves[0].parent = &cycle.Node
	require.Equal(t, word+leafBytes+int(unsafe.Sizeof(Node{})), grown(cycle))
	require.Zero(t, sizeOf(nil))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package column arranges the columns of a frame in a tree, in the order of the
// schema. The size table and the data of a frame have the pre-order of this tree.
// Its code runs once per frame, not once per record.
//
// A tree is built once per stream: the generated encoders or decoders register their
// columns. Writers and readers walk the tree once per frame.
//
//	payload: | record count | size of the size table | size table | column | column | ...
//
// spec: #column-order
package column

import "strings"

// Tree is the columns of one stream in pre-order. C is the type of the encoder or
// decoder of a column. The zero value is empty.
type Tree[C any] struct {
	nodes []node[C]
	open  []int // the composites being built, outermost first
}

type node[C any] struct {
	codec  C
	name   string
	parent int32  // -1 for the root
	end    int32  // the first node after the subtree
	frame  uint32 // for readers: the last frame with data for the column
}

// Reserve makes room for n columns in an empty tree.
func (t *Tree[C]) Reserve(n int) { t.nodes = make([]node[C], 0, n) }

// Add appends a column without children and returns its number.
func (t *Tree[C]) Add(name string, codec C) int {
	n := len(t.nodes)
	parent := -1
	if len(t.open) > 0 {
		parent = t.open[len(t.open)-1]
	}
	t.nodes = append(t.nodes, node[C]{codec: codec, name: name, parent: int32(parent), end: int32(n + 1)})
	return n
}

// Open appends a column whose children are the columns added until Close.
func (t *Tree[C]) Open(name string, codec C) int {
	n := t.Add(name, codec)
	t.open = append(t.open, n)
	return n
}

// Close ends the list of children of the innermost open column.
func (t *Tree[C]) Close() {
	last := len(t.open) - 1
	t.nodes[t.open[last]].end = int32(len(t.nodes))
	t.open = t.open[:last]
}

// Len returns the number of columns.
func (t *Tree[C]) Len() int { return len(t.nodes) }

// Codec returns the codec of column n.
func (t *Tree[C]) Codec(n int) C { return t.nodes[n].codec }

// Path names column n by the names from the root down, such as
// "Metrics.Point.Exemplars[].Timestamp".
func (t *Tree[C]) Path(n int) string {
	if n < 0 || n >= len(t.nodes) {
		return ""
	}
	var names []string
	for ; n >= 0; n = int(t.nodes[n].parent) {
		names = append([]string{t.nodes[n].name}, names...)
	}
	return strings.ReplaceAll(strings.Join(names, "."), ".[]", "[]")
}

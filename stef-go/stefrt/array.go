// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math/bits"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

// Array is an array of composite values. Elements are allocated in slabs and never move, so the pointer
// that At returns stays valid. If the array shrinks and grows again, At returns the same pointer for the
// new element, which has the initial value.
type Array[T any] struct {
	node  Node
	elems []*T // allocated elements; the first n are the array
	n     int
	sent  int // the length that was last written
	kind  *Elem[T]
}

// Elem has the functions of an element type that arrays call. Functions that only
// values of dictionary structs need are nil for other types.
type Elem[T any] struct {
	Init     func(v *T, parent *Node, bit uint64)
	Clear    func(v *T) // sets the initial value and clears the marks of changes
	Reset    func(v *T) // sets the initial value and marks what changes
	CopyFrom func(v, src *T)
	Equal    func(v, o *T) bool
	MarkAll  func(v *T, c *Check)
	// Extra is the memory that Init allocates, for dictionary structs in the element.
	Extra int

	Clean    func(v *T)
	MarkDiff func(v, held *T)
	Hash     func(v *T, h *codec.Hash)
	Size     func(v *T) int
}

// Init sets the parent of the array, and bit, which marks the array as changed in the parent. For
// generated code.
func (a *Array[T]) Init(kind *Elem[T], parent *Node, bit uint64) {
	a.kind = kind
	a.node.Init(parent, bit)
}

// Len returns the number of elements.
func (a *Array[T]) Len() int { return a.n }

// At returns element i. It panics if i is not below Len.
func (a *Array[T]) At(i int) *T { return a.elems[:a.n][i] }

// SetLen makes the array n long. New elements have the initial value.
func (a *Array[T]) SetLen(n int) {
	if n == a.n {
		return
	}
	NotNegative(n)
	a.node.Mark(1)
	a.reserve(n)
	for i := a.n; i < n; i++ {
		// If the reader has an old value for this element, Reset marks what changes, so that the
		// reader gets the initial value. If not, the reader creates the element with the initial
		// value.
		if i < a.sent {
			a.kind.Reset(a.elems[i])
		} else {
			a.kind.Clear(a.elems[i])
		}
	}
	a.n = n
}

// Append adds an element and returns it.
func (a *Array[T]) Append() *T {
	a.SetLen(a.n + 1)
	return a.elems[a.n-1]
}

// Delete deletes the elements from i up to but not including j.
func (a *Array[T]) Delete(i, j int) {
	_ = a.elems[:a.n][i:j]
	for k, v := range a.elems[j:a.n] {
		a.kind.CopyFrom(a.elems[i+k], v)
	}
	a.SetLen(a.n - (j - i))
}

// RefuseNested panics if one of two arrays is part of the other. For package list.
func (a *Array[T]) RefuseNested(src *Array[T]) { RefuseNested(&a.node, &src.node) }

// CopyFrom makes the array equal to src, which must not be part of it, nor contain it. CopyFrom
// does not check this, because generated code calls it for nested arrays.
func (a *Array[T]) CopyFrom(src *Array[T]) {
	a.SetLen(src.n)
	for i := range src.n {
		a.kind.CopyFrom(a.elems[i], src.elems[i])
	}
}

// Equal reports whether both arrays have equal elements in the same order.
func (a *Array[T]) Equal(o *Array[T]) bool {
	if a.n != o.n {
		return false
	}
	for i := range a.n {
		if !a.kind.Equal(a.elems[i], o.elems[i]) {
			return false
		}
	}
	return true
}

func (a *Array[T]) reserve(n int) {
	if n <= len(a.elems) {
		return
	}
	slab := make([]T, max(n, 2*len(a.elems))-len(a.elems))
	for i := range slab {
		a.kind.Init(&slab[i], &a.node, 1)
		a.elems = append(a.elems, &slab[i])
	}
}

// Reset makes the array empty.
func (a *Array[T]) Reset() { a.SetLen(0) }

// Clear makes the array empty. It also clears the mark that the array was changed, and the length that
// was last written. For generated code.
func (a *Array[T]) Clear() {
	a.n, a.sent, a.node.mask = 0, 0, 0
}

// BeginEncode clears the marks of changes, stores the length as the last written length, and
// returns it. For generated code.
func (a *Array[T]) BeginEncode() int {
	a.node.mask = 0
	a.sent = a.n
	return a.n
}

// BeginDecode makes the array n long. New elements have the initial value. It returns false
// if alloc does not allow the memory. For generated code.
func (a *Array[T]) BeginDecode(n int, alloc *codec.Alloc) bool {
	if again := min(n, len(a.elems)) - a.n; again > 0 && !alloc.TakeEach(again, a.kind.Extra) {
		return false // the Clear of an element below allocates kind.Extra bytes again
	}
	if n > len(a.elems) {
		var t T
		if !alloc.TakeEach(n-len(a.elems), int(unsafe.Sizeof(t)+8)+a.kind.Extra) {
			return false
		}
		a.reserve(n)
	}
	for i := a.n; i < n; i++ {
		a.kind.Clear(a.elems[i])
	}
	a.n = n
	return true
}

// MarkAll marks the array and everything in it as changed. For generated code.
func (a *Array[T]) MarkAll(c *Check) {
	c.Mark(&a.node, 1)
	for _, v := range a.elems[:a.n] {
		a.kind.MarkAll(v, c)
	}
}

// Clean clears all marks of changes in the array. For generated code.
func (a *Array[T]) Clean() {
	a.node.mask = 0
	for _, v := range a.elems[:a.n] {
		a.kind.Clean(v)
	}
}

// MarkDiff marks the elements that differ from those of held as changed, and the array if anything
// differs. It reports whether anything differs. For generated code.
func (a *Array[T]) MarkDiff(held *Array[T]) bool {
	if a.Equal(held) {
		return false
	}
	a.node.mask = 1
	for i, v := range a.elems[:a.n] {
		if i < held.n {
			a.kind.MarkDiff(v, held.elems[i])
		} else {
			a.kind.MarkAll(v, new(Check))
		}
	}
	return true
}

// Hash adds the array to h. For generated code.
func (a *Array[T]) Hash(h *codec.Hash) {
	h.Uint64(uint64(a.n))
	for _, v := range a.elems[:a.n] {
		a.kind.Hash(v, h)
	}
}

// Size returns the memory of the array as a part of a dictionary entry. For
// generated code.
func (a *Array[T]) Size() int {
	size := PairSize * a.n
	for _, v := range a.elems[:a.n] {
		size += a.kind.Size(v)
	}
	return size
}

// OneofWidth returns the number of bits of the choice of a oneof with n choices.
//
// spec: #oneof
func OneofWidth(n int) uint { return uint(bits.Len(uint(n) + 1)) }

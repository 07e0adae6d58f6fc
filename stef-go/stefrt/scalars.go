// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"github.com/otelstef/stef/stef-go/codec"
)

// Scalars is an array of primitive values that == compares: booleans,
// integers, enums and text.
type Scalars[T comparable] struct {
	node Node
	v    []T
}

// Init sets the parent of the array, and bit, which marks the array as changed in the parent. For
// generated code.
func (a *Scalars[T]) Init(parent *Node, bit uint64) { a.node.Init(parent, bit) }

// Len returns the number of elements.
func (a *Scalars[T]) Len() int { return len(a.v) }

// At returns element i. It panics if i is not below Len.
func (a *Scalars[T]) At(i int) T { return a.v[i] }

// Values returns the elements, which belong to the array. They are read-only and
// valid until the next change of the array.
func (a *Scalars[T]) Values() []T { return a.v }

// SetLen makes the array n long. New elements are zero.
func (a *Scalars[T]) SetLen(n int) {
	if old := len(a.v); n != old {
		NotNegative(n)
		a.node.Mark(1)
		a.v = slices.Grow(a.v[:min(n, old)], max(n-old, 0))[:n]
		clear(a.v[min(n, old):])
	}
}

// Set changes element i. It panics if i is not below Len.
func (a *Scalars[T]) Set(i int, v T) {
	if a.v[i] != v {
		a.node.Mark(1)
		a.checkText(v)
		a.v[i] = v
	}
}

// Append adds an element at the end.
func (a *Scalars[T]) Append(v T) {
	a.node.Mark(1)
	a.checkText(v)
	a.v = append(a.v, v)
}

// checkText makes Write check the size of the record if v is long text. The result of the first
// comparison is a constant, so numbers are not converted to an interface.
func (a *Scalars[T]) checkText(v T) {
	if unsafe.Sizeof(v) != unsafe.Sizeof("") {
		return
	}
	if text, ok := any(v).(string); ok && len(text) >= LargeText {
		a.node.SetLarge()
	}
}

// Delete deletes the elements from i up to but not including j.
func (a *Scalars[T]) Delete(i, j int) {
	if _ = a.v[i:j]; i != j {
		a.node.Mark(1)
		a.v = slices.Delete(a.v, i, j)
	}
}

// SetValues makes the array a copy of v.
func (a *Scalars[T]) SetValues(v []T) {
	if !slices.Equal(a.v, v) {
		a.node.Mark(1)
		if texts, ok := any(v).([]string); ok {
			for _, text := range texts {
				if len(text) >= LargeText {
					a.node.SetLarge()
				}
			}
		}
		a.v = append(a.v[:0], v...)
	}
}

// CopyFrom makes the array equal to src.
func (a *Scalars[T]) CopyFrom(src *Scalars[T]) { a.SetValues(src.v) }

// Equal reports whether both arrays have the same elements.
func (a *Scalars[T]) Equal(o *Scalars[T]) bool { return slices.Equal(a.v, o.v) }

// Reset makes the array empty.
func (a *Scalars[T]) Reset() { a.SetLen(0) }

// Clear makes the array empty, and clears the mark that the array was changed. For generated code.
func (a *Scalars[T]) Clear() { a.v, a.node.mask = a.v[:0], 0 }

// Encoding clears the mark that the array was changed, and returns the elements. For generated code.
func (a *Scalars[T]) Encoding() []T {
	a.node.mask = 0
	return a.v
}

// Decoded replaces the elements by v, which then belongs to the array. For generated
// code.
func (a *Scalars[T]) Decoded(v []T) { a.v = v }

// MarkAll marks the array as changed. For generated code.
func (a *Scalars[T]) MarkAll(c *Check) {
	c.Mark(&a.node, 1)
	if texts, ok := any(a.v).([]string); ok {
		for _, v := range texts {
			c.Text += len(v)
		}
	}
}

// Clean clears the mark that the array was changed. For generated code.
func (a *Scalars[T]) Clean() { a.node.mask = 0 }

// MarkDiff marks the array as changed if it differs from held, and reports whether it differs. For
// generated code.
func (a *Scalars[T]) MarkDiff(held *Scalars[T]) bool { return a.node.markIf(!a.Equal(held)) }

// Hash adds the array to h. For generated code.
func (a *Scalars[T]) Hash(h *codec.Hash) {
	h.Uint64(uint64(len(a.v)))
	for _, v := range a.v {
		switch v := any(v).(type) {
		case bool:
			h.Bool(v)
		case string:
			h.String(v)
		case uint64:
			h.Uint64(v)
		case int64:
			h.Uint64(uint64(v))
		}
	}
}

// Size returns the memory of the array as a part of a dictionary entry. For
// generated code.
func (a *Scalars[T]) Size() int { return 16 * len(a.v) }

func (n *Node) markIf(differs bool) bool {
	if differs {
		n.mask = 1
	}
	return differs
}

// Float64s is an array of floats, which it compares bit by bit: -0 differs from +0,
// and NaNs with different bits differ.
type Float64s struct {
	node Node
	v    []float64
}

// Init sets the parent of the array, and bit, which marks the array as changed in the parent. For
// generated code.
func (a *Float64s) Init(parent *Node, bit uint64) { a.node.Init(parent, bit) }

// Len returns the number of elements.
func (a *Float64s) Len() int { return len(a.v) }

// At returns element i. It panics if i is not below Len.
func (a *Float64s) At(i int) float64 { return a.v[i] }

// Values returns the elements, which belong to the array. They are read-only and
// valid until the next change of the array.
func (a *Float64s) Values() []float64 { return a.v }

// SetLen makes the array n long. New elements are zero.
func (a *Float64s) SetLen(n int) {
	if old := len(a.v); n != old {
		NotNegative(n)
		a.node.Mark(1)
		a.v = slices.Grow(a.v[:min(n, old)], max(n-old, 0))[:n]
		clear(a.v[min(n, old):])
	}
}

// Set changes element i. It panics if i is not below Len.
func (a *Float64s) Set(i int, v float64) {
	if !SameFloat(a.v[i], v) {
		a.node.Mark(1)
		a.v[i] = v
	}
}

// Append adds an element at the end.
func (a *Float64s) Append(v float64) {
	a.node.Mark(1)
	a.v = append(a.v, v)
}

// Delete deletes the elements from i up to but not including j.
func (a *Float64s) Delete(i, j int) {
	if _ = a.v[i:j]; i != j {
		a.node.Mark(1)
		a.v = slices.Delete(a.v, i, j)
	}
}

// SetValues makes the array a copy of v.
func (a *Float64s) SetValues(v []float64) {
	if !slices.EqualFunc(a.v, v, SameFloat) {
		a.node.Mark(1)
		a.v = append(a.v[:0], v...)
	}
}

// CopyFrom makes the array equal to src.
func (a *Float64s) CopyFrom(src *Float64s) { a.SetValues(src.v) }

// Equal reports whether both arrays have the same elements.
func (a *Float64s) Equal(o *Float64s) bool { return slices.EqualFunc(a.v, o.v, SameFloat) }

// Reset makes the array empty.
func (a *Float64s) Reset() { a.SetLen(0) }

// Clear makes the array empty, and clears the mark that the array was changed. For generated code.
func (a *Float64s) Clear() { a.v, a.node.mask = a.v[:0], 0 }

// Encoding clears the mark that the array was changed, and returns the elements. For generated code.
func (a *Float64s) Encoding() []float64 {
	a.node.mask = 0
	return a.v
}

// Decoded replaces the elements by v, which then belongs to the array. For generated
// code.
func (a *Float64s) Decoded(v []float64) { a.v = v }

// MarkAll marks the array as changed. For generated code.
func (a *Float64s) MarkAll(c *Check) { c.Mark(&a.node, 1) }

// Clean clears the mark that the array was changed. For generated code.
func (a *Float64s) Clean() { a.node.mask = 0 }

// MarkDiff marks the array as changed if it differs from held, and reports whether it differs. For
// generated code.
func (a *Float64s) MarkDiff(held *Float64s) bool { return a.node.markIf(!a.Equal(held)) }

// Hash adds the array to h. For generated code.
func (a *Float64s) Hash(h *codec.Hash) {
	h.Uint64(uint64(len(a.v)))
	for _, v := range a.v {
		h.Uint64(math.Float64bits(v))
	}
}

// Size returns the memory of the array as a part of a dictionary entry. For
// generated code.
func (a *Float64s) Size() int { return 8 * len(a.v) }

// IfPresent returns v, or the zero value if bits is 0.
func IfPresent[T any](bits uint64, v T) (value T) {
	if bits != 0 {
		value = v
	}
	return value
}

// SameFloat says whether two floats have the same bits.
func SameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// ByteRuns is an array of bytes values. It copies the values that it receives.
type ByteRuns struct {
	node Node
	v    [][]byte
}

// Init sets the parent of the array, and bit, which marks the array as changed in the parent. For
// generated code.
func (a *ByteRuns) Init(parent *Node, bit uint64) { a.node.Init(parent, bit) }

// Len returns the number of elements.
func (a *ByteRuns) Len() int { return len(a.v) }

// At returns element i, which belongs to the array. It panics if i is not
// below Len.
func (a *ByteRuns) At(i int) []byte { return a.v[i] }

// SetLen makes the array n long. New elements are empty.
func (a *ByteRuns) SetLen(n int) {
	if old := len(a.v); n != old {
		NotNegative(n)
		a.node.Mark(1)
		a.v = slices.Grow(a.v[:min(n, old)], max(n-old, 0))[:n]
		for i := old; i < n; i++ {
			a.v[i] = a.v[i][:0]
		}
	}
}

// Set changes element i to a copy of v. It panics if i is not below Len.
func (a *ByteRuns) Set(i int, v []byte) {
	if !bytes.Equal(a.v[i], v) {
		a.node.Mark(1)
		if len(v) >= LargeText {
			a.node.SetLarge()
		}
		a.v[i] = append(a.v[i][:0], v...)
	}
}

// Append adds a copy of v at the end.
func (a *ByteRuns) Append(v []byte) {
	a.SetLen(len(a.v) + 1)
	a.Set(len(a.v)-1, v)
}

// Delete deletes the elements from i up to but not including j.
func (a *ByteRuns) Delete(i, j int) {
	_ = a.v[i:j]
	for k, v := range a.v[j:] {
		a.Set(i+k, v)
	}
	a.SetLen(len(a.v) - (j - i))
}

// CopyFrom makes the array equal to src.
func (a *ByteRuns) CopyFrom(src *ByteRuns) {
	a.SetLen(len(src.v))
	for i, v := range src.v {
		a.Set(i, v)
	}
}

// Equal reports whether both arrays have the same elements.
func (a *ByteRuns) Equal(o *ByteRuns) bool { return slices.EqualFunc(a.v, o.v, bytes.Equal) }

// Reset makes the array empty.
func (a *ByteRuns) Reset() { a.SetLen(0) }

// Clear makes the array empty, and clears the mark that the array was changed. For generated code.
func (a *ByteRuns) Clear() { a.v, a.node.mask = a.v[:0], 0 }

// Encoding clears the mark that the array was changed, and returns the elements. For generated code.
func (a *ByteRuns) Encoding() [][]byte {
	a.node.mask = 0
	return a.v
}

// Decoding returns the elements for a decoder to overwrite. For generated code.
func (a *ByteRuns) Decoding() [][]byte { return a.v }

// Decoded replaces the elements by v, which then belongs to the array. For generated
// code.
func (a *ByteRuns) Decoded(v [][]byte) { a.v = v }

// MarkAll marks the array as changed. For generated code.
func (a *ByteRuns) MarkAll(c *Check) {
	c.Mark(&a.node, 1)
	for _, v := range a.v {
		c.Text += len(v)
	}
}

// Clean clears the mark that the array was changed. For generated code.
func (a *ByteRuns) Clean() { a.node.mask = 0 }

// MarkDiff marks the array as changed if it differs from held, and reports whether it differs. For
// generated code.
func (a *ByteRuns) MarkDiff(held *ByteRuns) bool { return a.node.markIf(!a.Equal(held)) }

// Hash adds the array to h. For generated code.
func (a *ByteRuns) Hash(h *codec.Hash) {
	h.Uint64(uint64(len(a.v)))
	for _, v := range a.v {
		h.Bytes(v)
	}
}

// Size returns the memory of the array as a part of a dictionary entry. For
// generated code.
func (a *ByteRuns) Size() int {
	size := 0
	for _, v := range a.v {
		size += 24 + len(v)
	}
	return size
}

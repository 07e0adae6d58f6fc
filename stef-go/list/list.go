// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// Of is an array of structs, oneofs or multimaps. A pointer to element i stays valid: after
// Delete it points to the new element i. An element is reset when the array shrinks below it
// and grows again.
type Of[T any] stefrt.Array[T]

func (a *Of[T]) array() *stefrt.Array[T] { return (*stefrt.Array[T])(a) }

// Len returns the number of elements. A nil array has none.
func (a *Of[T]) Len() int {
	if a == nil {
		return 0
	}
	return a.array().Len()
}

// At returns element i, to read or to change it.
func (a *Of[T]) At(i int) *T { return a.array().At(i) }

// All returns an iterator over the indexes and elements.
func (a *Of[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range a.Len() {
			if !yield(i, a.At(i)) {
				return
			}
		}
	}
}

// SetLen makes the array n long. New elements have the initial value.
func (a *Of[T]) SetLen(n int) { a.array().SetLen(n) }

// Append makes the array one longer and returns the new element. Elements of the previous
// record remain: call Reset before the first Append for a record.
func (a *Of[T]) Append() *T { return a.array().Append() }

// Delete deletes the elements from i up to but not including j. The elements after them are
// copied to the indexes from i on.
func (a *Of[T]) Delete(i, j int) { a.array().Delete(i, j) }

// CopyFrom makes the array equal to src. It does not copy shared values in the elements: both
// arrays refer to them. Call Unshare of each element, if it has that method, before a goroutine
// with another writer gets the array. CopyFrom panics if one of the arrays is part of the other: copy
// the value that contains src to a new value first.
func (a *Of[T]) CopyFrom(src *Of[T]) {
	a.array().RefuseNested(src.array())
	a.array().CopyFrom(src.array())
}

// Equal reports whether both arrays have equal elements in the same order.
func (a *Of[T]) Equal(o *Of[T]) bool { return a.array().Equal(o.array()) }

// Reset makes the array empty.
func (a *Of[T]) Reset() { a.array().Reset() }

// String returns the array as JSON for human readers.
func (a *Of[T]) String() string {
	out := []byte{'['}
	for i, v := range a.All() {
		if i > 0 {
			out = append(out, ',')
		}
		text, _ := json.Marshal(v) // MarshalJSON of generated types returns no errors
		out = append(out, text...)
	}
	return string(append(out, ']'))
}

// Values is an array of booleans, integers, enums or text.
type Values[T comparable] stefrt.Scalars[T]

func (a *Values[T]) array() *stefrt.Scalars[T] { return (*stefrt.Scalars[T])(a) }

// Len returns the number of elements. A nil array has none.
func (a *Values[T]) Len() int {
	if a == nil {
		return 0
	}
	return a.array().Len()
}

// At returns element i.
func (a *Values[T]) At(i int) T { return a.array().At(i) }

// All returns an iterator over the indexes and elements.
func (a *Values[T]) All() iter.Seq2[int, T] { return slices.All(a.Values()) }

// Values returns the elements, which belong to the array. They are read-only and
// valid until the next change of the array.
func (a *Values[T]) Values() []T {
	if a == nil {
		return nil
	}
	return a.array().Values()
}

// SetLen makes the array n long. New elements are zero.
func (a *Values[T]) SetLen(n int) { a.array().SetLen(n) }

// Set changes element i.
func (a *Values[T]) Set(i int, v T) { a.array().Set(i, v) }

// Append adds an element at the end. Elements of the previous record remain: call
// Reset before the first Append for a record.
func (a *Values[T]) Append(v T) { a.array().Append(v) }

// Delete deletes the elements from i up to but not including j.
func (a *Values[T]) Delete(i, j int) { a.array().Delete(i, j) }

// SetValues makes the array a copy of v.
func (a *Values[T]) SetValues(v []T) { a.array().SetValues(v) }

// CopyFrom makes the array equal to src.
func (a *Values[T]) CopyFrom(src *Values[T]) { a.array().CopyFrom(src.array()) }

// Equal reports whether both arrays have the same elements.
func (a *Values[T]) Equal(o *Values[T]) bool { return a.array().Equal(o.array()) }

// Reset makes the array empty.
func (a *Values[T]) Reset() { a.array().Reset() }

// String returns the array as JSON for human readers.
func (a *Values[T]) String() string { return textOf(a.Values()) }

// Floats is an array of floats. It compares them bit by bit: -0 differs from +0, and
// NaNs with different bits differ.
type Floats stefrt.Float64s

func (a *Floats) array() *stefrt.Float64s { return (*stefrt.Float64s)(a) }

// Len returns the number of elements. A nil array has none.
func (a *Floats) Len() int {
	if a == nil {
		return 0
	}
	return a.array().Len()
}

// At returns element i.
func (a *Floats) At(i int) float64 { return a.array().At(i) }

// All returns an iterator over the indexes and elements.
func (a *Floats) All() iter.Seq2[int, float64] { return slices.All(a.Values()) }

// Values returns the elements, which belong to the array. They are read-only and
// valid until the next change of the array.
func (a *Floats) Values() []float64 {
	if a == nil {
		return nil
	}
	return a.array().Values()
}

// SetLen makes the array n long. New elements are zero.
func (a *Floats) SetLen(n int) { a.array().SetLen(n) }

// Set changes element i.
func (a *Floats) Set(i int, v float64) { a.array().Set(i, v) }

// Append adds an element at the end. Elements of the previous record remain: call
// Reset before the first Append for a record.
func (a *Floats) Append(v float64) { a.array().Append(v) }

// Delete deletes the elements from i up to but not including j.
func (a *Floats) Delete(i, j int) { a.array().Delete(i, j) }

// SetValues makes the array a copy of v.
func (a *Floats) SetValues(v []float64) { a.array().SetValues(v) }

// CopyFrom makes the array equal to src.
func (a *Floats) CopyFrom(src *Floats) { a.array().CopyFrom(src.array()) }

// Equal reports whether both arrays have the same elements.
func (a *Floats) Equal(o *Floats) bool { return a.array().Equal(o.array()) }

// Reset makes the array empty.
func (a *Floats) Reset() { a.array().Reset() }

// String returns the array as JSON for human readers.
func (a *Floats) String() string { return textOf(a.Values()) }

// Bytes is an array of bytes values. It copies the values that it receives.
type Bytes stefrt.ByteRuns

func (a *Bytes) array() *stefrt.ByteRuns { return (*stefrt.ByteRuns)(a) }

// Len returns the number of elements. A nil array has none.
func (a *Bytes) Len() int {
	if a == nil {
		return 0
	}
	return a.array().Len()
}

// At returns element i, which belongs to the array. It is read-only and valid until
// the next change of the array.
func (a *Bytes) At(i int) []byte { return a.array().At(i) }

// All returns an iterator over the indexes and elements.
func (a *Bytes) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range a.Len() {
			if !yield(i, a.At(i)) {
				return
			}
		}
	}
}

// SetLen makes the array n long. New elements are empty.
func (a *Bytes) SetLen(n int) { a.array().SetLen(n) }

// Set changes element i to a copy of v.
func (a *Bytes) Set(i int, v []byte) { a.array().Set(i, v) }

// Append adds a copy of v at the end. Elements of the previous record remain: call
// Reset before the first Append for a record.
func (a *Bytes) Append(v []byte) { a.array().Append(v) }

// Delete deletes the elements from i up to but not including j.
func (a *Bytes) Delete(i, j int) { a.array().Delete(i, j) }

// CopyFrom makes the array equal to src.
func (a *Bytes) CopyFrom(src *Bytes) { a.array().CopyFrom(src.array()) }

// Equal reports whether both arrays have the same elements.
func (a *Bytes) Equal(o *Bytes) bool { return a.array().Equal(o.array()) }

// Reset makes the array empty.
func (a *Bytes) Reset() { a.array().Reset() }

// String returns the array as JSON for human readers, with the elements as base64.
func (a *Bytes) String() string {
	elements := make([][]byte, 0, a.Len())
	for _, v := range a.All() {
		elements = append(elements, v)
	}
	return textOf(elements)
}

func textOf(values any) string { return stefrt.StringOf(func(j *stefrt.JSON) { j.Any(values) }) }

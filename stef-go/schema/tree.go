// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "strings"

// MaxColumns is the maximum number of columns that package idl allows for all roots
// of a file together. The tree repeats a type at each place that uses it, so a short
// schema can require a tree that does not fit in memory.
const MaxColumns = 1 << 16

// Stream is the kind of data in a column.
type Stream uint8

// The kinds of streams.
const (
	// BitStream columns are filled bit by bit, most significant bit first.
	BitStream Stream = iota
	// ByteStream columns hold varints and raw bytes.
	ByteStream
)

// String returns "bits" or "bytes".
func (s Stream) String() string {
	if s == BitStream {
		return "bits"
	}
	return "bytes"
}

// Column is one position in the column tree of a root. Almost every position has its
// own column in a data frame. The exception is a composite type inside itself: the
// nesting is unlimited, so the inner position uses the column of the outer position
// (see Shared).
type Column struct {
	// Index is the position of the column in a data frame, from 0. A position that
	// shares a column has the Index of that column.
	Index int
	// Name is the last element of the path: the name of the root or field,
	// "key" or "value" in a multimap, "[]" in an array.
	Name   string
	Type   *Type
	Stream Stream
	// Parent is nil for the root.
	Parent *Column
	// Children are the kept fields of a struct or oneof, the element of an array, or
	// the key and the value of a multimap. A position that shares a column has no
	// children; use the children of Shared.
	Children []*Column
	// Shared is the enclosing column of the same type, whose column this position
	// uses. It is nil if the position has a column of its own. A Column with Shared set
	// is only in the Children of its parent.
	Shared *Column
	// Field is the field of the struct or the choice of the oneof at this
	// position, or nil for the root, elements, keys and values.
	Field *Field
}

// Columns returns the columns of root in the order of a data frame. Fields that are not
// kept have no column; a nil kept keeps all fields.
//
// The tree of a schema from package idl has at most MaxColumns columns.
//
// spec: #column-order
func Columns(root *Struct, kept Kept) []*Column {
	b := columnBuilder{kept: kept, open: map[string]*Column{}}
	b.add(nil, root.Name, rootType(root), nil)
	return b.columns
}

// CountColumns returns the number of columns of root, at most limit. Its time is
// proportional to the result. A limit of 0 or less means no limit.
func CountColumns(root *Struct, kept Kept, limit int) int {
	b := columnBuilder{kept: kept, open: map[string]*Column{}, limit: limit}
	b.add(nil, root.Name, rootType(root), nil)
	return len(b.columns)
}

// Path returns the names from the root to c, such as
// "Metrics.Resource.Attributes.value.String" or
// "Metrics.Point.Exemplars[].Timestamp".
func (c *Column) Path() string {
	var names []string
	for ; c != nil; c = c.Parent {
		names = append(names, c.Name)
	}
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		if b.Len() > 0 && names[i] != elementName {
			b.WriteByte('.')
		}
		b.WriteString(names[i])
	}
	return b.String()
}

const elementName = "[]"

// columnBuilder builds the tree from the root down.
type columnBuilder struct {
	kept Kept
	// open holds the composite types whose columns are being built, by name: the
	// path from the root. It detects recursion: a type inside itself shares columns. Two
	// uses of a type that are not nested have independent sets of columns.
	open    map[string]*Column
	columns []*Column
	// limit, if not 0, stops the build at that number of columns.
	limit int
}

func (b *columnBuilder) add(parent *Column, name string, t *Type, f *Field) *Column {
	if b.limit > 0 && len(b.columns) >= b.limit {
		return nil
	}
	c := &Column{Index: len(b.columns), Name: name, Type: t, Stream: t.Kind.stream(), Parent: parent, Field: f}
	key := recursionKey(t)
	if outer := b.open[key]; outer != nil {
		c.Shared, c.Index = outer, outer.Index
		return c
	}
	b.columns = append(b.columns, c)
	if key == "" {
		b.addChildren(c)
		return c
	}
	b.open[key] = c
	b.addChildren(c)
	delete(b.open, key)
	return c
}

func (b *columnBuilder) addChildren(c *Column) {
	t := c.Type
	switch t.Kind {
	case KindStruct, KindOneof:
		for _, f := range t.Struct.Fields[:b.kept.Of(t.Struct)] {
			b.addChild(c, f.Name, &f.Type, f)
		}
	case KindArray:
		b.addChild(c, elementName, t.Elem, nil)
	case KindMultimap:
		b.addChild(c, "key", &t.Multimap.Key, nil)
		b.addChild(c, "value", &t.Multimap.Value, nil)
	}
}

func (b *columnBuilder) addChild(parent *Column, name string, t *Type, f *Field) {
	if child := b.add(parent, name, t, f); child != nil {
		parent.Children = append(parent.Children, child)
	}
}

// recursionKey identifies the type of a position for the detection of recursion: the
// name of a struct, oneof or multimap, or the element type of an array. It is "" for
// types that are never recursive.
func recursionKey(t *Type) string {
	switch t.Kind {
	case KindStruct, KindOneof, KindMultimap:
		return t.Name
	case KindArray:
		if elem := recursionKey(t.Elem); elem != "" {
			return elementName + elem
		}
	}
	return ""
}

// stream returns the kind of column that stores values of kind k.
func (k Kind) stream() Stream {
	switch k {
	case KindStruct, KindOneof, KindArray, KindBool, KindFloat64:
		return BitStream
	}
	return ByteStream
}

func rootType(root *Struct) *Type {
	return &Type{Kind: KindStruct, Name: root.Name, Struct: root}
}

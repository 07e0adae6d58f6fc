// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/otelstef/stef/stef-go/schema"
)

// maxColumns bounds the column tree. Each use of a type has its own columns, so a
// short schema can need any number of columns.
const maxColumns = 1 << 16

// The maximum number of fields of a struct (its masks have 64 bits), and the maximum
// number of choices of a oneof.
//
// spec: #limits
const (
	maxFields  = 64
	maxChoices = 255
)

// column is one node of the column tree: a place in the schema, with its bits or bytes in the current
// frame and the state of its codec.
type column struct {
	path   string
	number int // index in columns.all
	typ    *schema.Type
	// dict names the dictionary of a string, bytes or struct column.
	dict string
	// owned has the columns directly below this column, in the order of a frame. A frame omits all of
	// them if this column is empty.
	owned []*column
	// links has one column for each kept field of a struct or choice of a oneof, one
	// for the element of an array, and two for the key and the value of a multimap. In
	// a recursive type, a link can refer to an enclosing column.
	links []*column
	// optional counts the optional fields among the kept fields.
	optional int
	// recursive marks a composite type that can contain itself.
	recursive bool
	// initial is the value before the first record. Records share it, so it is never modified.
	initial any

	// State of the codec of a number, which continues from frame to frame.
	delta deltaState
	xor   xorState

	// The data of the column in the current frame: bitIn or bitOut if isBits is true, otherwise byteIn or
	// byteOut.
	bitIn   bitReader
	byteIn  byteReader
	bitOut  bitWriter
	byteOut []byte
}

// isBits reports whether the column consists of bits, not of bytes.
//
// spec: #data-frame
func (c *column) isBits() bool {
	switch c.typ.Kind {
	case schema.KindStruct, schema.KindOneof, schema.KindArray, schema.KindBool, schema.KindFloat64:
		return true
	}
	return false
}

type columns struct {
	root *column
	// all has all columns of the tree, in the order of a frame.
	all []*column
	// recursive has the identities of the types that can contain themselves.
	recursive map[any]bool
	trace     *tracer
}

// restart resets the state of the codecs.
//
// spec: #restart
func (t *columns) restart() {
	for _, c := range t.all {
		c.delta, c.xor = deltaState{}, xorState{}
	}
}

// newColumns builds the column tree of root, a struct that checkSchema accepted. A nil
// kept keeps all fields.
//
// spec: #column-order
func newColumns(root *schema.Struct, kept schema.Kept) (*columns, error) {
	b := &columnBuilder{kept: kept, path: map[any]*column{}, initial: map[*schema.Struct]*Struct{}, recursive: map[any]bool{}}
	t := &schema.Type{Kind: schema.KindStruct, Name: root.Name, Struct: root}
	c, err := b.column(t, root.Name)
	if err != nil {
		return nil, err
	}
	return &columns{root: c, all: b.all, recursive: b.recursive}, nil
}

type columnBuilder struct {
	kept schema.Kept
	all  []*column
	// path has the columns of the composite types that are being built, by the
	// identities of the types.
	path map[any]*column
	// open has the columns of path, from the root down.
	open      []*column
	initial   map[*schema.Struct]*Struct
	recursive map[any]bool
}

// arrayOf is the identity of an array type in columnBuilder.path.
type arrayOf struct{ elem any }

// identity returns a key that is equal for equal composite types. The key of an array
// contains the key of its elements; the key of any other type is its definition. The key is
// nil for primitives and for arrays of primitives, which are never recursive.
func identity(t *schema.Type) any {
	switch t.Kind {
	case schema.KindStruct, schema.KindOneof:
		return t.Struct
	case schema.KindMultimap:
		return t.Multimap
	case schema.KindArray:
		if elem := identity(t.Elem); elem != nil {
			return arrayOf{elem}
		}
	}
	return nil
}

func (b *columnBuilder) column(t *schema.Type, path string) (*column, error) {
	id := identity(t)
	if id != nil && b.path[id] != nil {
		b.close(b.path[id])
		return b.path[id], nil
	}
	if len(b.all) == maxColumns {
		return nil, fault(ErrLimit, "the schema has more than %d columns", maxColumns)
	}
	c := &column{path: path, number: len(b.all), typ: t, initial: b.initialOf(t)}
	b.all = append(b.all, c)
	if id != nil {
		b.path[id] = c
		b.open = append(b.open, c)
		defer func() {
			delete(b.path, id)
			b.open = b.open[:len(b.open)-1]
		}()
	}
	var err error
	switch t.Kind {
	case schema.KindString, schema.KindBytes:
		c.dict = t.Dict
	case schema.KindStruct, schema.KindOneof:
		err = b.fields(c, t.Struct)
	case schema.KindArray:
		err = b.link(c, t.Elem, "[]")
	case schema.KindMultimap:
		if err = b.link(c, &t.Multimap.Key, ".key"); err == nil {
			err = b.link(c, &t.Multimap.Value, ".value")
		}
	}
	return c, err
}

// close marks a cycle of types as recursive: the types of the open columns from c down to the innermost
// one.
func (b *columnBuilder) close(c *column) {
	for i := len(b.open) - 1; ; i-- {
		b.open[i].recursive = true
		b.recursive[identity(b.open[i].typ)] = true
		if b.open[i] == c {
			return
		}
	}
}

func (b *columnBuilder) fields(c *column, s *schema.Struct) error {
	if !s.Oneof {
		c.dict = s.Dict
	}
	for _, f := range s.Fields[:b.kept.Of(s)] {
		if f.Optional && !s.Oneof {
			c.optional++
		}
		if err := b.link(c, &f.Type, "."+f.Name); err != nil {
			return err
		}
	}
	return nil
}

// link adds the column of t to the links of c. If this column is new, link also adds it to c.owned.
func (b *columnBuilder) link(c *column, t *schema.Type, name string) error {
	before := len(b.all)
	below, err := b.column(t, c.path+name)
	if err != nil {
		return err
	}
	c.links = append(c.links, below)
	if len(b.all) > before {
		c.owned = append(c.owned, below)
	}
	return nil
}

// initialOf returns the initial value of t. All uses of a struct type share one initial value, because
// values are never modified.
func (b *columnBuilder) initialOf(t *schema.Type) any {
	if t.Kind != schema.KindStruct {
		return NewValue(t)
	}
	v := b.initial[t.Struct]
	if v == nil {
		v = &Struct{Fields: make([]any, len(t.Struct.Fields)), Present: make([]bool, len(t.Struct.Fields))}
		for i, f := range t.Struct.Fields {
			if f.Optional && f.Type.Kind.Composite() {
				continue
			}
			v.Fields[i] = b.initialOf(&f.Type)
			v.Present[i] = !f.Optional
		}
		v.measure(t.Struct)
		b.initial[t.Struct] = v
	}
	return v
}

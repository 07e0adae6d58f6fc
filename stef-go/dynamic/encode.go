// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"encoding/binary"
	"slices"
)

// maxChangedPairs is the maximum number of pairs of a multimap whose changed values can
// be sent without the keys.
//
// spec: #multimap
const maxChangedPairs = 62

// encoder encodes records into the columns of successive frames. It compares each record with the
// previous record. Values must be the output of a normalizer. They then have the types of the schema, and
// initial values in place of everything that is not sent.
type encoder struct {
	dicts writeDicts
	// frameBits is the size of the frame in bits, for the comparison with the frame limit. It is larger
	// than the real size if values of recursive types are nested: each enclosing array or multimap adds
	// the growth of the shared column again.
	frameBits int
}

// encode encodes v relative to held, the value that the reader has at the same place.
// If held is nil, that value is unknown, so everything is sent.
func (e *encoder) encode(c *column, held, v any) error {
	switch v := v.(type) {
	case *Struct:
		held, _ := held.(*Struct)
		return inColumn(c, e.structure(c, held, v))
	case *Oneof:
		held, _ := held.(*Oneof)
		return inColumn(c, e.oneof(c, held, v))
	case *Multimap:
		held, _ := held.(*Multimap)
		return inColumn(c, e.multimap(c, held, v))
	case *Array:
		held, _ := held.(*Array)
		return inColumn(c, e.array(c, held, v))
	}
	bits, bytes := c.bitOut.n, len(c.byteOut)
	e.primitive(c, v)
	e.frameBits += c.bitOut.n - bits + 8*(len(c.byteOut)-bytes)
	return nil
}

func (e *encoder) primitive(c *column, v any) {
	switch v := v.(type) {
	case bool:
		c.bitOut.bit(v)
	case int64:
		c.byteOut = c.delta.encode(c.byteOut, uint64(v))
	case uint64:
		c.byteOut = c.delta.encode(c.byteOut, v)
	case float64:
		c.xor.encode(&c.bitOut, v)
	case string:
		e.text(c, v)
	case []byte:
		e.text(c, string(v))
	}
}

// text encodes a string or bytes value.
//
// spec: #string #string-dict
func (e *encoder) text(c *column, s string) {
	if c.dict != "" {
		if ref, ok := e.dicts.texts[c.dict][s]; ok {
			c.byteOut = appendVarint(c.byteOut, int64(-ref-1))
			return
		}
		if len(s) >= minDictText {
			e.dicts.add(e.dicts.texts, c.dict, s, entryText+len(s))
		}
	}
	c.byteOut = append(appendVarint(c.byteOut, int64(len(s))), s...)
}

// structure encodes a struct.
//
// spec: #struct #struct-dict
func (e *encoder) structure(c *column, held, v *Struct) error {
	start := c.bitOut.n
	if c.dict != "" {
		ref, known := e.dicts.structs[c.dict][structKey(v)]
		c.bitOut.bit(!known)
		if known {
			err := c.bitOut.compact(uint64(ref) + 1)
			e.frameBits += c.bitOut.n - start
			return err
		}
	}
	modified, presence := masks(c, held, v)
	c.bitOut.bits(modified, len(c.links))
	c.bitOut.bits(presence, c.optional)
	e.frameBits += c.bitOut.n - start

	for i, below := range c.links {
		if modified>>i&1 == 0 || !v.Present[i] {
			continue
		}
		if err := e.encode(below, heldField(below, held, i), v.Fields[i]); err != nil {
			return err
		}
	}
	if c.dict != "" {
		// As in the decoder, the entry is added when the struct is complete.
		e.dicts.add(e.dicts.structs, c.dict, structKey(v), entryStruct+v.entry)
	}
	return nil
}

// masks returns the modified and the presence mask of v. A field is also modified if
// only its presence changes.
func masks(c *column, held, v *Struct) (modified, presence uint64) {
	optional := 0
	for i := range c.links {
		switch {
		case held == nil, held.Present[i] != v.Present[i]:
			modified |= 1 << i
		case v.Present[i] && !Equal(held.Fields[i], v.Fields[i]):
			modified |= 1 << i
		}
		if c.typ.Struct.Fields[i].Optional {
			if v.Present[i] {
				presence |= 1 << optional
			}
			optional++
		}
	}
	return modified, presence
}

// heldField returns the value that a reader has for field i before this record, to which the new value is
// compared. It is the initial value if the field was absent, or nil if there is no previous struct.
func heldField(below *column, held *Struct, i int) any {
	if held == nil {
		return nil
	}
	if !held.Present[i] {
		return below.initial
	}
	return held.Fields[i]
}

// oneof encodes a oneof.
//
// spec: #oneof
func (e *encoder) oneof(c *column, held, v *Oneof) error {
	width := choiceBits(c)
	c.bitOut.bits(uint64(v.Choice), width)
	e.frameBits += width
	if v.Choice == 0 {
		return nil
	}
	below := c.links[v.Choice-1]
	base := below.initial
	switch {
	case held == nil:
		base = nil
	case held.Choice == v.Choice:
		base = held.Value
	}
	return e.encode(below, base, v.Value)
}

// array encodes an array.
//
// spec: #array
func (e *encoder) array(c *column, held, v *Array) error {
	start := c.bitOut.n
	if err := c.bitOut.compact(uint64(len(v.Elems))); err != nil {
		return err
	}
	for i, elem := range v.Elems {
		base := c.links[0].initial
		switch {
		case held == nil:
			base = nil
		case i < len(held.Elems):
			base = held.Elems[i]
		}
		if err := e.encode(c.links[0], base, elem); err != nil {
			return err
		}
	}
	e.frameBits += c.bitOut.n - start
	return nil
}

// multimap encodes a multimap. If possible it sends only the changed values, without
// keys.
//
// spec: #multimap
func (e *encoder) multimap(c *column, held, v *Multimap) error {
	start := len(c.byteOut)
	var err error
	if held != nil && len(v.Pairs) > 0 && len(v.Pairs) <= maxChangedPairs && equalKeys(held, v) {
		err = e.multimapValues(c, held, v)
	} else {
		err = e.multimapFull(c, held, v)
	}
	e.frameBits += 8 * (len(c.byteOut) - start)
	return err
}

func (e *encoder) multimapValues(c *column, held, v *Multimap) error {
	var changed uint64
	for i, p := range v.Pairs {
		if !Equal(held.Pairs[i].Value, p.Value) {
			changed |= 1 << i
		}
	}
	c.byteOut = binary.AppendUvarint(c.byteOut, changed<<1)
	for i, p := range v.Pairs {
		if changed>>i&1 == 0 {
			continue
		}
		if err := e.encode(c.links[1], held.Pairs[i].Value, p.Value); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) multimapFull(c *column, held, v *Multimap) error {
	c.byteOut = binary.AppendUvarint(c.byteOut, uint64(len(v.Pairs))<<1|1)
	for i, p := range v.Pairs {
		base := Pair{c.links[0].initial, c.links[1].initial}
		switch {
		case held == nil:
			base = Pair{}
		case i < len(held.Pairs):
			base = held.Pairs[i]
		}
		if err := e.encode(c.links[0], base.Key, p.Key); err != nil {
			return err
		}
		if err := e.encode(c.links[1], base.Value, p.Value); err != nil {
			return err
		}
	}
	return nil
}

func equalKeys(a, b *Multimap) bool {
	return slices.EqualFunc(a.Pairs, b.Pairs, func(x, y Pair) bool { return Equal(x.Key, y.Key) })
}

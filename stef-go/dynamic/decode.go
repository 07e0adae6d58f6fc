// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"math/bits"

	"github.com/otelstef/stef/stef-go/schema"
)

// MaxDepth is the maximum nesting of values of types that can contain themselves. It
// applies to writers, and to readers without WithMaxDepth. Each array inside an array
// of AnyValue adds two levels: the AnyValue and the array. A oneof counts only if its
// choice is composite.
//
// spec: #limits
const MaxDepth = 1024

// MaxPairs is the maximum number of pairs in a multimap.
//
// spec: #limits
const MaxPairs = 1023

// decoder decodes records from the columns of successive frames. It never modifies a
// value: it builds new values for changes, and shares unchanged values with the previous
// record. So records can be returned, and stored in dictionaries, without a copy.
type decoder struct {
	dicts readDicts
	// maxBytes limits the size of a record, and the memory that decoding it
	// allocates.
	maxBytes  int
	maxDepth  int
	allocated int
	depth     int
	// trace receives the events, unless it is nil. The other fields are for events:
	// index has the positions in the enclosing arrays and multimaps. code is the length
	// or reference at the start of the last text.
	trace *tracer
	index []int
	code  int64
}

// record decodes the record after cur.
//
// spec: #state
func (d *decoder) record(root *column, cur *Struct) (*Struct, error) {
	d.allocated, d.depth, d.index = 0, 0, d.index[:0]
	v, err := d.decode(root, cur)
	if err != nil {
		return nil, err
	}
	return v.(*Struct), nil
}

func (d *decoder) tooLarge() error {
	return fault(ErrReaderLimit, "the record takes more than %d bytes", d.maxBytes)
}

// allocate counts size bytes, before or right after they are allocated.
func (d *decoder) allocate(size int) error {
	d.allocated += size
	if d.allocated > d.maxBytes {
		return d.tooLarge()
	}
	return nil
}

// decode decodes the value of column c. cur is the previous value at the same place: the data of the
// column says what differs from it.
func (d *decoder) decode(c *column, cur any) (any, error) {
	if !c.typ.Kind.Composite() {
		before := c.delta
		v, err := d.primitive(c)
		if err == nil && d.trace != nil {
			d.event(c, d.primitiveDetail(c, before, v))
		}
		return v, inColumn(c, err)
	}
	if c.recursive && c.typ.Kind != schema.KindOneof {
		if err := d.enter(); err != nil {
			return nil, inColumn(c, err)
		}
		defer d.leave()
	}
	var v any
	var err error
	switch c.typ.Kind {
	case schema.KindStruct:
		v, err = d.structure(c, cur.(*Struct))
	case schema.KindOneof:
		v, err = d.oneof(c, cur.(*Oneof))
	case schema.KindMultimap:
		v, err = d.multimap(c, cur.(*Multimap))
	case schema.KindArray:
		v, err = d.array(c, cur.(*Array))
	}
	// Check each value, not only the record. A part that several values share counts once for each of
	// them, so the size of a whole record could overflow.
	if err == nil && sizeOf(v) > d.maxBytes {
		err = d.tooLarge()
	}
	if err != nil {
		return nil, inColumn(c, err)
	}
	return v, nil
}

// enter counts one more enclosing value of a recursive type.
func (d *decoder) enter() error {
	d.depth++
	if d.depth > d.maxDepth {
		return fault(ErrReaderLimit, "values are nested deeper than %d levels: an array or multimap in a struct or oneof counts as two levels", d.maxDepth)
	}
	return nil
}

func (d *decoder) leave() { d.depth-- }

func (d *decoder) primitive(c *column) (any, error) {
	switch c.typ.Kind {
	case schema.KindBool:
		v, err := c.bitIn.bits(1)
		return v == 1, err
	case schema.KindInt64:
		v, err := c.delta.decode(&c.byteIn)
		return int64(v), err
	case schema.KindUint64, schema.KindEnum:
		return asAny(c.delta.decode(&c.byteIn))
	case schema.KindFloat64:
		return asAny(c.xor.decode(&c.bitIn))
	default:
		return d.text(c)
	}
}

func asAny[T any](v T, err error) (any, error) { return v, err }

// text decodes a string or bytes value.
//
// spec: #string #string-dict
func (d *decoder) text(c *column) (any, error) {
	n, err := c.byteIn.varint("length")
	if err != nil {
		return nil, err
	}
	d.code = n
	if n < 0 {
		entries := d.dicts.texts[c.dict]
		if ref := uint64(-(n + 1)); ref < uint64(len(entries)) {
			return entries[ref], nil
		}
		return nil, fault(ErrCorrupt, "reference %d is outside the dictionary of %d entries", n, len(entries))
	}
	b, err := c.byteIn.take(uint64(n), "content of a string or bytes value")
	if err != nil {
		return nil, err
	}
	if err := d.allocate(headBytes + len(b)); err != nil {
		return nil, err
	}
	var v any = string(b)
	if c.typ.Kind == schema.KindBytes {
		v = append([]byte{}, b...)
	}
	if c.dict != "" && len(b) >= minDictText {
		err = d.dicts.addText(c.dict, v)
	}
	return v, err
}

// structure decodes a struct.
//
// spec: #struct
func (d *decoder) structure(c *column, cur *Struct) (*Struct, error) {
	if c.dict != "" {
		full, err := c.bitIn.bits(1)
		if err != nil {
			return nil, err
		}
		if full == 0 {
			return d.structRef(c)
		}
	}
	modified, err := c.bitIn.bits(len(c.links))
	if err != nil {
		return nil, err
	}
	presence, err := c.bitIn.bits(c.optional)
	if err != nil {
		return nil, err
	}
	if d.trace != nil {
		d.event(c, TraceStruct{len(c.links), c.optional, modified, presence})
	}
	v := &Struct{Fields: append([]any{}, cur.Fields...), Present: append([]bool{}, cur.Present...)}
	if err := d.allocate(nodeBytes + len(v.Fields)*(slotBytes+1)); err != nil {
		return nil, err
	}
	for i, f := range c.typ.Struct.Fields {
		if f.Optional {
			v.Present[i] = i < len(c.links) && presence&1 == 1
			if i < len(c.links) {
				presence >>= 1
			}
		}
		if !v.Present[i] || i >= len(c.links) {
			continue
		}
		if err := d.field(c, v, i, cur.Present[i], modified>>i&1 == 1); err != nil {
			return nil, err
		}
	}
	v.measure(c.typ.Struct)
	if c.dict != "" {
		// Add the entry when the struct is complete. If a struct inside it uses the same dictionary, that
		// struct is complete earlier, and its entry has the lower number.
		err = d.dicts.addStruct(c.dict, v)
		if d.trace != nil {
			d.event(c, TraceEntry{uint64(len(d.dicts.structsOf(c.dict).entries)), v})
		}
	}
	return v, err
}

// field decodes field i of v, which is present. was says whether the field was present in the previous
// record.
func (d *decoder) field(c *column, v *Struct, i int, was, modified bool) error {
	below := c.links[i]
	// If a composite field becomes present again and its modified bit is set, it is
	// decoded relative to the initial value. Without this bit, the field keeps its last
	// value, or has the initial value if it was never present.
	if v.Fields[i] == nil || modified && !was && below.typ.Kind.Composite() {
		v.Fields[i] = below.initial
	}
	if !modified {
		return nil
	}
	value, err := d.decode(below, v.Fields[i])
	v.Fields[i] = value
	return err
}

// structRef decodes the number of a dictionary entry.
//
// spec: #struct-dict
func (d *decoder) structRef(c *column) (*Struct, error) {
	ref, err := c.bitIn.compact()
	if err != nil {
		return nil, err
	}
	dict := d.dicts.structsOf(c.dict)
	entries := dict.entries
	if ref == 0 || ref > uint64(len(entries)) {
		return nil, fault(ErrCorrupt, "reference %d is outside the dictionary of %d entries", ref, len(entries))
	}
	if d.trace != nil {
		d.event(c, TraceRef{ref, entries[ref-1]})
	}
	dict.use.Refs++
	return entries[ref-1], nil
}

// oneof decodes a oneof.
//
// spec: #oneof
func (d *decoder) oneof(c *column, cur *Oneof) (*Oneof, error) {
	missing := c.bitIn.missing
	choice, err := c.bitIn.choice(choiceBits(c))
	if err != nil {
		return nil, err
	}
	if choice > uint64(len(c.links)) {
		return nil, fault(ErrCorrupt, "a oneof has choice %d, but its type has only %d choices", choice, len(c.links))
	}
	if d.trace != nil {
		d.event(c, TraceChoice{int(choice), c.bitIn.missing - missing})
	}
	v := &Oneof{Choice: int(choice)}
	v.measure()
	if err := d.allocate(nodeBytes); err != nil || choice == 0 {
		return v, err
	}
	below := c.links[choice-1]
	if c.recursive && below.typ.Kind.Composite() {
		if err := d.enter(); err != nil {
			return nil, err
		}
		defer d.leave()
	}
	base := below.initial
	if cur.Choice == v.Choice {
		base = cur.Value
	}
	if v.Value, err = d.decode(below, base); err != nil {
		return nil, err
	}
	v.measure()
	return v, nil
}

// array decodes an array. The reader allocates elements only as it reads their data, because the length
// in the stream can be wrong.
//
// spec: #array
func (d *decoder) array(c *column, cur *Array) (*Array, error) {
	count, err := c.bitIn.compact()
	if err != nil {
		return nil, err
	}
	if d.trace != nil {
		d.event(c, TraceLength{count})
	}
	v := &Array{}
	if err := d.allocate(nodeBytes); err != nil {
		return nil, err
	}
	d.index = append(d.index, 0)
	defer d.leaveIndex()
	for i := range count {
		d.index[len(d.index)-1] = int(i)
		// Elements may need no bits of the stream, so only this limit bounds the number of elements.
		if err := d.allocate(slotBytes + numberBytes); err != nil {
			return nil, err
		}
		base := c.links[0].initial
		if i < uint64(len(cur.Elems)) {
			base = cur.Elems[i]
		}
		elem, err := d.decode(c.links[0], base)
		if err != nil {
			return nil, err
		}
		v.Elems = append(v.Elems, elem)
	}
	v.measure()
	return v, nil
}

// multimap decodes a multimap.
//
// spec: #multimap
func (d *decoder) multimap(c *column, cur *Multimap) (*Multimap, error) {
	header, err := c.byteIn.uvarint("header of a multimap")
	if err != nil {
		return nil, err
	}
	if header&1 == 0 {
		return d.multimapValues(c, cur, header>>1)
	}
	count := header >> 1
	if count > MaxPairs {
		return nil, fault(ErrLimit, "a multimap has %d pairs, the limit is %d", count, MaxPairs)
	}
	if d.trace != nil {
		d.event(c, TracePairs{count})
	}
	v := &Multimap{}
	if err := d.allocate(nodeBytes + int(count)*2*(slotBytes+numberBytes)); err != nil {
		return nil, err
	}
	d.index = append(d.index, 0)
	defer d.leaveIndex()
	for i := range int(count) {
		d.index[len(d.index)-1] = i
		p := Pair{c.links[0].initial, c.links[1].initial}
		if i < len(cur.Pairs) {
			p = cur.Pairs[i]
		}
		if p.Key, err = d.decode(c.links[0], p.Key); err != nil {
			return nil, err
		}
		if p.Value, err = d.decode(c.links[1], p.Value); err != nil {
			return nil, err
		}
		v.Pairs = append(v.Pairs, p)
	}
	v.measure()
	return v, nil
}

// multimapValues decodes the values of the pairs whose bit is set.
func (d *decoder) multimapValues(c *column, cur *Multimap, changed uint64) (*Multimap, error) {
	if last := bits.Len64(changed); last > len(cur.Pairs) {
		return nil, fault(ErrCorrupt, "the value of pair %d changes, but there are only %d pairs", last, len(cur.Pairs))
	}
	if d.trace != nil {
		d.event(c, TraceChanged{changed})
	}
	if changed == 0 {
		return cur, nil
	}
	v := &Multimap{Pairs: append([]Pair{}, cur.Pairs...)}
	if err := d.allocate(nodeBytes + len(v.Pairs)*2*slotBytes); err != nil {
		return nil, err
	}
	d.index = append(d.index, 0)
	defer d.leaveIndex()
	for i := range v.Pairs {
		if changed>>i&1 == 0 {
			continue
		}
		d.index[len(d.index)-1] = i
		value, err := d.decode(c.links[1], v.Pairs[i].Value)
		if err != nil {
			return nil, err
		}
		v.Pairs[i].Value = value
	}
	v.measure()
	return v, nil
}

// choiceBits returns the number of bits of the choice of a oneof. They are enough for the choices
// and for the choice none.
//
// spec: #oneof
func choiceBits(c *column) int {
	return bits.Len(uint(len(c.links) + 1))
}

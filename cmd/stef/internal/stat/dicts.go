// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"encoding/binary"
	"slices"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Dict is a dictionary over the whole stream.
type Dict struct {
	Name string
	// Struct distinguishes dictionaries of structs from those of strings and
	// bytes.
	Struct bool
	// Entries is the number of entries sent, Most the largest number at a time.
	Entries, Most int
	// Bytes is the size of the texts of the entries; unknown for structs.
	Bytes int64
	// Refs is how often an entry was referred to by its number. For structs,
	// only changes from one record to the next count, so the true number may be
	// higher.
	Refs int64

	now int
}

func (d *Dict) add() {
	d.Entries++
	d.now++
	d.Most = max(d.Most, d.now)
}

// dicts tracks the dictionaries of a stream.
type dicts struct {
	list []*Dict
	// text has the dictionary of each text column, or nil.
	text  []*Dict
	saved []Dict

	root *schema.Struct
	last *dynamic.Struct // the previous record
	// structs are the dictionaries of structs by name, with their entries.
	structs map[string]*structDict
	// reaching says which structs, oneofs and multimaps contain structs with a
	// dictionary.
	reaching map[any]bool
}

type structDict struct {
	*Dict
	seen map[*dynamic.Struct]bool
}

func newDicts(root *schema.Struct, columns []*schema.Column) *dicts {
	d := &dicts{text: make([]*Dict, len(columns)), root: root, structs: map[string]*structDict{}, reaching: map[any]bool{}}
	d.find(&schema.Type{Kind: schema.KindStruct, Struct: root})
	byName := map[string]*Dict{}
	for i, c := range columns {
		text := c.Type.Kind == schema.KindString || c.Type.Kind == schema.KindBytes
		if !text || c.Type.Dict == "" {
			continue
		}
		if byName[c.Type.Dict] == nil {
			byName[c.Type.Dict] = &Dict{Name: c.Type.Dict}
			d.list = append(d.list, byName[c.Type.Dict])
		}
		d.text[i] = byName[c.Type.Dict]
	}
	return d
}

// parts returns the struct, oneof or multimap of a type, and the types inside it.
func parts(t *schema.Type) (definition any, inner []*schema.Type) {
	switch {
	case t.Elem != nil:
		return nil, []*schema.Type{t.Elem}
	case t.Struct != nil:
		for _, f := range t.Struct.Fields {
			inner = append(inner, &f.Type)
		}
		return t.Struct, inner
	case t.Multimap != nil:
		return t.Multimap, []*schema.Type{&t.Multimap.Key, &t.Multimap.Value}
	}
	return nil, nil
}

// find adds the dictionaries of the structs in a type, in the order of the schema. It also
// sets reaching.
func (d *dicts) find(t *schema.Type) {
	var all []*schema.Type
	visited := map[any]bool{}
	var collect func(t *schema.Type)
	collect = func(t *schema.Type) {
		definition, inner := parts(t)
		if definition != nil {
			if visited[definition] {
				return
			}
			visited[definition] = true
			all = append(all, t)
		}
		if t.Kind == schema.KindStruct && t.Struct.Dict != "" {
			d.reaching[definition] = true
			name := t.Struct.Dict
			if d.structs[name] == nil {
				d.structs[name] = &structDict{&Dict{Name: name, Struct: true}, map[*dynamic.Struct]bool{}}
				d.list = append(d.list, d.structs[name].Dict)
			}
		}
		for _, in := range inner {
			collect(in)
		}
	}
	collect(t)
	// Definitions may contain themselves: repeat until nothing changes.
	for changed := true; changed; {
		changed = false
		for _, t := range all {
			definition, inner := parts(t)
			if !d.reaching[definition] && slices.ContainsFunc(inner, d.reaches) {
				d.reaching[definition], changed = true, true
			}
		}
	}
}

// reaches reports whether values of a type contain structs with a dictionary.
func (d *dicts) reaches(t *schema.Type) bool {
	for t.Elem != nil {
		t = t.Elem
	}
	definition, _ := parts(t)
	return definition != nil && d.reaching[definition]
}

// begin stores the initial values of records, before the first one is read.
func (d *dicts) begin(initial *dynamic.Struct) { d.last = initial }

// save saves the counts, so that restore can discard an incomplete frame.
func (d *dicts) save() {
	d.saved = d.saved[:0]
	for _, dict := range d.list {
		d.saved = append(d.saved, *dict)
	}
}

// restore resets the counts to the last save, unless commit was called since.
func (d *dicts) restore() {
	for i := range d.saved {
		*d.list[i] = d.saved[i]
	}
}

// commit keeps the current counts.
func (d *dicts) commit() { d.saved = d.saved[:0] }

// restart empties the dictionaries.
func (d *dicts) restart() {
	for _, dict := range d.list {
		dict.now = 0
	}
	for _, dict := range d.structs {
		dict.seen = map[*dynamic.Struct]bool{}
	}
}

// minText is the minimum length of a text that enters a dictionary.
//
// spec: #string-dict
const minText = 2

// texts reads a column of texts: lengths followed by the text, or entry
// numbers.
//
// spec: #string-dict
func (d *dicts) texts(column int, data []byte) {
	dict := d.text[column]
	if dict == nil {
		return
	}
	for len(data) > 0 {
		n, size := binary.Varint(data)
		if size <= 0 || n > int64(len(data)-size) {
			return // the record reader reports the error
		}
		data = data[size:]
		if n < 0 {
			dict.Refs++
			continue
		}
		data = data[n:]
		if n >= minText {
			dict.add()
			dict.Bytes += n
		}
	}
}

// record examines a record. The reader returns a new pointer for each struct that is sent in
// full, the same pointer again for its entry number, and the pointer of the previous record
// for a struct that is not sent. So equal pointers tell these cases apart.
func (d *dicts) record(rec *dynamic.Struct) {
	d.fields(d.root, rec, d.last)
	d.last = rec
}

// value examines a value and the value before it, nil if there is none.
func (d *dicts) value(t *schema.Type, v, last any) {
	if !d.reaches(t) || v == last { // values of such types are pointers
		return
	}
	switch v := v.(type) {
	case *dynamic.Struct:
		last, _ := last.(*dynamic.Struct)
		if dict := d.structs[t.Struct.Dict]; dict != nil {
			if dict.seen[v] {
				dict.Refs++
				return
			}
			dict.seen[v] = true
			dict.add()
		}
		d.fields(t.Struct, v, last)
	case *dynamic.Oneof:
		if v.Choice > 0 {
			var before any
			if last, ok := last.(*dynamic.Oneof); ok && last.Choice == v.Choice {
				before = last.Value
			}
			d.value(&t.Struct.Fields[v.Choice-1].Type, v.Value, before)
		}
	case *dynamic.Array:
		last, _ := last.(*dynamic.Array)
		for i, e := range v.Elems {
			var before any
			if last != nil && i < len(last.Elems) {
				before = last.Elems[i]
			}
			d.value(t.Elem, e, before)
		}
	case *dynamic.Multimap:
		last, _ := last.(*dynamic.Multimap)
		for i, p := range v.Pairs {
			var before dynamic.Pair
			if last != nil && i < len(last.Pairs) {
				before = last.Pairs[i]
			}
			d.value(&t.Multimap.Key, p.Key, before.Key)
			d.value(&t.Multimap.Value, p.Value, before.Value)
		}
	}
}

// fields examines the fields of a struct.
func (d *dicts) fields(s *schema.Struct, v, last *dynamic.Struct) {
	for i, f := range s.Fields {
		if !v.Present[i] {
			continue
		}
		var before any
		if last != nil {
			before = last.Fields[i]
		}
		d.value(&f.Type, v.Fields[i], before)
	}
}

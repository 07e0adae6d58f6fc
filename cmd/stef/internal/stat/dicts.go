// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"encoding/binary"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Dict is a dictionary over the whole stream.
type Dict struct {
	Name string
	// Struct distinguishes dictionaries of structs from those of strings and
	// bytes.
	Struct bool
	// Entries is the number of entries sent, Most the largest number held at a
	// time.
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
	found []*place
	saved []Dict
}

// place is the position in records of a struct that has a dictionary.
type place struct {
	dict *Dict
	// path are the fields from the root to the struct.
	path []int
	last *dynamic.Struct
	seen map[*dynamic.Struct]bool
}

func newDicts(root *schema.Struct, columns []*schema.Column) *dicts {
	d := &dicts{text: make([]*Dict, len(columns))}
	d.places(root, nil)
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

// places finds the structs with a dictionary that every record has. It ignores
// those in arrays, multimaps and oneofs: the OpenTelemetry schema has none
// there.
func (d *dicts) places(s *schema.Struct, path []int) {
	for i, f := range s.Fields {
		if f.Type.Kind != schema.KindStruct || f.Optional {
			continue
		}
		here := append(path[:len(path):len(path)], i)
		if f.Type.Struct.Dict == "" {
			d.places(f.Type.Struct, here)
			continue
		}
		dict := &Dict{Name: f.Type.Struct.Dict, Struct: true}
		d.list = append(d.list, dict)
		d.found = append(d.found, &place{dict: dict, path: here, seen: map[*dynamic.Struct]bool{}})
	}
}

// begin stores the initial values of records, before the first one is read.
func (d *dicts) begin(initial *dynamic.Struct) {
	for _, p := range d.found {
		p.last = p.in(initial)
	}
}

// in returns the struct in a record.
func (p *place) in(rec *dynamic.Struct) *dynamic.Struct {
	for _, i := range p.path {
		rec = rec.Fields[i].(*dynamic.Struct)
	}
	return rec
}

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
	for _, p := range d.found {
		p.seen = map[*dynamic.Struct]bool{}
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

// structs examines a record. A reader creates a new value for each struct sent
// in full, and returns the same value again for its number.
func (d *dicts) structs(rec *dynamic.Struct) {
	for _, p := range d.found {
		v := p.in(rec)
		if v == p.last {
			continue
		}
		if p.seen[v] {
			p.dict.Refs++
		} else {
			p.seen[v] = true
			p.dict.add()
		}
		p.last = v
	}
}

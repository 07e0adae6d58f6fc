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
	// Struct distinguishes dictionaries of structs from dictionaries of strings
	// and bytes.
	Struct bool
	// Entries is the number of sent entries. Most is the largest number of entries at one time.
	Entries, Most int
	// Bytes is the size of the texts of the entries. It is 0 for structs: their size is unknown.
	Bytes int64
	// Refs is how often an entry was referred to by its number.
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
	reader *dynamic.Reader
	list   []*Dict
	// text has the dictionary of each column, or nil for a column without a dictionary of text.
	text []*Dict
}

func newDicts(r *dynamic.Reader, columns []*schema.Column) *dicts {
	d := &dicts{reader: r, text: make([]*Dict, len(columns))}
	structs, texts := map[string]*Dict{}, map[string]*Dict{}
	for _, c := range columns {
		if c.Type.Kind == schema.KindStruct && c.Type.Struct.Dict != "" {
			d.named(structs, c.Type.Struct.Dict).Struct = true
		}
	}
	for i, c := range columns {
		text := c.Type.Kind == schema.KindString || c.Type.Kind == schema.KindBytes
		if text && c.Type.Dict != "" {
			d.text[i] = d.named(texts, c.Type.Dict)
		}
	}
	return d
}

// named returns the dictionary with a name. It adds a missing dictionary to the map and to the list.
func (d *dicts) named(all map[string]*Dict, name string) *Dict {
	if all[name] == nil {
		all[name] = &Dict{Name: name}
		d.list = append(d.list, all[name])
	}
	return all[name]
}

// restart notes that all dictionaries are empty.
func (d *dicts) restart() {
	for _, dict := range d.list {
		dict.now = 0
	}
}

// minText is the minimum length, in bytes, of a text that becomes an entry of a dictionary.
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

// structs counts the entries of structs up to the last record that was read. Only the reader knows
// these counts: a record has the same value for a sent struct and for a reference to an entry.
func (d *dicts) structs() {
	for _, dict := range d.list {
		if dict.Struct {
			use := d.reader.StructDict(dict.Name)
			dict.Entries, dict.Most, dict.Refs = use.Entries, use.Most, use.Refs
		}
	}
}

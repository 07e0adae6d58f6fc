// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"github.com/otelstef/stef/stef-go/bitio"
)

// StringDict is the writing side of a dictionary of text. All columns that
// name it share it. It keeps the strings it is given, so they must not alias
// memory that will change.
//
// A value that is not the same as the last of its column is mostly one of a
// few, so a small direct-mapped cache stands before the map. Both hold only
// what the map holds; a cache found by length and two bytes cannot be crowded
// by crafted values into anything worse than the map (design measured in
// BenchmarkStringDict).
type StringDict struct {
	usage *Usage
	refs  map[string]uint32
	cache *[256]stringRef // made at the first entry, to keep idle streams small
}

type stringRef struct {
	text string
	ref  uint32
}

// Init sets where to count.
func (d *StringDict) Init(usage *Usage) { d.usage = usage }

// Restart empties the dictionary.
func (d *StringDict) Restart() {
	clear(d.refs)
	if d.cache != nil {
		*d.cache = [256]stringRef{}
	}
}

// Len returns the number of entries.
func (d *StringDict) Len() int { return len(d.refs) }

// ref returns the reference of v, which has MinEntry bytes or more. If v is
// new it becomes the next entry.
func (d *StringDict) ref(v string) (ref uint32, known bool) {
	if d.cache == nil {
		d.cache = new([256]stringRef)
		d.refs = make(map[string]uint32)
	}
	slot := &d.cache[byte(len(v)*31)^v[len(v)-1]^v[len(v)/2]<<3]
	if slot.text == v {
		return slot.ref, true
	}
	if ref, known = d.refs[v]; !known {
		ref = uint32(len(d.refs))
		d.refs[v] = ref
		d.usage.Dict += len(v) + EntryOverhead
	}
	slot.text, slot.ref = v, ref
	return ref, known
}

// StringDictEncoder writes a reference to an entry of its dictionary, or the
// text as it is, which then becomes the next entry:
//
//	varint n:  n < 0  reference -n-1      n >= 0  n bytes of text follow
//
// Text of fewer than MinEntry bytes never enters the dictionary.
//
// spec: #string-dict
type StringDictEncoder struct {
	bitio.ByteWriter
	dict *StringDict
}

// Init sets the dictionary.
func (e *StringDictEncoder) Init(dict *StringDict) { e.dict = dict }

// Encode appends v and keeps it if it is new.
func (e *StringDictEncoder) Encode(v string) {
	if len(v) >= MinEntry {
		if ref, known := e.dict.ref(v); known {
			e.Room(10)
			u := uint64(ref)<<1 | 1
			if u < 0x80 {
				e.Buf = append(e.Buf, byte(u))
				return
			}
			e.Buf = bitio.AppendUvarint(e.Buf, u)
			return
		}
	}
	e.dict.usage.Frame += len(v)
	e.Room(10 + len(v))
	e.Buf = bitio.AppendUvarint(e.Buf, uint64(len(v))<<1)
	e.Buf = append(e.Buf, v...)
}

// Restart does nothing: the dictionary is restarted on its own.
func (e *StringDictEncoder) Restart() {}

// StringTable is the reading side of a dictionary of text.
type StringTable struct {
	entries []string
	limit   *DictLimit
}

// Init sets the limit that the table counts against.
func (t *StringTable) Init(limit *DictLimit) { t.limit = limit }

// Restart empties the table.
func (t *StringTable) Restart() {
	clear(t.entries)
	t.entries = t.entries[:0]
}

// Len returns the number of entries.
func (t *StringTable) Len() int { return len(t.entries) }

// DictLimit bounds the memory of all dictionaries of a stream being read, by
// the accounting of the specification.
//
// spec: #limits
type DictLimit struct {
	// Used is the memory of all dictionaries of the stream.
	Used int
	// Max is the most that Used may be.
	Max int
}

// Take counts one more entry and says whether it is within the limit.
func (l *DictLimit) Take(size int) bool {
	l.Used += size
	return l.Used <= l.Max
}

// StringDictDecoder reads what StringDictEncoder writes. It returns the
// entries themselves: equal references give the same string.
type StringDictDecoder struct {
	bitio.ByteReader
	table *StringTable
}

// Init sets the table.
func (d *StringDictDecoder) Init(table *StringTable) { d.table = table }

// Decode returns the next value.
func (d *StringDictDecoder) Decode() string {
	var u uint64
	if p := d.Pos; p < len(d.Buf) && d.Buf[p] < 0x80 {
		u = uint64(d.Buf[p])
		d.Pos = p + 1
	} else {
		u = d.UvarintLong()
	}
	if u&1 == 0 {
		return d.direct(u >> 1)
	}
	ref := u >> 1
	if ref >= uint64(len(d.table.entries)) {
		d.Fail(bitio.FaultRef)
		return ""
	}
	return d.table.entries[ref]
}

func (d *StringDictDecoder) direct(n uint64) string {
	run, _ := d.Next(n)
	if len(run) < MinEntry {
		return short(run)
	}
	text := string(run)
	if !d.table.limit.Take(len(text) + EntryOverhead) {
		d.Fail(bitio.FaultDictSize)
		return ""
	}
	d.table.entries = append(d.table.entries, text)
	return text
}

// Restart does nothing: the table is restarted on its own.
func (d *StringDictDecoder) Restart() {}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"sync/atomic"

	"github.com/otelstef/stef/stef-go/bitio"
)

// StringDict is the writing side of a dictionary of text. All columns that
// name it share it. It copies what it keeps.
type StringDict struct {
	usage *Usage
	index TextIndex // numbers are references
	epoch uint64    // of no other dictionary, nor of this one after a restart
}

// epochs counts those of all dictionaries.
var epochs atomic.Uint64

// Init sets where to count.
func (d *StringDict) Init(usage *Usage) {
	d.usage = usage
	d.epoch = epochs.Add(1)
}

// Restart empties the dictionary.
func (d *StringDict) Restart() {
	d.index.Reset()
	d.epoch = epochs.Add(1)
}

// Release empties the dictionary and gives its memory back.
func (d *StringDict) Release() {
	d.index.Release()
	d.epoch = epochs.Add(1)
}

// Len returns the number of entries.
func (d *StringDict) Len() int { return d.index.Len() }

// Ref is a reference to an entry of a dictionary. It lasts until the dictionary
// is restarted, and tells by itself whether it still does. 0 is none.
//
//	| 40 bits: epoch of the dictionary | 24 bits: reference |
type Ref uint64

const refBits = 24

// Text is a text with what a dictionary says of it.
type Text struct {
	Text string
	Ref  Ref // 0 if it is not known
}

// Ref returns the reference to v, if there is one. Two texts are the same if their
// references to one dictionary are.
func (d *StringDict) Ref(v string) Ref {
	if d == nil {
		return 0
	}
	return d.refOf(v)
}

// Resolve sets the references of texts as Ref returns them, or to 0 if they are very
// long. What they are before are guesses.
func (d *StringDict) Resolve(texts []Text) {
	switch {
	case d == nil:
		for i := range texts {
			texts[i].Ref = 0
		}
	case d.index.Len() > 1<<refBits:
		for i := range texts {
			texts[i].Ref = d.refOf(texts[i].Text)
		}
	default:
		d.index.resolve(texts, Ref(d.epoch<<refBits), 0)
	}
}

func (d *StringDict) refOf(v string) Ref {
	if number, _, ok := d.index.find(v); ok {
		return d.made(number)
	}
	return 0
}

// Holds says whether ref is to an entry of d.
func (d *StringDict) Holds(ref Ref) bool { return d != nil && uint64(ref>>refBits) == d.epoch }

// SameText says whether two texts are the same, if their references are known, by
// these.
func SameText(a string, aRef Ref, b string, bRef Ref) bool {
	if aRef != 0 && aRef>>refBits == bRef>>refBits {
		return aRef == bRef
	}
	return a == b
}

func (d *StringDict) made(number uint32) Ref {
	if number >= 1<<refBits {
		return 0
	}
	return Ref(d.epoch<<refBits | uint64(number))
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
func (e *StringDictEncoder) Encode(v string) { e.EncodeRef(v, 0) }

// EncodeRef is Encode for a text whose reference may be known. It returns the
// reference that v has from now on.
func (e *StringDictEncoder) EncodeRef(v string, ref Ref) Ref {
	u := uint64(ref&(1<<refBits-1))<<1 | 1
	if d := e.dict; uint64(ref>>refBits) != d.epoch {
		if len(v) < MinEntry {
			e.direct(v)
			return 0
		}
		number, hash, ok := d.index.find(v)
		if !ok {
			number = d.index.add(v, hash)
			d.usage.Dict += len(v) + EntryOverhead
			e.direct(v)
			return d.made(number)
		}
		ref = d.made(number)
		u = uint64(number)<<1 | 1
	}
	e.Uvarint(u)
	return ref
}

// direct appends v as it is.
func (e *StringDictEncoder) direct(v string) {
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"sync/atomic"
	"unsafe"

	"github.com/otelstef/stef/stef-go/bitio"
)

// StringDict is the writing side of a dictionary of text. All columns with the same
// dictionary name share it. It copies its entries; encoders of its columns keep some
// texts of 4 KiB or less without a copy.
type StringDict struct {
	usage *Usage
	index TextIndex // the number of a text is its reference
	epoch uint64    // unique in the process; changes with each restart
}

// epochs is the epoch that was assigned last.
var epochs atomic.Uint64

// Init sets the counters of the stream, which the encoders of the dictionary update.
func (d *StringDict) Init(usage *Usage) {
	d.usage = usage
	d.epoch = epochs.Add(1)
}

// Restart empties the dictionary.
func (d *StringDict) Restart() {
	d.index.Reset()
	d.epoch = epochs.Add(1)
}

// Release empties the dictionary and releases its memory.
func (d *StringDict) Release() {
	d.index.Release()
	d.epoch = epochs.Add(1)
}

// Len returns the number of entries.
func (d *StringDict) Len() int { return d.index.Len() }

// Ref is a reference to an entry of a dictionary. It is valid until the dictionary
// restarts; its epoch shows whether it is still valid. 0 means no reference.
//
//	| 40 bits: epoch of the dictionary | 24 bits: reference |
type Ref uint64

const refBits = 24

// Split returns the epoch of the dictionary and the number of the entry. Both are 0 if r is 0.
func (r Ref) Split() (epoch uint64, number uint32) {
	return uint64(r >> refBits), uint32(r & (1<<refBits - 1))
}

// Text is a text with the reference to its entry in a dictionary.
type Text struct {
	Text string
	Ref  Ref // 0 if it is not known
}

// Ref returns the reference to v, or 0 if there is none. Two texts are equal if they
// have the same reference to one dictionary.
func (d *StringDict) Ref(v string) Ref {
	if d == nil {
		return 0
	}
	return d.refOf(v)
}

// Resolve sets the reference of each text to the result of Ref. It tries the present
// reference first. If that is wrong and the text has more than 256 bytes, the
// reference becomes 0.
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

// Holds reports whether ref is a valid reference to an entry of d.
func (d *StringDict) Holds(ref Ref) bool { return d != nil && uint64(ref>>refBits) == d.epoch }

// Is reports whether ref is a valid reference to v.
func (d *StringDict) Is(ref Ref, v string) bool {
	if !d.Holds(ref) {
		return false
	}
	return d.index.Is(uint32(ref&(1<<refBits-1)), v)
}

// Epoch returns a number that is unique to d and changes with every restart of d. It
// is 0 for a nil d.
func (d *StringDict) Epoch() uint64 {
	if d == nil {
		return 0
	}
	return d.epoch
}

// SameText reports whether two texts are equal. It compares the references if both
// refer to the same dictionary, and the texts if not.
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

// StringDictEncoder writes a reference to an entry of its dictionary, or the text
// itself, which then becomes the next entry:
//
//	varint n:  n < 0  reference -n-1      n >= 0  n bytes of text follow
//
// Text of fewer than MinEntry bytes never enters the dictionary.
//
// spec: #string-dict
type StringDictEncoder struct {
	bitio.ByteWriter
	dict   *StringDict
	recent *[1 << recentBits]Text // at the index PlaceOf; allocated for the first long text
}

// A column remembers some long texts, because comparing long texts is faster than hashing them. So
// a repeated template, for example, is found by one comparison.
const (
	recentBits = 5       // the number of remembered texts is 1<<recentBits
	maxRecent  = 4 << 10 // the maximum length of a remembered text
)

// Texts marks a column of texts. Texts of different columns resemble each other, so zstd compresses
// small columns of texts together.
func (e *StringDictEncoder) Texts() {}

// Init sets the dictionary.
func (e *StringDictEncoder) Init(dict *StringDict) { e.dict = dict }

// Encode appends v and adds it to the dictionary if it is new.
func (e *StringDictEncoder) Encode(v string) { e.EncodeRef(v, 0) }

// EncodeRef is like Encode, but faster if ref is the reference to v. It returns the
// reference to v.
func (e *StringDictEncoder) EncodeRef(v string, ref Ref) Ref {
	n := len(e.Buf)
	if uint64(ref>>refBits) != e.dict.epoch || cap(e.Buf)-n < maxRefBytes {
		return e.encode(v)
	}
	// Most references need two bytes or less.
	u := uint32(ref&(1<<refBits-1))<<1 | 1
	switch {
	case u < 1<<7:
		e.Buf = e.Buf[:n+1]
		e.Buf[n] = byte(u)
	case u < 1<<14:
		e.Buf = e.Buf[:n+2]
		e.Buf[n], e.Buf[n+1] = byte(u)|0x80, byte(u>>7)
	default:
		e.Uvarint(uint64(u))
	}
	return ref
}

// maxRefBytes is the capacity that EncodeRef needs in the buffer.
const maxRefBytes = 2

// encode does the work of EncodeRef if ref is not a valid reference, or the buffer is full.
func (e *StringDictEncoder) encode(v string) Ref {
	if len(v) <= ShortText || len(v) > maxRecent {
		return e.lookup(v)
	}
	if e.recent == nil {
		e.recent = new([1 << recentBits]Text)
	}
	first, end := Words(v)
	last := &e.recent[PlaceOf(first, end, len(v), recentBits)]
	if e.dict.Holds(last.Ref) && last.Text == v {
		e.Uvarint(uint64(last.Ref&(1<<refBits-1))<<1 | 1)
		return last.Ref
	}
	ref := e.lookup(v)
	*last = Text{v, ref}
	return ref
}

// lookup encodes v without comparing it with the remembered long texts. It does not
// keep v.
func (e *StringDictEncoder) lookup(v string) Ref {
	if len(v) < MinEntry {
		e.direct(v)
		return 0
	}
	d := e.dict
	number, hash, ok := d.index.find(v)
	if !ok {
		number = d.index.add(v, hash)
		d.usage.Dict += len(v) + EntryOverhead
		e.direct(v)
		return d.made(number)
	}
	e.Uvarint(uint64(number)<<1 | 1)
	return d.made(number)
}

// direct appends v itself, not a reference.
func (e *StringDictEncoder) direct(v string) {
	e.dict.usage.Frame += len(v)
	e.Room(10 + len(v))
	if len(v) == 1 {
		n := len(e.Buf)
		e.Buf = e.Buf[:n+2]
		e.Buf[n], e.Buf[n+1] = 1<<1, v[0]
		return
	}
	e.Buf = bitio.AppendUvarint(e.Buf, uint64(len(v))<<1)
	e.Buf = append(e.Buf, v...)
}

// Restart does nothing: the dictionary is restarted separately.
func (e *StringDictEncoder) Restart() {}

// StringTable is the reading side of a dictionary of text.
type StringTable struct {
	entries []string
	limit   *DictLimit
}

// Init sets the limit for the memory of the table.
func (t *StringTable) Init(limit *DictLimit) { t.limit = limit }

// Restart empties the table.
func (t *StringTable) Restart() {
	clear(t.entries)
	t.entries = t.entries[:0]
	if cap(t.entries) > restartedEntries {
		t.Release()
	}
}

// tableEntries pools the cleared memory of tables.
var tableEntries bitio.Memory[string]

const (
	// keptEntries is the capacity of the largest table that keeps its memory for the next
	// stream.
	keptEntries = 512
	// restartedEntries is the capacity of the largest table that keeps its memory when the
	// dictionaries restart. A stream has several dictionaries, and a hostile stream could
	// fill them one after another.
	restartedEntries = 1 << 15
)

// Release empties the table. It releases the memory if the capacity exceeds keptEntries.
func (t *StringTable) Release() {
	clear(t.entries)
	t.entries = t.entries[:0]
	if cap(t.entries) > keptEntries {
		tableEntries.Give(t.entries)
		t.entries = nil
	}
}

func (t *StringTable) add(text string) {
	if len(t.entries) == cap(t.entries) {
		old := t.entries
		t.entries = append(tableEntries.Take(max(2*cap(old), 16)), old...)
		clear(old)
		tableEntries.Give(old)
	}
	t.entries = append(t.entries, text)
}

// Len returns the number of entries.
func (t *StringTable) Len() int { return len(t.entries) }

// Spare returns the memory of the unused capacity of the table.
func (t *StringTable) Spare() int { return spare(t.entries) }

// spare returns the memory of the unused capacity of entries. EntryOverhead counts the
// memory of the used capacity.
func spare(entries []string) int {
	return (cap(entries) - len(entries)) * int(unsafe.Sizeof(""))
}

// DictLimit bounds the memory of all dictionaries of a stream being read, by
// the accounting of the specification.
//
// spec: #dict-accounting
type DictLimit struct {
	// Used is the memory of all dictionaries of the stream.
	Used int
	// Max is the maximum of Used.
	Max int
	// Extra is the memory that entries need in addition to the sizes that Used counts:
	// see StructTable.Append of package stefrt, and tablePiece.
	Extra int
	// Added is the memory of all entries of the stream, including those that a restart
	// dropped.
	Added int64
	// Work is the number of bytes that were copied, hashed or compared for values that
	// have few or no bytes in the stream. For example, a reference takes one byte,
	// however large its entry is.
	Work int64
}

// Restart removes all entries from Used and Extra.
func (l *DictLimit) Restart() { l.Used, l.Extra = 0, 0 }

// Take counts one more entry and reports whether it is within the limit.
func (l *DictLimit) Take(size int) bool {
	l.Used += size
	l.Added += int64(size)
	return l.Used <= l.Max
}

// StringDictDecoder reads what StringDictEncoder writes. It returns the entries
// themselves: equal references return the same string. Consecutive entries of a
// column share memory to save allocations; clone an entry to keep it without the
// other entries.
type StringDictDecoder struct {
	bitio.ByteReader
	table *StringTable
	piece tablePiece
}

// tablePiece is a copy of a part of a column. Several entries share its memory.
type tablePiece struct {
	text string
	from int // offset in the column
	// room limits the bytes that new pieces copy after their first entry, because later
	// entries may not use these bytes. Each entry adds twice its counted size to room,
	// and each piece subtracts the bytes after its first entry. So entries use at least
	// a third of the memory of the pieces of a frame.
	room int
}

// maxPiece is the size of the largest piece. A text of more than a quarter of it has
// its own memory.
const maxPiece = 16 << 10

// cut returns column[at:at+n]. Each call must have a larger offset at than the call before it.
// copied is the size of the piece that cut copied from the column, or 0 if it copied nothing.
func (p *tablePiece) cut(column []byte, at, n int) (text string, copied int) {
	i := at - p.from
	p.room += 2 * (n + EntryOverhead)
	if i+n > len(p.text) {
		size := n
		if n <= maxPiece/4 {
			size = min(max(n, p.room-2*EntryOverhead-n), maxPiece, len(column)-at)
			p.room -= size - n
		}
		*p = tablePiece{string(column[at : at+size]), at, p.room}
		return p.text[:n], size
	}
	return p.text[i : i+n], 0
}

// Init sets the table.
func (d *StringDictDecoder) Init(table *StringTable) { d.table = table }

// Reset makes d read data.
func (d *StringDictDecoder) Reset(data []byte) {
	d.ByteReader.Reset(data)
	d.piece = tablePiece{}
}

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
		return d.entry(u >> 1)
	}
	ref := u >> 1
	if ref >= uint64(len(d.table.entries)) {
		d.Fail(bitio.FaultRef)
		return ""
	}
	return d.table.entries[ref]
}

// entry reads a text of n bytes. It becomes the next entry if it has at least MinEntry bytes.
func (d *StringDictDecoder) entry(n uint64) string {
	run, at := d.Next(n)
	if len(run) < MinEntry {
		return short(run)
	}
	if !d.table.limit.Take(len(run) + EntryOverhead) {
		d.Fail(bitio.FaultDictSize)
		return ""
	}
	text, copied := d.piece.cut(d.Buf, at, len(run))
	d.table.limit.Extra += (copied+15)&^15 - len(run)
	d.table.add(text)
	return text
}

// Restart does nothing: the table is restarted separately.
func (d *StringDictDecoder) Restart() {}

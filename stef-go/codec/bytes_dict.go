// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"unsafe"

	"github.com/otelstef/stef/stef-go/bitio"
)

// BytesDict is the writing side of a dictionary of bytes. All columns with the same
// dictionary name share it. It copies its entries.
type BytesDict struct{ texts StringDict }

// Init sets the counters of the stream, which the encoders of the dictionary update.
func (d *BytesDict) Init(usage *Usage) { d.texts.Init(usage) }

// Restart empties the dictionary.
func (d *BytesDict) Restart() { d.texts.Restart() }

// Release empties the dictionary and releases its memory.
func (d *BytesDict) Release() { d.texts.Release() }

// Len returns the number of entries.
func (d *BytesDict) Len() int { return d.texts.Len() }

// BytesDictEncoder writes bytes as StringDictEncoder writes text.
//
// spec: #string-dict
type BytesDictEncoder struct{ StringDictEncoder }

// Init sets the dictionary.
func (e *BytesDictEncoder) Init(dict *BytesDict) { e.StringDictEncoder.Init(&dict.texts) }

// Encode appends v.
func (e *BytesDictEncoder) Encode(v []byte) {
	e.lookup(unsafe.String(unsafe.SliceData(v), len(v))) // lookup does not keep the string
}

// BytesTable is the reading side of a dictionary of bytes.
type BytesTable struct {
	entries []string
	limit   *DictLimit
	alloc   *Alloc
}

// Init sets the limit for the memory of the table, and the allowance that limits the memory of
// copies of its entries.
func (t *BytesTable) Init(limit *DictLimit, alloc *Alloc) { t.limit, t.alloc = limit, alloc }

// Restart empties the table.
func (t *BytesTable) Restart() {
	clear(t.entries)
	t.entries = t.entries[:0]
	if cap(t.entries) > restartedEntries {
		t.entries = nil
	}
}

// Spare returns the memory of the unused capacity of the table.
func (t *BytesTable) Spare() int { return spare(t.entries) }

// Len returns the number of entries.
func (t *BytesTable) Len() int { return len(t.entries) }

// freeBytes is the maximum length of entries that can be copied without using up a limit. It is
// enough for ids, which have up to 16 bytes.
const freeBytes = 64

// BytesDictDecoder reads what BytesDictEncoder writes.
type BytesDictDecoder struct {
	bitio.ByteReader
	table *BytesTable
}

// Init sets the table.
func (d *BytesDictDecoder) Init(table *BytesTable) { d.table = table }

// Decode appends the next value to dst.
func (d *BytesDictDecoder) Decode(dst []byte) []byte {
	u := d.Uvarint()
	if u&1 != 0 {
		ref := u >> 1
		if ref >= uint64(len(d.table.entries)) {
			d.Fail(bitio.FaultRef)
			return dst
		}
		entry := d.table.entries[ref]
		if len(entry) > freeBytes {
			d.table.limit.Work += int64(len(entry))
			if !d.table.alloc.Take(max(0, len(entry)-cap(dst))) {
				d.Fail(bitio.FaultRecordSize)
				return dst
			}
		}
		return append(dst, entry...)
	}
	run, _ := d.Next(u >> 1)
	if len(run) >= MinEntry {
		if !d.table.limit.Take(len(run) + EntryOverhead) {
			d.Fail(bitio.FaultDictSize)
			return dst
		}
		d.table.entries = append(d.table.entries, string(run))
	}
	return append(dst, run...)
}

// Restart does nothing: the stream restarts the table.
func (d *BytesDictDecoder) Restart() {}

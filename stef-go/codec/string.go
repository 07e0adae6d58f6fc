// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"unsafe"

	"github.com/otelstef/stef/stef-go/bitio"
)

// StringEncoder writes the length and the bytes. The length is in zigzag code, as in
// columns with a dictionary, where a negative number is a reference.
//
// spec: #string
type StringEncoder struct {
	bitio.ByteWriter
	usage *Usage
}

// Texts marks a column of texts. Texts of different columns resemble each other, so zstd compresses
// small columns of texts together.
func (e *StringEncoder) Texts() {}

// Init sets the counters of the stream, which Encode updates.
func (e *StringEncoder) Init(usage *Usage) { e.usage = usage }

// Encode appends v.
func (e *StringEncoder) Encode(v string) {
	e.usage.Frame += len(v)
	e.Room(10 + len(v))
	e.Buf = bitio.AppendUvarint(e.Buf, uint64(len(v))<<1)
	e.Buf = append(e.Buf, v...)
}

// Restart does nothing: there is no state.
func (e *StringEncoder) Restart() {}

// StringDecoder reads what StringEncoder writes. Consecutive strings of a frame share pieces of memory of
// at most 16 KiB, so keeping a string keeps at most that much other text in memory. Clone the string to
// avoid that.
type StringDecoder struct {
	bitio.ByteReader
	column []byte
	text   string // a piece of column
	from   int    // offset of text in column
}

// Reset makes d read data.
func (d *StringDecoder) Reset(data []byte) {
	d.ByteReader.Reset(data)
	d.column, d.text, d.from = data, "", 0
}

// Borrow makes Decode return strings that refer to the data of the frame instead of a
// copy. These strings are valid as long as the data is. Call Borrow before the first
// Decode of a frame: a later call may have no effect.
func (d *StringDecoder) Borrow() {
	if d.text == "" {
		d.text = unsafe.String(unsafe.SliceData(d.column), len(d.column))
	}
}

// Decode returns the next value.
func (d *StringDecoder) Decode() string {
	u := d.Uvarint()
	if u&1 != 0 {
		d.Fail(bitio.FaultLength)
		return ""
	}
	run, at := d.Next(u >> 1)
	if len(run) < MinEntry {
		return short(run)
	}
	i := at - d.from
	if i+len(run) > len(d.text) {
		d.next(at, len(run))
		i = 0
	}
	return d.text[i : i+len(run)]
}

// next copies a new piece of the column into d.text. The piece begins with the text at offset at,
// which has n bytes.
func (d *StringDecoder) next(at, n int) {
	size := n
	if n <= maxPiece/4 {
		size = min(maxPiece, len(d.column)-at)
	}
	d.text, d.from = string(d.column[at:at+size]), at
}

// Restart does nothing: there is no state.
func (d *StringDecoder) Restart() {}

// short returns text of at most one byte without allocating.
func short(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return oneByte[b[0] : int(b[0])+1]
}

// oneByte has all 256 bytes in order. short returns a part of it.
var oneByte = func() string {
	var b [256]byte
	for i := range b {
		b[i] = byte(i)
	}
	return string(b[:])
}()

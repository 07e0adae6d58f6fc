// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import "github.com/otelstef/stef/stef-go/schema"

// Event is one element of a stream that a Reader read: a part of a header, the size
// of a column, or a code in a column. See WithTrace.
type Event struct {
	// Frame is -1 in the fixed header, 0 in the variable header, and counts
	// data frames from 1.
	Frame int
	// Derived says that Offset counts from the start of the payload of the frame,
	// which is compressed and so not in the stream itself.
	Derived bool
	// Offset is the offset of the first byte of the element. For an element of bits,
	// Bit is the position of its first bit in that byte, 0 for the most significant
	// bit, and Bits is the number of its bits. Bits is -1 for an element of whole
	// bytes.
	Offset    int64
	Bit, Bits int
	// Data has the bytes of the element. For an element of bits, the first and the
	// last byte may contain bits of other elements.
	Data []byte
	// Column is the index in Frame.Columns of the column that contains the element, or
	// that the element describes. It is -1 if there is none. Path names the column and
	// Type is the type of its values.
	Column int
	Path   string
	Type   *schema.Type
	// Record counts the records of the stream from 1. It is 0 if the element is not part
	// of a record.
	Record uint64
	// Index has the positions in the enclosing arrays and multimaps of the value,
	// the outermost first.
	Index []int
	// Detail is the kind and meaning of the element. It is one of the Trace types.
	Detail any
}

// The details of events outside of values.
type (
	// TraceField is a part of a header or of the payload before the columns.
	TraceField struct {
		Name  string
		Value any
	}
	// TraceWire is one entry of a wire schema.
	TraceWire struct{ Fields uint64 }
	// TraceSize is the size of a column in the size table.
	TraceSize struct{ Size uint64 }
	// TraceFrame reports that the size table of a frame was read.
	TraceFrame struct{ Frame *Frame }
	// TracePadding fills the last byte of bits.
	TracePadding struct{}
	// TraceUnread is unread data. In a valid stream it has no effect. In an invalid
	// stream the error is in the unread data or before it.
	TraceUnread struct{}
)

// The details of events in columns.
type (
	// TraceBool is a bool.
	TraceBool struct{ Value bool }
	// TraceNumber is an int64, a uint64 or an enum. Delta is the difference to the
	// previous number, and Change the difference to the previous Delta.
	TraceNumber struct {
		Value         any
		Change, Delta int64
	}
	// TraceFloat is a float64. Bits is the size of its window, 0 if the value is
	// equal to the previous value.
	TraceFloat struct {
		Value             float64
		New               bool // whether the code has a new window
		Lead, Trail, Bits int
	}
	// TraceText is a string or bytes value. Ref is the number of the entry that it
	// refers to, Entry the number of the entry that it creates. Each is -1 if there is
	// none.
	TraceText struct {
		Value      any
		Dict       string
		Ref, Entry int
	}
	// TraceStruct is the start of a struct that is not a reference: a Modified mask of
	// Fields bits and a Presence mask of Optional bits.
	TraceStruct struct {
		Fields, Optional   int
		Modified, Presence uint64
	}
	// TraceRef is a reference to the entry of a struct dictionary.
	TraceRef struct {
		Ref   uint64
		Value *Struct
	}
	// TraceEntry reports the end of a struct that is not a reference and becomes a
	// dictionary entry. It has no bits.
	TraceEntry struct {
		Ref   uint64
		Value *Struct
	}
	// TraceChoice is the choice of a oneof. Missing is the number of bits of the choice
	// that are not in the stream.
	TraceChoice struct{ Choice, Missing int }
	// TraceLength is the length of an array.
	TraceLength struct{ Length uint64 }
	// TracePairs is the header of a multimap that is sent in full.
	TracePairs struct{ Pairs uint64 }
	// TraceChanged is the header of a multimap that is followed by changed values
	// without keys.
	TraceChanged struct{ Changed uint64 }
)

// tracer makes events. A nil tracer makes no events.
type tracer struct {
	f   func(*Event)
	src *source
	// The properties that the next events share.
	frame   int
	record  uint64
	base    int64 // offset of the payload
	derived bool
}

func (t *tracer) inFrame(n int) {
	if t != nil {
		t.frame, t.record, t.derived = n, 0, false
	}
}

func (t *tracer) inRecord(n uint64) {
	if t != nil {
		t.record = n
	}
}

func (t *tracer) emit(e *Event) {
	e.Frame, e.Record = t.frame, t.record
	t.f(e)
}

// read emits an event for the bytes that were read from the source and are not part of an
// event yet: for the first n of them, or for all if n < 0.
func (t *tracer) read(n int, detail any) {
	if t == nil {
		return
	}
	if n < 0 {
		n = len(t.src.seen)
	}
	data := t.src.seen[:n]
	offset := t.src.offset - int64(len(t.src.seen))
	t.src.seen = t.src.seen[n:]
	t.emit(&Event{Offset: offset, Bits: -1, Data: data, Column: -1, Detail: detail})
}

// field emits an event for a part of a header.
func (t *tracer) field(n int, name string, value any) {
	if t != nil {
		t.read(n, TraceField{name, value})
	}
}

// payload sets the payload of f, which was just read, as the base of the offsets of the
// next events.
func (t *tracer) payload(f Frame, compressed bool) {
	if t == nil {
		return
	}
	t.derived, t.base = compressed, 0
	if compressed {
		t.field(-1, "compressed content", nil)
		return
	}
	t.base = t.src.offset - int64(f.UncompressedSize)
	t.src.seen = nil
}

// failed emits an event after an error, for the bytes that were read from the source and
// are not part of an event yet.
func (t *tracer) failed() {
	if t != nil && len(t.src.seen) > 0 {
		t.read(-1, TraceUnread{})
	}
}

// bytes emits an event for the bytes that were read from r since the last event.
func (t *tracer) bytes(r *byteReader, detail any) {
	if t != nil {
		t.value(nil, r, nil, nil, detail)
	}
}

// value emits an event for the data that was read since the last event. The data is in bits, or in the
// bytes in if bits is nil. c is the column of the data, or nil if the data is in no column.
func (t *tracer) value(c *column, in *byteReader, bits *bitReader, index []int, detail any) {
	e := &Event{Column: -1, Derived: t.derived, Index: index, Detail: detail, Bits: -1}
	if c != nil {
		e.Column, e.Path, e.Type = c.number, c.path, c.typ
	}
	if bits == nil {
		e.Offset = t.base + int64(in.base+in.traced)
		e.Data = in.data[in.traced:in.n]
		in.traced = in.n
	} else {
		first := bits.traced / 8
		e.Offset = t.base + int64(bits.base+first)
		e.Bit, e.Bits = bits.traced%8, bits.n-bits.traced
		e.Data = bits.data[first : (bits.n+7)/8]
		if e.Bits == 0 {
			e.Data = nil
		}
		bits.traced = bits.n
	}
	t.emit(e)
}

func (t *tracer) columns(f *Frame) {
	if t != nil {
		t.emit(&Event{Offset: f.Offset, Bits: -1, Column: -1, Detail: TraceFrame{f}})
	}
}

// rest emits an event for the unread bytes in r, and for read bytes without an event.
func (t *tracer) rest(r *byteReader) {
	if t != nil && r.traced < len(r.data) {
		r.n = len(r.data)
		t.value(nil, r, nil, nil, TraceUnread{})
	}
}

// restOfBits is like rest, for a column of bits, which may end in padding.
func (t *tracer) restOfBits(c *column, r *bitReader) {
	if t == nil || r.traced == 8*len(r.data) {
		return
	}
	r.n = r.traced
	var detail any = TracePadding{}
	if r.end() != nil {
		detail = TraceUnread{}
	}
	r.n = 8 * len(r.data)
	t.value(c, nil, r, nil, detail)
}

// restOfColumns makes events of the data that the records of a frame did not read.
func (t *tracer) restOfColumns(cs *columns) {
	if t == nil || cs == nil {
		return
	}
	t.record = 0
	for _, c := range cs.all {
		if c.isBits() {
			t.restOfBits(c, &c.bitIn)
		} else if in := &c.byteIn; in.traced < len(in.data) {
			in.n = len(in.data)
			t.value(c, in, nil, nil, TraceUnread{})
		}
	}
	cs.empty() // a later error must not report this data again
}

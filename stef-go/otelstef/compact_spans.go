// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// spansForm is the part of the state of the compact form that a writer and a reader of spans have in
// common.
type spansForm struct {
	on       bool
	wire     CompactSpan // the fields that were sent last
	id       uint64      // id, start and duration: the fields of the root that a writer sent last
	start    uint64
	duration uint64
	spans    compact.Spans
	span     compact.Span
	fields   compact.SpanFields
}

const (
	compactSpan = CompactSpanFieldTrace | CompactSpanFieldTraceHigh | CompactSpanFieldTraceLow | CompactSpanFieldKnown |
		CompactSpanFieldParent | CompactSpanFieldParentID | CompactSpanFieldTimes | CompactSpanFieldApart
	compactSpans = SpansFieldCompact | SpansFieldID | SpansFieldStart | SpansFieldDuration
	spanIDs      = SpanFieldTraceID | SpanFieldSpanID | SpanFieldParentSpanID
	spanTimes    = SpanFieldStartTimeUnixNano | SpanFieldEndTimeUnixNano
)

func (f *spansForm) begin(fields SpansFields) {
	f.wire.init(nil, 0)
	f.wire.clear()
	f.id, f.start, f.duration = 0, 0, 0
	f.on = fields.Spans&compactSpans == compactSpans && fields.CompactSpan&compactSpan == compactSpan
}

// Restart discards the state of the compact form.
func (f *spansForm) Restart() { f.spans.Reset() }

// Held returns the memory of the state of the compact form.
func (f *spansForm) Held() int { return f.spans.Held() }

// Release discards the state of the compact form and releases its memory.
func (f *spansForm) Release() { f.spans.Release() }

// spansWriterForm converts spans to the compact form.
type spansWriterForm struct {
	spansForm
	all  bool   // send all fields in the root
	kept uint64 // the fields of Span that the stream keeps
}

func (f *spansWriterForm) start(w *SpansWriter) {
	f.begin(w.fields)
	f.kept = w.fields.Span
	f.spans.Own = true
	if f.on {
		w.encoder.span.head.Mask &^= spanIDs | spanTimes
		w.encoder.span.events.elem.head.Mask &^= EventFieldTimeUnixNano
		stefrt.AtRestart(&w.WriteStream, f)
	}
}

func (f *spansWriterForm) reset() {
	f.wire.clear()
	f.id, f.spansForm.start, f.duration, f.all = 0, 0, 0, false
	// Keep the slice of times, to reuse its memory. All other fields are reset.
	f.fields = compact.SpanFields{Times: f.fields.Times[:0]}
}

func (f *spansWriterForm) sendAll() {
	f.wire.markAll(new(stefrt.Check))
	f.all = true
}

func (f *spansWriterForm) encode(w *SpansWriter) {
	s, e := &w.record, &w.encoder
	mask := s.node.Take() & e.head.Mask &^ (compactSpans | SpansFieldSpan)
	if mask&SpansFieldEnvelope != 0 {
		e.envelope.Encode(&s.envelope)
	}
	if mask&SpansFieldResource != 0 {
		s.resourceSent = e.resource.Encode(s.resource, s.resourceSent)
	}
	if mask&SpansFieldScope != 0 {
		s.scopeSent = e.scope.Encode(s.scope, s.scopeSent)
	}
	f.take(&s.span)
	if f.span.Apart {
		// Send all ids, changed or not, because readers do not keep them.
		s.span.node.SetModified(s.span.node.Modified() | spanIDs)
		e.span.head.Mask |= spanIDs & f.kept
	}
	if s.span.node.Modified()&e.span.head.Mask != 0 {
		mask |= SpansFieldSpan
		e.span.Encode(&s.span)
	} else {
		s.span.node.SetModified(0)
	}
	if f.span.Apart {
		e.span.head.Mask &^= spanIDs
	}
	f.spans.Put(&f.span, &f.fields)
	mask |= f.set(e)
	e.head.Write(mask, e.head.Fields)
}

// set copies f.fields to f.wire, and writes the fields that differ.
func (f *spansWriterForm) set(e *spansEncoder) (mask uint64) {
	w, x := &f.wire, &f.fields
	marks := w.node.Modified() |
		setBits(&w.traceHigh, x.High, CompactSpanFieldTraceHigh) |
		setBits(&w.traceLow, x.Low, CompactSpanFieldTraceLow) |
		setBits(&w.parentID, x.ParentID, CompactSpanFieldParentID)
	if w.trace != x.Trace {
		w.trace = x.Trace
		marks |= CompactSpanFieldTrace
	}
	if w.known != x.Known {
		w.known = x.Known
		marks |= CompactSpanFieldKnown
	}
	if w.parent != x.Parent {
		w.parent = x.Parent
		marks |= CompactSpanFieldParent
	}
	if w.apart != f.span.Apart {
		w.apart = f.span.Apart
		marks |= CompactSpanFieldApart
	}
	w.node.SetModified(marks)
	if len(x.Times)|w.times.Len() != 0 {
		w.times.SetValues(x.Times)
	}
	if w.node.Modified() != 0 {
		mask |= SpansFieldCompact
		e.compact.Encode(w)
	}
	if f.id != x.ID || f.all {
		f.id = x.ID
		mask |= SpansFieldID
		e.id.Encode(math.Float64frombits(f.id))
	}
	if f.spansForm.start != x.Start || f.all {
		f.spansForm.start = x.Start
		mask |= SpansFieldStart
		e.start.Encode(x.Start)
	}
	if f.duration != x.Duration || f.all {
		f.duration = x.Duration
		mask |= SpansFieldDuration
		e.duration.Encode(x.Duration)
	}
	f.all = false
	return mask
}

// setBits sets a double to bits. It returns mark if this changes the double, otherwise 0.
func setBits(dst *float64, bits, mark uint64) uint64 {
	if math.Float64bits(*dst) == bits {
		return 0
	}
	*dst = math.Float64frombits(bits)
	return mark
}

// take sets f.span from the span of a record.
func (f *spansWriterForm) take(src *Span) {
	x := &f.span
	x.Start, x.End = src.startTimeUnixNano, src.endTimeUnixNano
	// The reader has no name and no events if the stream does not keep these fields.
	if x.Name = src.name; f.kept&SpanFieldName == 0 {
		x.Name = ""
	}
	x.Times = x.Times[:0]
	if f.kept&SpanFieldEvents != 0 {
		for i := range src.events.Len() {
			x.Times = append(x.Times, src.events.At(i).timeUnixNano)
		}
	}
	parent := src.parentSpanID
	x.Apart = len(src.traceID) != 16 || len(src.spanID) != 8 || len(parent) != 8 && len(parent) != 0
	if x.Apart {
		return
	}
	x.High, x.Low = binary.BigEndian.Uint64(src.traceID), binary.BigEndian.Uint64(src.traceID[8:])
	x.ID = binary.BigEndian.Uint64(src.spanID)
	if x.HasParent = len(parent) > 0; x.HasParent {
		x.Parent = binary.BigEndian.Uint64(parent)
	}
}

// spansReaderForm converts spans from the compact form.
type spansReaderForm struct {
	spansForm
	held [3][]byte // ids that the stream sent last in the fields of Span

	measured measuredSpans
}

// measuredSpans refers to the values that a reader decodes into, to measure their
// memory.
type measuredSpans struct {
	record *Spans
	wire   *CompactSpan
	span   *compact.Span
	held   *[3][]byte
}

func (f *spansReaderForm) start(r *SpansReader) {
	f.begin(r.fields)
	f.Restart()
	f.held, f.fields = [3][]byte{}, compact.SpanFields{}
	f.span.Apart, f.span.Name = false, ""
	if f.on {
		f.measured = measuredSpans{&r.record, &f.wire, &f.span, &f.held}
		stefrt.Measure(&r.ReadStream, &f.measured)
		stefrt.AtReadRestart(&r.ReadStream, f)
	}
}

// computed returns the fields of the record that the compact form computes. Run returns 0 for them.
func (f *spansReaderForm) computed() uint64 { return SpansFieldSpan }

func (f *spansReaderForm) decode(r *SpansReader) {
	s, d := &r.record, &r.decoder
	mask := d.head.Read(d.head.Fields)
	if mask&(SpansFieldEnvelope|SpansFieldResource|SpansFieldScope) != 0 {
		d.decodeContainer(s, mask)
	}
	s.span.node.SetModified(0)
	if mask&SpansFieldSpan != 0 {
		d.span.Decode(&s.span)
	}
	x := &f.fields
	if mask&SpansFieldCompact != 0 {
		// Do the same as d.compact.Decode, but store the fields in f.fields, and only the times in
		// f.wire. A call of Decode would take time for each span.
		d := &d.compact
		mask := d.head.Read(d.head.Fields)
		if mask&CompactSpanFieldTrace != 0 {
			x.Trace = d.trace.Decode()
		}
		if mask&CompactSpanFieldTraceHigh != 0 {
			x.High = d.traceHigh.DecodeBits()
		}
		if mask&CompactSpanFieldTraceLow != 0 {
			x.Low = d.traceLow.DecodeBits()
		}
		if mask&CompactSpanFieldKnown != 0 {
			x.Known = d.known.Decode()
		}
		if mask&CompactSpanFieldParent != 0 {
			x.Parent = d.parent.Decode()
		}
		if mask&CompactSpanFieldParentID != 0 {
			x.ParentID = d.parentID.DecodeBits()
		}
		if mask&CompactSpanFieldTimes != 0 {
			times := &f.wire.times
			times.Decoded(d.times.Decode(times.Encoding()))
			x.Times = times.Values()
		}
		if mask&CompactSpanFieldApart != 0 {
			f.wire.apart = d.apart.Decode()
		}
	}
	if mask&SpansFieldID != 0 {
		x.ID = d.id.DecodeBits()
	}
	if mask&SpansFieldStart != 0 {
		x.Start = d.start.Decode()
	}
	if mask&SpansFieldDuration != 0 {
		x.Duration = d.duration.Decode()
	}
	s.node.SetModified(mask &^ compactSpans)
	if stefrt.Faulty(&r.ReadStream) {
		return
	}
	if !f.undo(s) {
		d.head.NoSuchForm()
	}
}

// decodeContainer reads the fields before the span. Most records do not have these fields.
func (d *spansDecoder) decodeContainer(s *Spans, mask uint64) {
	if mask&SpansFieldEnvelope != 0 {
		d.envelope.Decode(&s.envelope)
	}
	if mask&SpansFieldResource != 0 {
		s.resource = d.resource.Decode(s.resource)
	}
	if mask&SpansFieldScope != 0 {
		s.scope = d.scope.Decode(s.scope)
	}
}

// undo sets the ids and times of a span.
func (f *spansReaderForm) undo(s *Spans) bool {
	dst := &s.span
	changed := dst.node.Modified()
	if changed&spanIDs != 0 {
		f.keep(dst, changed)
	}
	x := &f.span
	n := dst.events.Len()
	if n > 0 {
		f.beginEvents(dst, n, changed)
	}
	wasApart := x.Apart
	if x.SameName = changed&SpanFieldName == 0 && !wasApart; !x.SameName {
		x.Name = dst.name
	}
	x.Apart = f.wire.apart
	if n != len(x.Times) {
		x.Times = x.Times[:n]
	}
	if !f.spans.Take(&f.fields, x) {
		return false
	}
	for i, time := range x.Times {
		if e := dst.events.At(i); e.timeUnixNano != time { // like SetTimeUnixNano, but without a call
			e.node.Mark(EventFieldTimeUnixNano)
			e.timeUnixNano = time
		}
	}
	marks := dst.node.Modified()
	if dst.startTimeUnixNano != x.Start {
		dst.startTimeUnixNano = x.Start
		marks |= SpanFieldStartTimeUnixNano
	}
	if dst.endTimeUnixNano != x.End {
		dst.endTimeUnixNano = x.End
		marks |= SpanFieldEndTimeUnixNano
	}
	if x.Apart && wasApart && changed&spanIDs == 0 {
		// The record already has these ids. They can be long, so they are not compared.
	} else if x.Apart {
		dst.node.SetModified(marks)
		dst.SetTraceID(f.held[0])
		dst.SetSpanID(f.held[1])
		dst.SetParentSpanID(f.held[2])
		marks = dst.node.Modified()
	} else {
		if (!x.SameTrace || wasApart || changed&SpanFieldTraceID != 0) && setTraceID(&dst.traceID, x.High, x.Low) {
			marks |= SpanFieldTraceID
		}
		if setID(&dst.spanID, x.ID) {
			marks |= SpanFieldSpanID
		}
		if x.HasParent {
			if setID(&dst.parentSpanID, x.Parent) {
				marks |= SpanFieldParentSpanID
			}
		} else if len(dst.parentSpanID) > 0 {
			dst.parentSpanID = dst.parentSpanID[:0]
			marks |= SpanFieldParentSpanID
		}
	}
	dst.node.SetModified(marks)
	if marks != 0 {
		s.node.SetModified(s.node.Modified() | SpansFieldSpan)
	}
	return true
}

// setTraceID sets an id of 16 bytes, and reports whether it differed.
func setTraceID(dst *[]byte, high, low uint64) bool {
	id := *dst
	if len(id) == 16 {
		if binary.BigEndian.Uint64(id[8:]) == low && binary.BigEndian.Uint64(id) == high {
			return false
		}
		binary.BigEndian.PutUint64(id, high)
		binary.BigEndian.PutUint64(id[8:], low)
		return true
	}
	*dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(id[:0], high), low)
	return true
}

// setID sets an id of 8 bytes, and reports whether it differed.
func setID(dst *[]byte, id uint64) bool {
	old := *dst
	if len(old) == 8 {
		if binary.BigEndian.Uint64(old) == id {
			return false
		}
		binary.BigEndian.PutUint64(old, id)
		return true
	}
	*dst = binary.BigEndian.AppendUint64(old[:0], id)
	return true
}

// beginEvents clears the marks of the events if no events were sent, and makes room for the times
// of all n events.
func (f *spansReaderForm) beginEvents(dst *Span, n int, changed uint64) {
	dst.events.BeginEncode() // clears the mark of events
	if changed&SpanFieldEvents == 0 {
		for i := range n {
			dst.events.At(i).node.SetModified(0)
		}
	}
	f.span.Times = slices.Grow(f.span.Times[:0], n)
}

// keep copies the ids that were sent, because undo overwrites the ids of the record.
func (f *spansReaderForm) keep(s *Span, changed uint64) {
	for i, x := range []struct {
		field uint64
		id    []byte
	}{{SpanFieldTraceID, s.traceID}, {SpanFieldSpanID, s.spanID}, {SpanFieldParentSpanID, s.parentSpanID}} {
		if changed&x.field != 0 {
			f.held[i] = append(f.held[i][:0], x.id...)
		}
	}
}

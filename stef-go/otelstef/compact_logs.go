// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"encoding/binary"
	"math"

	"github.com/otelstef/stef/stef-go/internal/compact"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// logsForm is the part of the state of the compact form that a writer and a reader of logs have in
// common.
type logsForm struct {
	on     bool
	wire   CompactLog // the fields that were sent last
	held   heldLog    // the sent fields that are not in CompactLog
	logs   compact.Logs
	log    compact.Log
	fields compact.LogFields
}

// heldLog has the fields of the compact form that are not in CompactLog.
type heldLog struct{ time, observed, ids, trace, known, id uint64 }

const (
	compactLogs   = LogsFieldCompact | LogsFieldTrace | LogsFieldKnown | LogsFieldID
	compactLog    = CompactLogFieldTraceHigh | CompactLogFieldTraceLow // without Refers and Formats, which older streams lack
	compactRecord = LogRecordFieldCompactTime | LogRecordFieldCompactObserved | LogRecordFieldCompactForm
	logIDs        = LogRecordFieldTraceID | LogRecordFieldSpanID
	logTimes      = LogRecordFieldTime | LogRecordFieldObservedTime | LogRecordFieldObservedDelta
)

func (f *logsForm) begin(fields LogsFields) {
	f.wire.init(nil, 0)
	f.wire.clear()
	f.held = heldLog{}
	f.on = fields.Compact()
}

// Compact reports whether a stream with these fields is in the compact form.
func (f LogsFields) Compact() bool {
	return f.Logs&compactLogs == compactLogs && f.CompactLog&compactLog == compactLog &&
		f.LogRecord&compactRecord == compactRecord
}

// Refers reports whether attributes and structured bodies in a stream with these fields
// can have references. Streams in the first version of the compact form cannot.
func (f LogsFields) Refers() bool { return f.Compact() && f.CompactLog&CompactLogFieldRefers != 0 }

// Formats reports whether a stream with these fields can have references with a format:
// ReferenceClock and ReferenceDouble. Streams in the first versions of the compact form cannot.
func (f LogsFields) Formats() bool { return f.Refers() && f.CompactLog&CompactLogFieldFormats != 0 }

// SetReferences says whether the next records have references: attributes, and texts in
// structured bodies, that begin with the byte 0 and stand for other text of the log
// record. The default is false. on must be false if LogsFields.Refers returns false.
//
// spec: #compact-references
func (w *LogsWriter) SetReferences(on bool) { w.form.wire.SetRefers(on) }

// Restart discards the state of the compact form.
func (f *logsForm) Restart() { f.logs.Reset() }

// Held returns the memory of the state of the compact form.
func (f *logsForm) Held() int { return f.logs.Held() }

// Release discards the state of the compact form and releases its memory.
func (f *logsForm) Release() { f.logs.Release() }

// logsWriterForm converts log records to the compact form.
type logsWriterForm struct {
	logsForm
	all bool // send all fields, even unchanged ones
}

func (f *logsWriterForm) start(w *LogsWriter) {
	f.begin(w.fields)
	if f.on {
		w.encoder.record.head.Mask &^= logIDs | logTimes
		stefrt.AtRestart(&w.WriteStream, f)
	}
}

func (f *logsWriterForm) reset() {
	f.wire.clear()
	f.held, f.all = heldLog{}, false
	// Put does not set fields that a record does not use, so clear them here.
	f.fields = compact.LogFields{}
}

func (f *logsWriterForm) sendAll() {
	f.wire.markAll(new(stefrt.Check))
	f.all = true
}

func (f *logsWriterForm) encode(w *LogsWriter) {
	s, e := &w.record, &w.encoder
	mask := s.node.Take() & e.head.Mask &^ (compactLogs | LogsFieldRecord)
	if mask&LogsFieldEnvelope != 0 {
		e.envelope.Encode(&s.envelope)
	}
	if mask&LogsFieldResource != 0 {
		s.resourceSent = e.resource.Encode(s.resource, s.resourceSent)
	}
	if mask&LogsFieldScope != 0 {
		s.scopeSent = e.scope.Encode(s.scope, s.scopeSent)
	}
	was := f.held
	plain := f.put(&s.record)
	if f.all {
		was = heldLog{^f.held.time, ^f.held.observed, ^f.held.ids, ^f.held.trace, ^f.held.known, ^f.held.id}
		f.all = false
	}
	mask |= f.encodeRecord(e, &s.record, was, plain)
	f.wire.SetTraceHigh(math.Float64frombits(f.fields.High))
	f.wire.SetTraceLow(math.Float64frombits(f.fields.Low))
	if f.wire.node.Modified() != 0 {
		mask |= LogsFieldCompact
		e.compact.Encode(&f.wire)
	}
	if f.held.trace != was.trace {
		mask |= LogsFieldTrace
		e.trace.Encode(f.held.trace)
	}
	if f.held.known != was.known {
		mask |= LogsFieldKnown
		e.known.Encode(f.held.known)
	}
	if f.held.id != was.id {
		mask |= LogsFieldID
		e.id.Encode(math.Float64frombits(f.held.id))
	}
	e.head.Write(mask, e.head.Fields)
}

// put sets f.fields and f.held, the fields of the compact form, for a log record. It returns the
// fields of LogRecord that must be sent in addition.
func (f *logsWriterForm) put(src *LogRecord) (plain uint64) {
	x := &f.log
	x.Time, x.Observed = src.time, src.observedTime
	if src.HasObservedDelta() {
		x.Observed = src.time + uint64(src.ObservedDelta())
	}
	trace, span := src.traceID, src.spanID
	switch {
	case len(trace) == 0 && len(span) == 0:
		x.IDs = compact.NoIDs
	case len(trace) == 16 && (len(span) == 8 || len(span) == 0):
		x.High, x.Low = binary.BigEndian.Uint64(trace), binary.BigEndian.Uint64(trace[8:])
		x.IDs = compact.OnlyTrace
		if len(span) == 8 {
			x.IDs = compact.TraceAndSpan
			x.ID = binary.BigEndian.Uint64(span)
		}
	default:
		x.IDs = compact.OtherIDs
		plain |= logIDs
	}
	f.logs.Put(x, &f.fields)
	if f.fields.FarTime {
		plain |= LogRecordFieldTime
	}
	if f.fields.FarObserved {
		plain |= LogRecordFieldObservedTime
	}
	g := &f.fields
	f.held = heldLog{g.Time, g.Observed, x.IDs, g.Trace, g.Known, g.ID}
	return plain
}

// encodeRecord writes the log record. It sets the fields of the compact form in the record, and
// clears them before it returns.
func (f *logsWriterForm) encodeRecord(e *logsEncoder, s *LogRecord, was heldLog, plain uint64) (mask uint64) {
	marks := plain | stefrt.If(f.held.time != was.time, LogRecordFieldCompactTime) |
		stefrt.If(f.held.observed != was.observed, LogRecordFieldCompactObserved) |
		stefrt.If(f.held.ids != was.ids, LogRecordFieldCompactForm)
	modified := s.node.Modified()&e.record.head.Mask | marks
	s.node.SetModified(modified)
	if modified == 0 {
		return 0
	}
	// Send the plain fields even if they are unchanged, because readers do not keep them.
	whole := e.record.head.Mask
	e.record.head.Mask |= plain
	observed, delta, has := s.observedTime, s.ObservedDelta(), s.HasObservedDelta()
	if has {
		s.observedTime = f.log.Observed
		s.UnsetObservedDelta()
	}
	s.compactTime, s.compactObserved, s.compactForm = f.held.time, f.held.observed, f.held.ids
	s.node.SetModified(modified)
	e.record.Encode(s)
	s.compactTime, s.compactObserved, s.compactForm = 0, 0, 0
	if has {
		s.observedTime = observed
		s.SetObservedDelta(delta)
	}
	s.node.SetModified(0)
	e.record.head.Mask = whole
	return LogsFieldRecord
}

// logsReaderForm converts log records from the compact form.
type logsReaderForm struct {
	logsForm
	sent struct { // ids and times that the stream sent last in the fields of LogRecord
		time, observed uint64
		ids            [2][]byte // of the trace and of the span
	}
	values     valueReferences
	references references

	measured measuredLogs
}

// measuredLogs refers to the values that a reader decodes into, to measure their
// memory.
type measuredLogs struct {
	record     *Logs
	sent       *[2][]byte
	values     *valueReferences
	references *references
}

func (f *logsReaderForm) start(r *LogsReader) {
	f.begin(r.fields)
	f.Restart()
	f.sent.time, f.sent.observed, f.sent.ids = 0, 0, [2][]byte{}
	f.log.IDs, f.fields = compact.NoIDs, compact.LogFields{}
	f.values.forget()
	f.references.forget()
	f.references.formats, f.values.formats = r.fields.Formats(), r.fields.Formats()
	if f.on {
		f.measured = measuredLogs{&r.record, &f.sent.ids, &f.values, &f.references}
		stefrt.Measure(&r.ReadStream, &f.measured)
		stefrt.AtReadRestart(&r.ReadStream, f)
	}
}

// computed returns the fields of the record that the compact form computes. Run returns 0 for them.
func (f *logsReaderForm) computed() uint64 { return LogsFieldRecord }

func (f *logsReaderForm) decode(r *LogsReader) {
	s, d := &r.record, &r.decoder
	if f.values.restored || len(f.values.replaced) > 0 {
		f.values.restore()
	}
	mask := d.head.Read(d.head.Fields)
	if mask&LogsFieldEnvelope != 0 {
		d.envelope.Decode(&s.envelope)
	}
	if mask&LogsFieldResource != 0 {
		s.resource = d.resource.Decode(s.resource)
	}
	if mask&LogsFieldScope != 0 {
		s.scope = d.scope.Decode(s.scope)
	}
	s.record.node.SetModified(0)
	if mask&LogsFieldRecord != 0 {
		f.decodeRecord(&d.record, &s.record)
	}
	if mask&LogsFieldCompact != 0 {
		// Do the same as d.compact.Decode, but store the fields in f.fields. Only Refers is stored
		// in f.wire.
		d, x := &d.compact, &f.fields
		mask := d.head.Read(d.head.Fields)
		if mask&CompactLogFieldTraceHigh != 0 {
			x.High = d.traceHigh.DecodeBits()
		}
		if mask&CompactLogFieldTraceLow != 0 {
			x.Low = d.traceLow.DecodeBits()
		}
		if mask&CompactLogFieldRefers != 0 {
			f.wire.refers = d.refers.Decode()
		}
		if mask&CompactLogFieldFormats != 0 {
			d.formats.Decode() // the value is unused: Formats checks only whether the stream has the field
		}
	}
	if mask&LogsFieldTrace != 0 {
		f.fields.Trace = d.trace.Decode()
	}
	if mask&LogsFieldKnown != 0 {
		f.fields.Known = d.known.Decode()
	}
	if mask&LogsFieldID != 0 {
		f.fields.ID = d.id.DecodeBits()
	}
	s.node.SetModified(mask &^ compactLogs)
	if stefrt.Faulty(&r.ReadStream) {
		return
	}
	if !f.undo(s) {
		d.head.NoSuchForm()
	}
}

// decodeRecord decodes a log record like the generated Decode, but stores the fields of
// the compact form in f.
func (f *logsReaderForm) decodeRecord(d *logRecordDecoder, s *LogRecord) {
	mask := d.head.Read(d.head.Fields)
	present := d.head.Read(d.head.Optional)
	if mask&(logIDs|logTimes) != 0 {
		f.decodeSent(d, mask, present)
	}
	if mask&LogRecordFieldSeverityNumber != 0 {
		s.severityNumber = d.severityNumber.Decode()
	}
	if mask&LogRecordFieldSeverityText != 0 {
		s.severityText = d.severityText.Decode()
	}
	if mask&LogRecordFieldEventName != 0 {
		s.eventName = d.eventName.Decode()
	}
	if mask&LogRecordFieldFlags != 0 {
		s.flags = d.flags.Decode()
	}
	if mask&LogRecordFieldBody != 0 {
		d.body.Decode(&s.body)
	}
	if mask&LogRecordFieldAttributes != 0 {
		d.attributes.Decode(&s.attributes)
	}
	if mask&LogRecordFieldDroppedAttributesCount != 0 {
		s.droppedAttributesCount = d.droppedAttributesCount.Decode()
	}
	if mask&LogRecordFieldCompactTime != 0 {
		f.fields.Time = d.compactTime.Decode()
	}
	if mask&LogRecordFieldCompactObserved != 0 {
		f.fields.Observed = d.compactObserved.Decode()
	}
	if mask&LogRecordFieldCompactForm != 0 {
		f.held.ids = d.compactForm.Decode()
	}
	s.present = 0 // ObservedTime replaces ObservedDelta
	s.node.SetModified(mask &^ (compactRecord | LogRecordFieldObservedDelta))
}

// decodeSent decodes the ids and times that the stream has in the fields of LogRecord, and
// stores them in f.sent. undo sets these fields of the record later.
func (f *logsReaderForm) decodeSent(d *logRecordDecoder, mask, present uint64) {
	if mask&LogRecordFieldTime != 0 {
		f.sent.time = d.time.Decode()
	}
	if mask&LogRecordFieldObservedTime != 0 {
		f.sent.observed = d.observedTime.Decode()
	}
	if mask&LogRecordFieldObservedDelta != 0 && present&1 != 0 {
		d.observedDelta.Decode() // not used: no writer sends ObservedDelta in the compact form
	}
	if mask&LogRecordFieldTraceID != 0 {
		f.sent.ids[0] = d.traceID.Decode(f.sent.ids[0][:0])
	}
	if mask&LogRecordFieldSpanID != 0 {
		f.sent.ids[1] = d.spanID.Decode(f.sent.ids[1][:0])
	}
}

// undo sets the ids and times of a log record.
func (f *logsReaderForm) undo(s *Logs) bool {
	dst := &s.record
	x := &f.log
	marks := dst.node.Modified()
	same := x.IDs == compact.OtherIDs && marks&logIDs == 0
	x.Time, x.Observed, x.IDs = f.sent.time, f.sent.observed, f.held.ids
	if x.IDs > compact.OtherIDs || !f.logs.Take(&f.fields, x) {
		return false
	}
	if dst.time != x.Time {
		dst.time = x.Time
		marks |= LogRecordFieldTime
	}
	if dst.observedTime != x.Observed {
		dst.observedTime = x.Observed
		marks |= LogRecordFieldObservedTime
	}
	switch x.IDs {
	case compact.TraceAndSpan:
		if setTraceID(&dst.traceID, x.High, x.Low) {
			marks |= LogRecordFieldTraceID
		}
		if setID(&dst.spanID, x.ID) {
			marks |= LogRecordFieldSpanID
		}
	case compact.OnlyTrace:
		if setTraceID(&dst.traceID, x.High, x.Low) {
			marks |= LogRecordFieldTraceID
		}
		if len(dst.spanID) > 0 {
			dst.spanID = dst.spanID[:0]
			marks |= LogRecordFieldSpanID
		}
	case compact.NoIDs:
		if len(dst.traceID) > 0 {
			dst.traceID = dst.traceID[:0]
			marks |= LogRecordFieldTraceID
		}
		if len(dst.spanID) > 0 {
			dst.spanID = dst.spanID[:0]
			marks |= LogRecordFieldSpanID
		}
	case compact.OtherIDs:
		if !same { // these ids can be long: do not compare them if the record still has them
			dst.node.SetModified(marks)
			dst.SetTraceID(f.sent.ids[0])
			dst.SetSpanID(f.sent.ids[1])
			marks = dst.node.Modified()
		}
	}
	dst.node.SetModified(marks)
	if marks != 0 {
		s.node.SetModified(s.node.Modified() | LogsFieldRecord)
	}
	total := 0
	if f.wire.refers || f.values.restored {
		total = f.values.undo(dst, f.wire.refers)
	}
	if dst.body.typ != LogBodyTypeTemplate && len(f.references.sent) == 0 {
		return total <= ReferencedBytes
	}
	return f.references.undo(dst, total)
}

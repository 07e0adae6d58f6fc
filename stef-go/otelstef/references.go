// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"encoding/hex"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/otelstef/stef/stef-go/stefrt"
)

// A reference is a text in the compact form that stands for text from elsewhere in the same log
// record: the byte 0, a letter, and what the letter requires. A parameter of a body template can be
// a reference if the key of the parameter is true. In records whose Refers is true, attributes and
// pairs of a structured body can also be references.
//
// spec: #compact-references
const (
	// ReferenceTrace stands for the TraceID and ReferenceSpan for the SpanID, in
	// lower-case hexadecimal.
	ReferenceTrace = "\x00t"
	ReferenceSpan  = "\x00s"
	// ReferenceAttribute is followed by the number of an attribute, as a byte. It
	// stands for the text or the decimal integer of the attribute, or of its only
	// element if it is an array.
	ReferenceAttribute = "\x00a"
	// ReferenceTime is followed by a TimeFormat.
	ReferenceTime = "\x00T"
	// ReferenceKey is followed by a key of the structured body. Only attributes have
	// such references.
	ReferenceKey = "\x00k"
	// ReferenceClock is followed by a ClockFormat. LogsFields.Formats says whether a stream
	// can have it.
	ReferenceClock = "\x00L"
	// ReferenceDouble is followed by two bytes: the number of an attribute, and a
	// digit. It stands for the shortest decimal of the double, with at least as many
	// decimal places as the digit says. LogsFields.Formats says whether a stream can
	// have it.
	ReferenceDouble = "\x00d"
)

// referenced returns the text that a reference stands for. If the record contains this text, own is
// the text. Otherwise, the text is appended to dst. ok is false if text is not a reference, or
// refers to something that the record does not have. formats says whether the stream can have
// references with a format.
func referenced(dst []byte, r *LogRecord, text string, formats bool) (_ []byte, own string, ok bool) {
	switch {
	case len(text) < 2 || text[0] != 0:
	case text == ReferenceTrace && len(r.traceID) > 0:
		return hex.AppendEncode(dst, r.traceID), "", true
	case text == ReferenceSpan && len(r.spanID) > 0:
		return hex.AppendEncode(dst, r.spanID), "", true
	case len(text) > 3:
		if !formats {
			return dst, "", false
		}
		dst, ok = formatted(dst, r, text)
		return dst, "", ok
	case len(text) != 3:
	case text[:2] == ReferenceTime:
		dst, ok = AppendTime(dst, TimeFormat(text[2]), r.time)
		return dst, "", ok
	case text[:2] == ReferenceAttribute && int(text[2]) < len(r.attributes.pairs):
		v := &r.attributes.pairs[text[2]].value
		if a := v.Array(); a != nil && a.Len() == 1 {
			v = a.At(0)
		}
		switch v.typ {
		case AnyValueTypeString:
			return dst, v.str, true
		case AnyValueTypeInt64:
			return strconv.AppendInt(dst, int64(v.num), 10), "", true
		}
	}
	return dst, "", false
}

// formatted appends the text of a reference with a format.
func formatted(dst []byte, r *LogRecord, text string) ([]byte, bool) {
	switch text[:2] {
	case ReferenceClock:
		return AppendClock(dst, ClockFormat(text[2:]), r.time)
	case ReferenceDouble:
		if len(text) == 4 && int(text[2]) < len(r.attributes.pairs) {
			if v := &r.attributes.pairs[text[2]].value; v.typ == AnyValueTypeFloat64 {
				return AppendDecimal(dst, math.Float64frombits(v.num), text[3])
			}
		}
	}
	return dst, false
}

// ReferencedBytes is the maximum total length of the texts that the references of a record
// stand for. A reader refuses a record that exceeds this length.
const ReferencedBytes = 1 << 20

// references replaces the references in the parameters of a body by their texts. It keeps the
// references that were sent: a record that does not send a parameter again can still change the
// text that its reference stands for.
type references struct {
	formats bool     // the stream can have references with a format
	sent    []string // the reference in each parameter, or "" if it has none
	found   int      // number of references in sent
	text    []byte
	changed []changedText
	texts   textChunk
}

// textChunk allocates texts. Short texts share an allocation.
type textChunk struct{ chunk strings.Builder }

// firstTexts is the size of the first chunk. Each further chunk has twice the size, up
// to chunkTexts. Callers that keep a text keep its whole chunk in memory, so texts
// longer than a quarter of a chunk have their own memory.
const (
	chunkTexts = 4 << 10
	firstTexts = 512
)

func (t *textChunk) text(b []byte) string {
	if len(b) > chunkTexts/4 {
		return string(b)
	}
	from := t.chunk.Len()
	if t.chunk.Cap()-from < len(b) {
		next := min(max(2*t.chunk.Cap(), firstTexts, len(b)), chunkTexts)
		t.chunk.Reset()
		t.chunk.Grow(next)
		from = 0
	}
	t.chunk.Write(b)
	return t.chunk.String()[from:]
}

// changedText is a parameter whose text changes. The new text is
// references.text[from:to].
type changedText struct{ param, from, to int }

func (f *references) reset() { f.sent, f.found = f.sent[:0], 0 }

// forget discards the references of a stream that ended, and the texts, so that the
// next stream does not share memory with it.
func (f *references) forget() {
	f.reset()
	f.texts = textChunk{}
}

// undo replaces the references in the body of a decoded record by their texts. total is
// the length of the texts of the other references of the record. It returns false if
// the texts of all references together are too long.
func (f *references) undo(r *LogRecord, total int) bool {
	body := &r.body
	if body.typ != LogBodyTypeTemplate {
		f.reset()
		return total <= ReferencedBytes
	}
	t := &body.box.template
	decoded := r.node.Modified()&LogRecordFieldBody != 0
	if !decoded {
		t.node.SetModified(0)
	}
	if decoded && t.node.Modified()&BodyTemplateFieldParams != 0 {
		f.keep(&t.params)
	} else {
		t.params.node.SetModified(0)
	}
	body.node.SetModified(0)
	if f.found == 0 {
		return total <= ReferencedBytes
	}
	return f.replace(r, &t.params, total)
}

// keep copies the references among the decoded parameters to f.sent.
func (f *references) keep(m *BodyParams) {
	changed := m.node.Modified()
	if changed&stefrt.FullBit != 0 {
		f.reset()
		for i := range m.pairs {
			f.keepOne(m, i)
		}
		return
	}
	for ; changed != 0; changed &= changed - 1 {
		f.keepOne(m, bits.TrailingZeros64(changed))
	}
}

func (f *references) keepOne(m *BodyParams, i int) {
	if i < len(f.sent) && f.sent[i] != "" {
		f.found--
		f.sent[i] = ""
	}
	if p := m.pairs[i]; p.key && len(p.value) > 1 && p.value[0] == 0 {
		for len(f.sent) <= i {
			f.sent = append(f.sent, "")
		}
		f.sent[i] = p.value
		f.found++
	}
}

func (f *references) replace(r *LogRecord, m *BodyParams, total int) bool {
	f.text, f.changed = f.text[:0], f.changed[:0]
	for i, sent := range f.sent {
		if sent == "" {
			continue
		}
		from := len(f.text)
		text, own, ok := referenced(f.text, r, sent, f.formats)
		if !ok {
			own = sent
		}
		f.text = text
		total += len(own) + len(text) - from
		switch {
		case total > ReferencedBytes:
			return false
		case len(text) == from:
			m.SetValue(i, own)
		case string(text[from:]) == m.pairs[i].value:
			f.text = text[:from]
		default:
			f.changed = append(f.changed, changedText{i, from, len(text)})
		}
	}
	if len(f.changed) == 0 {
		return true
	}
	text := f.texts.text(f.text)
	for _, c := range f.changed {
		m.SetValue(c.param, text[c.from:c.to])
	}
	return true
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// backward writes a message from its end to its beginning, so that each length is known
// when it is written. Use it for nested values. In the other direction, it is not known how
// many bytes to reserve for a length, so the content would move once for every enclosing value.
type backward struct {
	buf  []byte
	at   int  // where the message begins
	over bool // a part of a record was too large and is not complete
}

// tooLarge reports whether a part of a record, which has size bytes so far, is too large. If it
// is, tooLarge sets over, and the part must end. Each loop over elements calls it: a record of a few
// bytes can refer to a large text of a dictionary a million times.
func (w *backward) tooLarge(size int) bool {
	if size <= mapping.MaxRecordBytes {
		return false
	}
	w.over = true
	return true
}

// room reserves n bytes before the written bytes and returns them.
func (w *backward) room(n int) []byte {
	if n > w.at {
		grown := make([]byte, max(2*len(w.buf), len(w.buf)+n, 512))
		at := len(grown) - copy(grown[len(grown)-(len(w.buf)-w.at):], w.buf[w.at:])
		w.buf, w.at = grown, at
	}
	w.at -= n
	return w.buf[w.at : w.at+n]
}

func (w *backward) size() int { return len(w.buf) - w.at }

func (w *backward) varint(v uint64) {
	if v < 0x80 {
		w.room(1)[0] = byte(v)
		return
	}
	b := w.room(varintLen(v))
	for i := range b {
		b[i] = byte(v) | 0x80
		v >>= 7
	}
	b[len(b)-1] &= 0x7f
}

// field completes a field whose content was written since w.size() was size: it writes the
// length and the tag.
func (w *backward) field(tag byte, size int) {
	n := w.size() - size
	if n < 0x80 {
		b := w.room(2)
		b[0], b[1] = tag, byte(n)
		return
	}
	w.varint(uint64(n))
	w.room(1)[0] = tag
}

// text writes a pair with a text value. It returns false, and writes nothing, if the key is
// empty or a length takes more than one byte. Both are rare.
func (w *backward) text(key, value string) bool {
	k, n := 2+len(key), 2+len(value)
	if k+n >= 0x80-2 || k == 2 {
		return false
	}
	b := w.room(4 + k + n)
	b[0], b[1] = tagValues, byte(2+k+n)
	b[2], b[3] = tagKey, byte(len(key))
	copy(b[4:], key)
	b = b[2+k:]
	b[0], b[1] = tagValue, byte(n)
	b[2], b[3] = tagString, byte(len(value))
	copy(b[4:], value)
	return true
}

func (w *backward) number(tag byte, v uint64) {
	w.varint(v)
	w.room(1)[0] = tag
}

func (w *backward) fixed64(tag byte, v uint64) {
	b := w.room(9)
	b[0] = tag
	binary.LittleEndian.PutUint64(b[1:], v)
}

func writeText[T string | []byte](w *backward, tag byte, v T) {
	size := w.size()
	copy(w.room(len(v)), v)
	w.field(tag, size)
}

func (w *backward) array(n int, element func(i int)) {
	size := w.size()
	for i := n - 1; i >= 0 && !w.tooLarge(w.size()); i-- {
		before := w.size()
		element(i)
		w.field(tagValues, before)
	}
	w.field(tagArray, size)
}

// pair completes a pair whose value was written since w.size() was size: it writes the key and
// the enclosing tags and lengths.
func (w *backward) pair(key string, size int) {
	w.field(tagValue, size)
	if key != "" {
		writeText(w, tagKey, key)
	}
	w.field(tagValues, size)
}

// value writes the field of an AnyValue.
func (w *backward) value(v *otelstef.AnyValue) {
	switch v.Type() {
	case otelstef.AnyValueTypeString:
		writeText(w, tagString, v.Str())
	case otelstef.AnyValueTypeBool:
		w.number(tagBool, boolBit(v.Bool()))
	case otelstef.AnyValueTypeInt64:
		w.number(tagInt, uint64(v.Int64()))
	case otelstef.AnyValueTypeFloat64:
		w.fixed64(tagDouble, math.Float64bits(v.Float64()))
	case otelstef.AnyValueTypeBytes:
		writeText(w, tagBytes, v.Bytes())
	case otelstef.AnyValueTypeArray:
		elements := v.Array()
		w.array(elements.Len(), func(i int) { w.value(elements.At(i)) })
	case otelstef.AnyValueTypeKVList:
		pairs, size := v.KVList(), w.size()
		for i := pairs.Len() - 1; i >= 0 && !w.tooLarge(w.size()); i-- {
			key, v, before := pairs.Key(i), pairs.Value(i), w.size()
			if v.Type() != otelstef.AnyValueTypeString || !w.text(key, v.Str()) {
				w.value(v)
				w.pair(key, before)
			}
		}
		w.field(tagKVList, size)
	}
}

// body is like value, but for a value of a body.
func (w *backward) body(v *otelstef.BodyValue) {
	switch v.Type() {
	case otelstef.BodyValueTypeString:
		writeText(w, tagString, v.Str())
	case otelstef.BodyValueTypeBool:
		w.number(tagBool, boolBit(v.Bool()))
	case otelstef.BodyValueTypeInt64:
		w.number(tagInt, uint64(v.Int64()))
	case otelstef.BodyValueTypeFloat64:
		w.fixed64(tagDouble, math.Float64bits(v.Float64()))
	case otelstef.BodyValueTypeBytes:
		writeText(w, tagBytes, v.Bytes())
	case otelstef.BodyValueTypeArray:
		elements := v.Array()
		w.array(elements.Len(), func(i int) { w.body(elements.At(i)) })
	case otelstef.BodyValueTypeMap:
		pairs, size := v.Map(), w.size()
		for i := pairs.Len() - 1; i >= 0 && !w.tooLarge(w.size()); i-- {
			key, v, before := pairs.Key(i), pairs.Value(i), w.size()
			if v.Type() != otelstef.BodyValueTypeString || !w.text(key, v.Str()) {
				w.body(v)
				w.pair(key, before)
			}
		}
		w.field(tagKVList, size)
	}
}

func (w *backward) reset() { w.at = len(w.buf) }

func (w *backward) bytes() []byte { return w.buf[w.at:] }

func boolBit(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// maxKept is the size up to which a buffer is kept for reuse.
const maxKept = 1 << 20

// message appends a field whose content is the message that f writes.
func (w *backward) message(dst []byte, tag byte, f func()) []byte {
	w.reset()
	f()
	dst = appendText(dst, tag, w.bytes())
	if len(w.buf) > maxKept {
		w.buf, w.at = nil, 0
	}
	return dst
}

// appendAttributes appends the pairs of m as KeyValue fields with this tag.
func (w *backward) appendAttributes(dst []byte, tag byte, m *otelstef.Attributes) []byte {
	at := len(dst)
	for i := range m.Len() {
		if dst = w.appendPair(dst, tag, m.Key(i), m.Value(i)); w.tooLarge(len(dst) - at) {
			break
		}
	}
	return dst
}

func (w *backward) appendPair(dst []byte, tag byte, key string, v *otelstef.AnyValue) []byte {
	k := textLen(key)
	switch v.Type() {
	case otelstef.AnyValueTypeString:
		s := v.Str()
		n := 1 + varintLen(uint64(len(s))) + len(s)
		pair := k + 1 + varintLen(uint64(n)) + n
		if pair < 0x80 {
			// All lengths take one byte, which is the usual case.
			dst = append(dst, tag, byte(pair))
			if k > 0 {
				dst = append(append(dst, tagKey, byte(len(key))), key...)
			}
			dst = append(dst, tagValue, byte(n), tagString, byte(len(s)))
			return append(dst, s...)
		}
		dst = appendPairHead(dst, tag, pair, key, n)
		return appendText(dst, tagString, s)
	case otelstef.AnyValueTypeInt64:
		n := 1 + varintLen(uint64(v.Int64()))
		dst = appendPairHead(dst, tag, k+2+n, key, n)
		return appendVarint(append(dst, tagInt), uint64(v.Int64()))
	case otelstef.AnyValueTypeFloat64:
		dst = appendPairHead(dst, tag, k+11, key, 9)
		return appendFixed64(dst, tagDouble, math.Float64bits(v.Float64()))
	case otelstef.AnyValueTypeBool:
		dst = appendPairHead(dst, tag, k+4, key, 2)
		return append(dst, tagBool, byte(boolBit(v.Bool())))
	case otelstef.AnyValueTypeNone:
		return appendPairHead(dst, tag, k+2, key, 0)
	}
	return w.message(dst, tag, func() {
		w.value(v)
		w.field(tagValue, 0)
		if key != "" {
			writeText(w, tagKey, key)
		}
	})
}

// textLen returns the number of bytes that appendString appends.
func textLen(s string) int {
	if s == "" {
		return 0
	}
	return 1 + varintLen(uint64(len(s))) + len(s)
}

// appendPairHead appends a KeyValue up to its value, which has n bytes.
func appendPairHead(dst []byte, tag byte, pair int, key string, n int) []byte {
	dst = appendVarint(append(dst, tag), uint64(pair))
	dst = appendString(dst, tagKey, key)
	return appendVarint(append(dst, tagValue), uint64(n))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import "github.com/otelstef/stef/stef-go/stefrt"

// BodyPairs is the number of pairs of a structured body that references can use: only these
// pairs can contain references, or be referred to. They are the first pairs in depth-first
// order. Pairs in arrays do not count.
//
// spec: #compact-references
const BodyPairs = 256

// valueReferences replaces the references in the attributes and in the structured body
// of a record by their texts. The next record is decoded relative to the references that
// were sent, so restore first puts these references back.
type valueReferences struct {
	formats  bool // the stream can have references with a format
	replaced []replacedText
	resolved []resolvedText
	text     []byte
	texts    textChunk
	left     int // number of further pairs of the body to visit
	total    int // length of the texts of the references of the record
	restored bool
}

// replacedText is a text of the record that was a reference.
type replacedText struct {
	text *string
	sent string
}

// resolvedText is a text of the record that was a reference. The text that replaces it is a range of
// valueReferences.text.
type resolvedText struct {
	text     *string
	from, to int
}

// forget discards the references of the record. Call it if they will not be used again.
func (f *valueReferences) forget() {
	clear(f.replaced)
	clear(f.resolved[:cap(f.resolved)])
	f.replaced, f.resolved, f.text, f.restored = f.replaced[:0], f.resolved[:0], f.text[:0], false
	f.texts = textChunk{}
}

// restore replaces the texts by the references that were sent.
func (f *valueReferences) restore() {
	f.restored = len(f.replaced) > 0
	for i := range f.replaced {
		x := &f.replaced[i]
		*x.text = x.sent
		*x = replacedText{}
	}
	f.replaced = f.replaced[:0]
}

// undo replaces the references of a record by their texts, if on says that the record has
// references. It returns the total length of the texts, and stops when this length exceeds
// the maximum.
func (f *valueReferences) undo(r *LogRecord, on bool) int {
	f.total = 0
	if f.restored {
		// The restored references differ from the texts of the previous record, so all attributes
		// count as changed.
		r.node.Mark(LogRecordFieldAttributes)
		r.attributes.node.SetModified(stefrt.FullBit)
		if r.body.typ == LogBodyTypeValue { // a body of another type was decoded completely, so it has no restored references
			r.node.Mark(LogRecordFieldBody)
			r.body.node.SetModified(1)
		}
	}
	if !on {
		return 0
	}
	body := r.body.Value()
	if body != nil && body.typ == BodyValueTypeMap {
		f.left = BodyPairs
		f.body(r, &body.box.mapField)
		f.setResolved()
	} else {
		body = nil
	}
	f.attributes(r, body)
	f.setResolved()
	return f.total
}

// attributes replaces the references in the attributes. body is nil if the body is not a map.
func (f *valueReferences) attributes(r *LogRecord, body *BodyValue) {
	a := &r.attributes
	changed := a.node.Modified()
	if r.node.Modified()&LogRecordFieldAttributes == 0 {
		changed = 0 // the marks are those of an earlier record
	}
	before := len(f.replaced)
	for i, p := range a.pairs {
		v := &p.value
		if v.typ != AnyValueTypeString || len(v.str) < 2 || v.str[0] != 0 || f.total > ReferencedBytes {
			continue
		}
		if v.str[:2] == ReferenceKey {
			f.resolvePair(&v.str, body)
		} else {
			f.prepare(&v.str, r)
		}
		changed |= stefrt.PairBit(i)
		v.node.SetModified(1)
	}
	if len(f.replaced) > before {
		r.node.Mark(LogRecordFieldAttributes)
		a.node.SetModified(changed)
	}
}

// body replaces the references in a map of the body and in the maps in it.
func (f *valueReferences) body(r *LogRecord, m *BodyMap) {
	for _, p := range m.pairs {
		if f.left--; f.left < 0 {
			break
		}
		v := &p.value
		switch {
		case v.typ == BodyValueTypeMap:
			f.body(r, &v.box.mapField)
		case v.typ == BodyValueTypeString && len(v.str) > 1 && v.str[0] == 0 && f.total <= ReferencedBytes:
			before := len(f.replaced)
			if f.prepare(&v.str, r); len(f.replaced) > before {
				v.node.Mark(1)
				r.body.node.Mark(1)
				r.node.Mark(LogRecordFieldBody)
			}
		}
	}
}

// prepare resolves a reference to an id or a time, and appends the result to f.text. It ignores other
// texts. setResolved later sets the prepared texts in the record.
func (f *valueReferences) prepare(text *string, r *LogRecord) {
	if t := (*text)[:2]; t == ReferenceAttribute || t == ReferenceDouble {
		return // only parameters refer to attributes
	}
	from := len(f.text)
	made, _, ok := referenced(f.text, r, *text, f.formats)
	if !ok {
		return
	}
	f.text = made
	f.total += len(made) - from
	f.replaced = append(f.replaced, replacedText{text, *text})
	f.resolved = append(f.resolved, resolvedText{text, from, len(made)})
}

// resolvePair replaces a reference to a pair of the body by the text of the pair.
func (f *valueReferences) resolvePair(text *string, body *BodyValue) {
	if body == nil {
		return
	}
	f.left = BodyPairs
	if found := f.find(&body.box.mapField, (*text)[2:]); found != nil {
		f.replaced = append(f.replaced, replacedText{text, *text})
		*text = *found
		f.total += len(*found)
	}
}

// find returns the first text of m with the given key.
func (f *valueReferences) find(m *BodyMap, key string) *string {
	for _, p := range m.pairs {
		if f.left--; f.left < 0 {
			break
		}
		v := &p.value
		switch {
		case v.typ == BodyValueTypeString && p.key == key:
			return &v.str
		case v.typ == BodyValueTypeMap:
			if found := f.find(&v.box.mapField, key); found != nil {
				return found
			}
		}
	}
	return nil
}

// setResolved sets the prepared texts in the record.
func (f *valueReferences) setResolved() {
	if len(f.resolved) == 0 {
		return
	}
	text := f.texts.text(f.text)
	for _, x := range f.resolved {
		*x.text = text[x.from:x.to]
	}
	f.resolved, f.text = f.resolved[:0], f.text[:0]
}

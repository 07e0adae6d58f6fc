// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// encoder holds the state that the encoders of all signals share.
type encoder struct {
	parser
	resources pool[otelstef.Resource]
	scopes    pool[otelstef.Scope]
	key       []byte
	kept      features.Set
	losses    Losses
	before    Losses               // counts to restore if the current item is rejected
	began     Losses               // counts to restore if nothing of the message is written
	lostRefs  uint64               // entity references of the current resource, until one of its items is written
	postponed [ofMetric + 1]uint64 // unknown fields of the current containers, until one of their items is written

	at        mapping.Place
	rejected  ItemErrors
	tagScopes uint64 // tag of the scopes of the current ResourceX: tagScopes or tagOldScopes

	touchedTo int  // the end of the bytes that are in the cache
	touched   byte // sum of the bytes that were read only to fill the cache
}

// prefetch reads one byte of each cache line of x, to load x into the cache before it is
// parsed. Without it, parsing waits for memory at each item.
func (e *encoder) prefetch(x extent) {
	if x.to-x.from > maxTouched || x.to <= e.touchedTo {
		return
	}
	e.touchedTo = x.to
	sum := byte(0)
	for b := e.b[x.from:x.to]; len(b) > 64; b = b[64:] {
		sum += b[0]
	}
	e.touched += sum
}

// maxTouched is the number of bytes that fit into the processor's cache beside all other
// data.
const maxTouched = 256 << 10

// Losses returns the counts of content that the stream does not contain, so far.
func (e *encoder) Losses() Losses {
	losses := e.losses
	losses.UnknownFields = e.unknown
	return losses
}

// These are the indexes of postponed.
const (
	ofResource = iota
	ofScope
	ofMetric
)

// postpone removes the unknown fields of a container from the count e.unknown and stores them.
// before is the count at the beginning of the container. countContainers adds the stored fields
// again when an item of this container is written.
func (e *encoder) postpone(container int, before uint64) {
	clear(e.postponed[container:])
	e.postponed[container] = e.unknown - before
	e.unknown = before
}

// countContainers counts the losses of the containers of an item: the unknown fields, and the lost entity
// references. It is called when the item is written, because losses count only the content of written items.
func (e *encoder) countContainers() {
	e.losses.EntityRefs += e.lostRefs
	e.unknown += e.postponed[ofResource] + e.postponed[ofScope] + e.postponed[ofMetric]
	e.lostRefs, e.postponed = 0, [ofMetric + 1]uint64{}
}

func (e *encoder) beginItem() {
	e.begin()
	e.before.UnknownFields, e.before.ZeroIDs = e.unknown, e.losses.ZeroIDs
}

// rejectItem notes that item i, which is in x, is not written.
func (e *encoder) rejectItem(i int, x extent, err error) {
	// Losses do not count the content of the item.
	e.unknown, e.losses.ZeroIDs = e.before.UnknownFields, e.before.ZeroIDs
	e.at.Offset, e.at.Item = x.from, i
	e.reject("", err, 1)
}

// start verifies that no resource of a message is truncated, and prepares the encoder for the
// message.
func (e *encoder) start(b []byte) error {
	e.began = e.Losses()
	if len(b) > maxMessageBytes {
		return &WireError{Err: fmt.Errorf("%w: it has %d bytes, at most %d are allowed", errTooLong, len(b), maxMessageBytes)}
	}
	for at := 0; at < len(b); {
		field := at
		var tag uint64
		if tag, at = firmTag(b, at); at >= 0 {
			switch {
			case tag == tagResources:
				_, at = bytesAt(b, at)
			case tag>>3 == tagResources>>3:
				at = -1
			default:
				e.unknown++
				at = skip(b, at, tag)
			}
		}
		if at < 0 {
			e.unknown = e.began.UnknownFields
			return &WireError{Offset: field, Err: &damage{field, looksLike(b, broken)}}
		}
	}
	e.b, e.held, e.parser.body, e.rejected, e.touchedTo = b, e.held[:0], e.parser.body[:0], nil, 0
	if e.resources.full() || e.scopes.full() {
		e.resources.empty()
		e.scopes.empty()
		e.texts.reset()
	}
	return nil
}

const broken = "a field is cut off or has a wrong wire type"

// finish releases the message and returns the error of EncodeOTLP: err, or ItemErrors for
// omitted items, or a WireError if the message seems to be of another signal. records is the
// number of records that were written.
func (e *encoder) finish(s *signal, records uint64, err error) error {
	b := e.b
	e.b = nil
	e.key, e.fresh, e.pairs, e.parts, e.inner = reusable(e.key), reusable(e.fresh), reusable(e.pairs), reusable(e.parts), reusable(e.inner)
	empty := e.losses.EmptyContainers
	if records == 0 && (err != nil || len(e.rejected) > 0) {
		e.losses, e.unknown = e.began, e.began.UnknownFields // losses count only written items
	}
	if err == nil && len(e.rejected) > 0 {
		if errors.Is(e.rejected[0], stef.ErrLimit) {
			e.losses.EmptyContainers = empty // keep this count, because the message is of this signal
		} else if records == 0 {
			if err := s.foreign(b); err != nil {
				return err
			}
		}
		return e.rejected
	}
	return err
}

// reusable returns a buffer for the next message, or nil if the buffer is too large to be kept. A
// buffer can be much larger than its message: a field of two bytes can take 32 bytes of a buffer.
func reusable[T any](buffer []T) []T {
	if uintptr(cap(buffer))*unsafe.Sizeof(*new(T)) > maxKept {
		return nil
	}
	return buffer
}

// each calls f for every field with the tag want in x, which is already checked.
func (e *encoder) each(x extent, want uint64, f func(i int, sub extent) error) error {
	b, i := e.b[:x.to], 0
	for at := x.from; at < x.to; {
		tag, start := varint(b, at)
		if tag != want {
			at = skip(b, start, tag)
			continue
		}
		sub := extentAt(b, start)
		at = sub.to
		if err := f(i, sub); err != nil {
			return err
		}
		i++
	}
	return nil
}

// containerKey is the content of a ResourceX or ScopeX (see tagResources) except its items.
type containerKey struct {
	container extent // range in e.key
	url       extent // range in e.key
	items     int    // number of ScopeX or of items
	old       int    // number of fields with tagOldScopes, which count as unknown
}

// identify checks the ResourceX or ScopeX in x and writes its identity into e.key:
// the Resource or InstrumentationScope, and the schema URL. A message in several
// pieces has the same identity as the merged message.
func (e *encoder) identify(x extent) (h containerKey, err *damage) {
	e.prefetch(x)
	b := e.b[:x.to]
	e.key = e.key[:0]
	var url extent
	for at := x.from; at < x.to; {
		field := at
		var tag uint64
		if tag, at = firmTag(b, at); at >= 0 {
			from := 0
			switch {
			case tag == tagItems:
				h.items++
				_, at = bytesAt(b, at)
			case tag == tagContainer:
				if from, at = bytesAt(b, at); at >= 0 {
					e.key = append(e.key, b[from:at]...)
				}
			case tag == tagSchemaURL:
				from, at = bytesAt(b, at)
				url = extent{from, at}
			case tag>>3 <= tagSchemaURL>>3:
				at = -1
			default:
				if tag == tagOldScopes {
					h.old++
				}
				e.unknown++
				at = skip(b, at, tag)
			}
		}
		if at < 0 {
			return h, &damage{field, broken}
		}
	}
	h.container.to = len(e.key)
	e.key = append(e.key, b[url.from:url.to]...)
	h.url = extent{h.container.to, len(e.key)}
	e.key = binary.LittleEndian.AppendUint32(e.key, uint32(url.to-url.from))
	return h, nil
}

// resource returns the resource of h, the result of identify.
func (e *encoder) resource(h containerKey) (*otelstef.Resource, error) {
	found := e.resources.find(e.key)
	if found == nil {
		v, unknown := otelstef.NewResource(), e.unknown
		if err := e.inKey(func() error { return e.fillResource(v, h.container, h.url) }); err != nil {
			return nil, err
		}
		found = e.resources.add(e.key, v, e.budget.Spent())
		found.unknown = e.unknown - unknown
		if !e.kept.EntityRefs {
			found.lost = len(e.parts)
		}
	} else {
		e.unknown += found.unknown
	}
	e.lostRefs = uint64(found.lost)
	return found.value, nil
}

// inKey calls f while e.b, the message to parse, is e.key.
func (e *encoder) inKey(f func() error) error {
	b := e.b
	e.b, e.budget.Left = e.key, MaxItemBytes
	err := f()
	e.b = b
	return err
}

func (e *encoder) fillResource(v *otelstef.Resource, x, url extent) error {
	if err := e.check(e.b, x, resourceShape); err != nil {
		return err
	}
	v.SetSchemaURL(e.text(url))
	if err := e.budget.Take(url.to - url.from); err != nil {
		return mapping.InField("schema_url", err)
	}
	e.pairs, e.parts = e.pairs[:0], e.parts[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		var tag uint64
		tag, at = varint(b, at)
		switch tag {
		case tagResourceAttributes:
			at = collect(&e.pairs, b, at)
		case tagResourceDroppedAttributes:
			var n uint64
			n, at = varint(b, at)
			v.SetDroppedAttributesCount(uint64(uint32(n)))
		case tagResourceEntityRef:
			at = collect(&e.parts, b, at)
		default:
			at = skip(b, at, tag)
		}
	}
	if err := e.attributes(v.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	if !e.kept.EntityRefs {
		return nil
	}
	if err := e.budget.Take(len(e.parts) * mapping.ValueBytes); err != nil {
		return mapping.InField("entity_refs", err)
	}
	v.EntityRefs().SetLen(len(e.parts))
	for i, part := range e.parts {
		if err := e.entityRef(v.EntityRefs().At(i), part); err != nil {
			return mapping.InField(fmt.Sprintf("entity_refs[%d]", i), err)
		}
	}
	return nil
}

// collect appends the extent of the message whose length is at b[at:] to the list. It
// returns the offset after the message.
func collect(list *[]extent, b []byte, at int) int {
	from, to := bytesAt(b, at)
	*list = append(*list, extent{from, to})
	return to
}

func (e *encoder) entityRef(v *otelstef.EntityRef, x extent) error {
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		tag, start := varint(b, at)
		at = skip(b, start, tag)
		if tag&7 != wireBytes {
			continue
		}
		from, to := bytesAt(b, start)
		text := func() string { return e.text(extent{from, to}) }
		e.budget.Left -= to - from
		switch tag {
		case tagEntityRefSchemaURL:
			v.SetSchemaURL(text())
		case tagEntityRefType:
			v.SetType(text())
		case tagEntityRefIDKey:
			e.budget.Left -= mapping.ValueBytes
			v.IDKeys().Append(text())
		case tagEntityRefDescriptionKey:
			e.budget.Left -= mapping.ValueBytes
			v.DescriptionKeys().Append(text())
		}
		if err := e.budget.Take(0); err != nil {
			return err
		}
	}
	return nil
}

// scope returns the scope of h, the result of identify.
func (e *encoder) scope(h containerKey) (*otelstef.Scope, error) {
	if found := e.scopes.find(e.key); found != nil {
		e.unknown += found.unknown
		return found.value, nil
	}
	v, unknown := otelstef.NewScope(), e.unknown
	if err := e.inKey(func() error { return e.fillScope(v, h.container, h.url) }); err != nil {
		return nil, err
	}
	added := e.scopes.add(e.key, v, e.budget.Spent())
	added.unknown = e.unknown - unknown
	return v, nil
}

func (e *encoder) fillScope(v *otelstef.Scope, x, url extent) error {
	if err := e.check(e.b, x, scopeShape); err != nil {
		return err
	}
	v.SetSchemaURL(e.text(url))
	texts := url.to - url.from
	e.pairs = e.pairs[:0]
	b := e.b[:x.to]
	for at := x.from; at < x.to; {
		var tag uint64
		tag, at = varint(b, at)
		switch tag {
		case tagScopeName, tagScopeVersion:
			var text extent
			text.from, text.to = bytesAt(b, at)
			at = text.to
			texts += text.to - text.from
			if tag>>3 == 1 {
				v.SetName(e.text(text))
			} else {
				v.SetVersion(e.text(text))
			}
		case tagScopeAttributes:
			at = collect(&e.pairs, b, at)
		case tagScopeDroppedAttributes:
			var n uint64
			n, at = varint(b, at)
			v.SetDroppedAttributesCount(uint64(uint32(n)))
		default:
			at = skip(b, at, tag)
		}
	}
	if err := e.budget.Take(texts); err != nil {
		return mapping.InField("name, version or schema_url", err)
	}
	if err := e.attributes(v.Attributes()); err != nil {
		return mapping.InField("attributes", err)
	}
	return nil
}

// unusual handles the item in x after f failed to parse it. f accepts only tags in the
// shortest form. If the item is valid, unusual rewrites its tags in this form and calls
// f again; otherwise it returns the damage.
func (e *encoder) unusual(x extent, s *shape, f func(x extent) error) error {
	if err := e.check(e.b, x, s); err != nil {
		return err
	}
	var plain []byte
	for at := x.from; at < x.to; {
		tag, start := varint(e.b, at)
		at = skip(e.b[:x.to], start, tag)
		plain = append(appendVarint(plain, tag), e.b[start:at]...)
	}
	if len(plain) == x.to-x.from {
		return &damage{x.from, broken}
	}
	b := e.b
	e.b, e.held, e.parser.body = plain, e.held[:0], e.parser.body[:0]
	e.begin()
	e.unknown = e.before.UnknownFields // f counts the unknown fields again
	err := f(extent{0, len(plain)})
	e.b, e.held, e.parser.body = b, e.held[:0], e.parser.body[:0]
	if _, inner := mapping.Split(err); inner != nil {
		if d, ok := inner.(*damage); ok {
			d.at = e.original(x, d.at)
		}
	}
	return err
}

// original converts an offset in the rewritten item, at, into an offset in the message. x is the
// original item.
func (e *encoder) original(x extent, at int) int {
	plain := 0 // the end of the field in the rewritten item
	for from := x.from; from < x.to; {
		tag, start := varint(e.b, from)
		to := skip(e.b[:x.to], start, tag)
		if plain += varintLen(tag) + to - start; at < plain {
			return max(from, to-(plain-at))
		}
		from = to
	}
	return x.to
}

// id encodes an id of n bytes for the record: as raw bytes, or as hexadecimal text, which
// it stores in text. The result is empty if the id is unset.
//
// spec: #otlp-common
func (e *encoder) id(text *mapping.IDText, x extent, n int, raw bool) ([]byte, error) {
	id := e.b[x.from:x.to]
	switch {
	case len(id) == 0:
		return nil, nil
	case len(id) != n:
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrID, len(id), n)
	case mapping.Unset(id):
		e.losses.ZeroIDs++
		return nil, nil
	case raw:
		return id, nil
	}
	return mapping.EncodeID(text, id, false), nil
}

// reject notes that the n items at e.at are not written: one item, or all items of a container
// (resource, scope or metric). A damaged container is noted even if n is 0, because its items could
// not be counted.
func (e *encoder) reject(prefix string, err error, n int) {
	at := e.at
	_, inner := mapping.Split(err)
	damage, damaged := inner.(*damage)
	if n == 0 && !damaged {
		return
	}
	if damaged && prefix == "" {
		at.Offset = damage.at
	}
	e.rejected = mapping.AddItems(e.rejected, at, prefix, err, n)
}

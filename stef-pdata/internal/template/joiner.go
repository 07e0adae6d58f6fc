// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"
	"unsafe"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Joiner joins templates and parameters. It caches the parts of some templates. Several
// texts share an allocation.
type Joiner struct {
	slots  []joinSlot // allocated at the first template
	last   *joinSlot  // slot of the last template
	chunk  []byte     // texts, which never change, and capacity for more texts
	places mapping.Placeholders
}

type joinSlot struct {
	template string
	pieces   []string // the parts between the placeholders
}

const (
	joinSlotBits = 6
	joinSlots    = 1 << joinSlotBits
	// keptPieces is the capacity of pieces that the next template of a slot may reuse.
	keptPieces = 64
	// joinedBytes is the size of the largest chunk of texts. firstJoined is the size of the first
	// chunk; each further chunk is twice as large. If a caller keeps a text, the whole chunk of
	// this text stays in memory. Texts larger than a quarter of joinedBytes have their own memory.
	joinedBytes = 8 << 10
	firstJoined = 1 << 10
)

// Join returns the text of a template and parameters.
//
// spec: #otlp-logs
func (j *Joiner) Join(template string, params *otelstef.BodyParams) (string, error) {
	n := params.Len()
	slot, places := j.slot(template)
	size, err := mapping.CheckTemplate(template, places, params)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return template, nil
	}
	if size > joinedBytes/4 {
		return textOf(slot.join(room(size), params)), nil
	}
	if cap(j.chunk)-len(j.chunk) < size {
		j.chunk = room(min(max(2*cap(j.chunk), firstJoined, size), joinedBytes))
	}
	from := len(j.chunk)
	j.chunk = slot.join(j.chunk, params)
	return textOf(j.chunk[from:]), nil
}

// room returns an empty slice with capacity for n bytes. Unlike make, strings.Builder does not
// clear the memory.
func room(n int) []byte {
	var b strings.Builder
	b.Grow(max(n, 1))
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:0]
}

// textOf returns b, which never changes again, as a string.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// join appends the text to b, which has enough capacity. A strings.Builder would be slower: it
// writes its slice to memory for each part.
func (s *joinSlot) join(b []byte, params *otelstef.BodyParams) []byte {
	n := params.Len()
	for i, piece := range s.pieces[:n] {
		b = append(append(b, piece...), params.Value(i)...)
	}
	return append(b, s.pieces[n]...)
}

// Renew begins a new chunk, so that later texts do not share memory with earlier texts.
func (j *Joiner) Renew() { j.chunk = nil }

// Reset forgets the templates of a stream.
func (j *Joiner) Reset() {
	clear(j.slots)
	j.last = nil
	j.places.Reset()
}

// slot returns the pieces of a template and its number of placeholders. If this number
// exceeds the maximum number of parameters, slot returns only the number.
func (j *Joiner) slot(template string) (*joinSlot, int) {
	if template == "" {
		return nil, 0
	}
	if j.last != nil && mapping.SameText(j.last.template, template) {
		return j.last, len(j.last.pieces) - 1
	}
	if j.slots == nil {
		j.slots = make([]joinSlot, joinSlots)
	}
	slot := &j.slots[mapping.TextSlot(template, joinSlotBits)]
	if !mapping.SameText(slot.template, template) {
		n := j.places.Count(template)
		if n > stef.MaxPairs {
			return nil, n
		}
		slot.set(template, n)
	}
	j.last = slot
	return slot, len(slot.pieces) - 1
}

// set fills the slot with a template that has n placeholders.
func (s *joinSlot) set(template string, n int) {
	s.template = template
	if n >= cap(s.pieces) || cap(s.pieces) > keptPieces {
		s.pieces = make([]string, 0, n+1)
	}
	s.pieces = s.pieces[:0]
	for range n {
		i := strings.IndexByte(template, placeholder)
		s.pieces = append(s.pieces, template[:i])
		template = template[i+1:]
	}
	s.pieces = append(s.pieces, template)
}

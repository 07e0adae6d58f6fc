// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"strings"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Joiner joins templates and parameters. It caches the places of the placeholders of
// some templates. Several texts share an allocation.
type Joiner struct {
	slots []joinSlot // allocated at the first template
	last  *joinSlot  // slot of the last template
	chunk strings.Builder
}

type joinSlot struct {
	template string
	pieces   []string // the parts between the placeholders
}

const (
	joinSlots = 64
	// joinedBytes is the size of the largest chunk of texts, and firstJoined that of the
	// first one; each further chunk has twice as much. A text that is kept keeps all of its
	// chunk in memory. Texts larger than a quarter of joinedBytes have their own memory.
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
		var own strings.Builder
		own.Grow(size)
		return slot.join(&own, params), nil
	}
	if j.chunk.Cap()-j.chunk.Len() < size {
		bytes := min(max(2*j.chunk.Cap(), firstJoined, size), joinedBytes)
		j.chunk.Reset()
		j.chunk.Grow(bytes)
	}
	return slot.join(&j.chunk, params), nil
}

// join appends the text to a builder, which has enough capacity, and returns it. A builder
// never changes bytes that it holds, so the text stays valid when others are appended.
func (s *joinSlot) join(b *strings.Builder, params *otelstef.BodyParams) string {
	from, n := b.Len(), params.Len()
	for i, piece := range s.pieces[:n] {
		b.WriteString(piece)
		b.WriteString(params.Value(i))
	}
	b.WriteString(s.pieces[n])
	return b.String()[from:]
}

// Renew begins a new chunk, so that later texts do not share memory with earlier ones.
func (j *Joiner) Renew() { j.chunk.Reset() }

// Reset forgets the templates of a stream.
func (j *Joiner) Reset() {
	clear(j.slots)
	j.last = nil
}

// slot returns the pieces of a template and its number of placeholders. If there are
// more placeholders than parameters can exist, it returns the number only.
func (j *Joiner) slot(template string) (*joinSlot, int) {
	if template == "" {
		return nil, 0
	}
	if j.last != nil && j.last.template == template {
		return j.last, len(j.last.pieces) - 1
	}
	if j.slots == nil {
		j.slots = make([]joinSlot, joinSlots)
	}
	slot := &j.slots[(len(template)*31+int(template[len(template)/2]))%joinSlots]
	if slot.template != template {
		if n := strings.Count(template, "\x00"); n > stef.MaxPairs {
			return nil, n
		}
		slot.template = template
		slot.pieces = strings.Split(template, "\x00")
	}
	j.last = slot
	return slot, len(slot.pieces) - 1
}

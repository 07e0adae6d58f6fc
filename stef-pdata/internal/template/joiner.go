// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
)

// Joiner joins templates and parameters. It caches the places of the placeholders of
// some templates. Texts are written to a buffer and assigned to bodies in groups, so
// that several texts share an allocation.
type Joiner struct {
	slots   []joinSlot // allocated at the first template
	last    *joinSlot  // slot of the last template
	buffer  []byte
	waiting []joinedBody
	values  slab.Values
}

// Text is a text, or its place in the buffer.
type Text struct {
	text string
	Span
}

// joinedBody is a body whose text is still in the buffer.
type joinedBody struct {
	dst pcommon.Value
	Span
}

type joinSlot struct {
	template string
	pieces   []string // the parts between the placeholders
}

const (
	joinSlots = 64
	// joinedBytes is the size of the text that shares an allocation. A body that is
	// kept keeps all of it in memory. Bodies larger than a quarter of it have their
	// own memory.
	joinedBytes = 8 << 10
)

// Join returns the text of a template and parameters.
//
// spec: #otlp-logs
func (j *Joiner) Join(template string, params *otelstef.BodyParams) (Text, error) {
	n := params.Len()
	slot, places := j.slot(template)
	size, err := mapping.CheckTemplate(template, places, params)
	if err != nil {
		return Text{}, err
	}
	if n == 0 {
		return Text{text: template}, nil
	}
	if size > joinedBytes/4 {
		return Text{text: slot.join(params, size)}, nil
	}
	if len(j.buffer)+size > joinedBytes {
		j.Flush()
	}
	text := slices.Grow(j.buffer, size)
	for i, piece := range slot.pieces[:n] {
		text = append(text, piece...)
		text = append(text, params.Value(i)...)
	}
	text = append(text, slot.pieces[n]...)
	from := len(j.buffer)
	j.buffer = text
	return Text{Span: Span{uint32(from), uint32(len(text))}}, nil
}

// join returns the text, which has size bytes, in its own memory.
func (s *joinSlot) join(params *otelstef.BodyParams, size int) string {
	var text strings.Builder
	text.Grow(size)
	for i, piece := range s.pieces[:params.Len()] {
		text.WriteString(piece)
		text.WriteString(params.Value(i))
	}
	text.WriteString(s.pieces[params.Len()])
	return text.String()
}

// Len returns the length of the text.
func (t *Text) Len() int { return len(t.text) + int(t.To-t.From) }

// Set sets a body to its text, at the latest at the next flush.
func (j *Joiner) Set(dst pcommon.Value, t Text) {
	if t.To == 0 {
		j.values.SetNewStr(dst, t.text)
		return
	}
	j.waiting = append(j.waiting, joinedBody{dst, t.Span})
}

// Flush sets all bodies in the buffer to their texts, and empties the buffer.
func (j *Joiner) Flush() {
	text := string(j.buffer)
	for _, body := range j.waiting {
		j.values.SetNewStr(body.dst, text[body.From:body.To])
	}
	clear(j.waiting)
	j.buffer, j.waiting = j.buffer[:0], j.waiting[:0]
}

// Renew drops all references of the joiner to earlier batches.
func (j *Joiner) Renew() { j.values.Renew() }

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

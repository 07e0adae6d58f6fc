// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
)

// Splitter takes text bodies apart and decides which of them are written so.
// All bodies of a container are added before the decision.
type Splitter struct {
	shapes map[string]*textShape // by whole
	size   int                   // Of the shapes
	trials map[trialKey]*trial

	// heads are the shapes that texts had last which began alike, once there
	// are texts.
	heads [][2]*textShape

	bodies  []Body
	params  []Span
	scratch []byte
}

// Body is a body taken apart.
type Body struct {
	Text     string
	shape    *textShape // nil if it goes out as it is
	Template string     // "" until it is decided
	from, to uint32     // its parameters
}

// What a splitter may remember before it forgets everything.
const (
	maxTextShapes     = 1 << 14
	maxTextShapeBytes = 4 << 20
	maxTrials         = 1 << 14
	MaxTemplate       = 16 << 10
	headCount         = 1 << 11
)

// Body returns body i since Begin, or nil if it has no template.
func (s *Splitter) Body(i int) *Body {
	if b := &s.bodies[i]; b.shape != nil {
		return b
	}
	return nil
}

// Params returns where the parameters of a body are in its text.
func (s *Splitter) Params(b *Body) []Span { return s.params[b.from:b.to] }

// ForgetContainers drops what is known of resources and scopes, whose ids will be
// those of others.
func (s *Splitter) ForgetContainers() { clear(s.trials) }

// Begin forgets the bodies.
func (s *Splitter) Begin() {
	clear(s.bodies)
	s.bodies, s.params = s.bodies[:0], s.params[:0]
	if len(s.shapes) > maxTextShapes || s.size > maxTextShapeBytes {
		clear(s.shapes)
		clear(s.heads)
		s.size = 0
		for _, t := range s.trials {
			t.last = nil // or old shapes would stay, and what came after them
		}
	}
	if len(s.trials) > maxTrials {
		clear(s.trials)
	}
}

// Add takes the next body apart, if t says so.
func (s *Splitter) Add(body pcommon.Value, t *trial) {
	b := Body{}
	if t.paused == 0 && body.Type() == pcommon.ValueTypeStr {
		b = s.split(body.Str(), t)
	}
	s.bodies = append(s.bodies, b)
}

func (s *Splitter) split(text string, t *trial) Body {
	if s.heads == nil {
		s.heads = make([][2]*textShape, headCount)
	}
	from := len(s.params)
	heads := &s.heads[headOf(text, t)]
	b := Body{Text: text, from: uint32(from)}
	if b.shape = s.likely(text, heads, t.last); b.shape != nil {
		b.Template = b.shape.learned
		b.shape.seen++
		t.count(false)
	} else if b.shape = s.find(text, t); b.shape == nil {
		return b
	}
	b.to = uint32(len(s.params))
	t.weigh(text, s.params[from:])
	if heads[0] != b.shape {
		heads[0], heads[1] = b.shape, heads[0]
	}
	if t.last != nil {
		t.last.next = b.shape
	}
	t.last = b.shape
	return b
}

// likely returns a shape whose learned template fits a text, and appends the
// parameters, if one of the likely ones does: the last that began alike, the
// one before, and what followed the last one.
func (s *Splitter) likely(text string, heads *[2]*textShape, last *textShape) *textShape {
	from := len(s.params)
	next := heads[1]
	if last != nil {
		next = last.next
	}
	for _, shape := range [3]*textShape{heads[0], heads[1], next} {
		if shape == nil {
			continue
		}
		var ok bool
		if s.params, ok = shape.match(text, s.params); ok {
			return shape
		}
		s.params = s.params[:from]
	}
	return nil
}

// headOf tells texts apart by how they begin, with all digits taken as one.
func headOf(text string, t *trial) uint32 {
	const highNibbles = 0xf0f0f0f0f0f0f0f0
	h := t.seed
	for i := 0; i+8 <= len(text) && i < 48; i += 8 {
		h = (h ^ eightBytes(text, i)&highNibbles) * codec.GoldenRatio
		h ^= h >> 32
	}
	return uint32(h) % headCount
}

// find returns the shape of a text, which it adds if it is new, and appends the
// parameters. It returns nil for texts that have none.
func (s *Splitter) find(text string, t *trial) *textShape {
	from := len(s.params)
	template, params, ok := Split(s.scratch[:0], s.params, text)
	s.scratch = template
	if !ok || len(params)-from > stef.MaxPairs || len(template) > MaxTemplate {
		t.count(true)
		s.params = params[:from]
		return nil
	}
	s.params = params
	shape := s.shapes[string(template)]
	t.count(shape == nil)
	if shape == nil {
		if s.shapes == nil {
			s.shapes = map[string]*textShape{}
		}
		shape = newTextShape(template, text, params[from:])
		s.shapes[shape.whole] = shape
		s.size += shape.size()
	}
	shape.see(text, params[from:])
	return shape
}

// Decide decides about the bodies, which t was about.
func (s *Splitter) Decide(t *trial) {
	pays := t.end()
	for i := range s.bodies {
		b := &s.bodies[i]
		if !pays {
			b.shape = nil
		}
		if b.shape == nil || b.Template != "" {
			continue
		}
		params := s.params[b.from:b.to]
		b.Template, params = b.shape.reduce(b.Text, params)
		b.to = b.from + uint32(len(params))
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
)

// splitter takes text bodies apart and decides which of them are written so.
// All bodies of a container are added before the decision.
type splitter struct {
	shapes map[string]*textShape // by whole
	size   int                   // of the shapes
	trials map[trialKey]*trial

	bodies  []splitBody
	params  []span
	scratch []byte
	words   wordCache
}

// splitBody is a body taken apart.
type splitBody struct {
	text     string
	shape    *textShape // nil if it goes out as it is
	template string
	from, to uint32 // its parameters
}

// What a splitter may remember before it forgets everything.
const (
	maxTextShapes     = 1 << 14
	maxTextShapeBytes = 4 << 20
	maxTrials         = 1 << 14
	maxTemplate       = 16 << 10
)

// begin forgets the bodies.
func (s *splitter) begin() {
	clear(s.bodies)
	s.bodies, s.params = s.bodies[:0], s.params[:0]
	if len(s.shapes) > maxTextShapes || s.size > maxTextShapeBytes {
		clear(s.shapes)
		s.size = 0
	}
	if len(s.trials) > maxTrials {
		clear(s.trials)
	}
}

// add takes the next body apart, if t says so.
func (s *splitter) add(body pcommon.Value, t *trial) {
	b := splitBody{}
	if t.paused == 0 && body.Type() == pcommon.ValueTypeStr {
		b = s.split(body.Str(), t)
	}
	s.bodies = append(s.bodies, b)
}

func (s *splitter) split(text string, t *trial) splitBody {
	from := len(s.params)
	template, params, ok := splitText(s.scratch[:0], s.params, text)
	s.scratch = template
	if !ok || len(params)-from > stef.MaxPairs || len(template) > maxTemplate {
		t.count(true)
		s.params = params[:from]
		return splitBody{}
	}
	s.params = params
	sh := s.shapes[string(template)]
	t.count(sh == nil)
	if sh == nil {
		if s.shapes == nil {
			s.shapes = map[string]*textShape{}
		}
		sh = newTextShape(template, text, params[from:], uint32(len(s.shapes)))
		s.shapes[sh.whole] = sh
		s.size += sh.size()
	}
	sh.see(text, params[from:])
	return splitBody{text: text, shape: sh, from: uint32(from), to: uint32(len(params))}
}

// decide decides about the bodies from one on, which t was about.
func (s *splitter) decide(from int, t *trial) {
	all := t.end()
	for i := from; i < len(s.bodies); i++ {
		b := &s.bodies[i]
		if b.shape == nil {
			continue
		}
		if !all && b.shape.seen < 2 && b.shape.learned == "" {
			b.shape = nil
			continue
		}
		params := s.params[b.from:b.to]
		b.template, params = b.shape.reduce(b.text, params)
		b.to = b.from + uint32(len(params))
	}
}

// wordCache holds words that were parameters, so that dictionaries keep these
// and not the bodies that they stood in.
type wordCache struct{ words [1 << 12]string }

// own returns a word in memory of its own.
func (c *wordCache) own(word string) string {
	n := len(word)
	h := uint32(n)*0x9e3779b1 ^ uint32(word[0])*0x85ebca6b ^ uint32(word[n-1])*0xc2b2ae35 ^ uint32(word[n/2])*0x27d4eb2f ^ uint32(word[n*3/4])*0x165667b1
	slot := &c.words[h>>20]
	if *slot != word {
		*slot = strings.Clone(word)
	}
	return *slot
}

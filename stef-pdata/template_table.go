// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"os"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// template is a template seen.
type template struct {
	text string
	seen int
}

// splitBody is a text body taken apart. Without a template it goes out as it is.
type splitBody struct {
	template *template
	params   []span
}

// textSplitter takes the bodies of log records apart and decides which of them
// are written so.
type textSplitter struct {
	byText map[string]*template
	bodies []bodyParts
	params []span
	text   []byte
}

type bodyParts struct {
	template *template
	from, to int // in params
}

func (s *textSplitter) begin() {
	s.bodies, s.params = s.bodies[:0], s.params[:0]
}

var labThreshold, _ = strconv.Atoi(os.Getenv("LAB"))

// add takes the next body apart.
func (s *textSplitter) add(body pcommon.Value) {
	parts := bodyParts{}
	if body.Type() == pcommon.ValueTypeStr && labThreshold > 0 {
		from := len(s.params)
		var ok bool
		s.text, s.params, ok = splitText(s.text[:0], s.params, body.Str())
		if ok && len(s.params)-from <= 1023 {
			t := s.byText[string(s.text)]
			if t == nil {
				t = &template{text: string(s.text)}
				if s.byText == nil {
					s.byText = map[string]*template{}
				}
				s.byText[t.text] = t
			}
			t.seen++
			parts = bodyParts{t, from, len(s.params)}
		}
	}
	s.bodies = append(s.bodies, parts)
}

func (s *textSplitter) decide() {
	for i := range s.bodies {
		b := &s.bodies[i]
		if b.template != nil && b.template.seen < labThreshold {
			b.template = nil
		}
	}
}

func (s *textSplitter) at(i int) splitBody {
	if i >= len(s.bodies) {
		return splitBody{}
	}
	b := s.bodies[i]
	return splitBody{b.template, s.params[b.from:b.to]}
}

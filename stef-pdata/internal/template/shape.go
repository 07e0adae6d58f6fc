// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "strings"

// textShape is the common part of texts with the same template. Some of the words
// with digits are the same in all texts, such as versions. After enough texts, these
// words become part of the template.
type textShape struct {
	whole string // the template with a placeholder for every parameter
	seen  int    // texts since the template was learned

	fixed   []fixedParam
	learned string   // the template that contains the fixed parameters, "" at first
	pieces  []string // the parts of learned between the parameters
	misses  int      // number of texts that did not match learned

	refTemplate refTemplate
	sightings   int // number of texts without a reference template since the last attempt to learn a reference template

	next *textShape // the shape of the text after the last text of this shape
}

// fixedParam is a parameter that had the same value in all texts so far.
type fixedParam struct {
	value string
	holds bool
	// differed says that the parameter had another value in a text without a reference template (see
	// refTemplate).
	differed bool
}

// The first template is learned after learnAfter texts. It is learned again if more than allowMisses texts, and
// more than one in missShare, do not match it. The values were chosen by measuring the sizes of streams.
const (
	learnAfter  = 4
	allowMisses = 4
	missShare   = 8
)

// newShape returns the shape of a text. It copies the parts of the text that the shape keeps.
func (m *shapeMemory) newShape(whole []byte, text string, params []Span) *textShape {
	if len(m.shapes) == cap(m.shapes) {
		m.shapes = make([]textShape, 0, min(max(2*cap(m.shapes), 4), 64))
	}
	m.shapes = m.shapes[:len(m.shapes)+1]
	s := &m.shapes[len(m.shapes)-1]
	if n := len(params); n > cap(m.fixed)-len(m.fixed) {
		m.fixed = make([]fixedParam, 0, max(min(max(2*cap(m.fixed), 16), 256), n))
	}
	from := len(m.fixed)
	m.fixed = m.fixed[:from+len(params)]
	s.fixed = m.fixed[from:len(m.fixed):len(m.fixed)]
	size := len(whole)
	for _, p := range params {
		size += int(p.To - p.From)
	}
	if size > m.text.Cap()-m.text.Len() {
		chunk := min(max(2*m.text.Cap(), 512), 8<<10)
		m.text.Reset()
		m.text.Grow(max(chunk, size))
	}
	start := m.text.Len()
	m.text.Write(whole)
	for _, p := range params {
		m.text.WriteString(text[p.From:p.To])
	}
	words := m.text.String()[start:]
	s.whole, words = words[:len(whole)], words[len(whole):]
	for i, p := range params {
		n := p.To - p.From
		s.fixed[i] = fixedParam{value: words[:n], holds: true}
		words = words[n:]
	}
	return s
}

// shapeMemory allocates shapes in chunks, because the first batches of a stream have
// many new shapes. Each chunk is twice as large as the previous chunk, up to a limit.
type shapeMemory struct {
	shapes []textShape
	fixed  []fixedParam
	text   strings.Builder
}

// size estimates the memory of the shape.
func (s *textShape) size() int { return 6*len(s.whole) + 128*len(s.fixed) + 256 }

// see updates the shape with a text, before the text is written.
func (s *textShape) see(text string, params []Span) {
	s.seen++
	if s.learned == "" {
		s.compare(text, params)
	}
}

// compare drops the fixed parameters that have another value in a text.
func (s *textShape) compare(text string, params []Span) {
	for i, p := range params {
		if f := &s.fixed[i]; f.holds && f.value != text[p.From:p.To] {
			f.holds = false
		}
	}
}

// differ marks the fixed parameters that have another value in a text. The next reference template
// treats them as variable; the learned template does not change.
func (s *textShape) differ(text string, params []Span) {
	for i, p := range params {
		if f := &s.fixed[i]; f.holds && f.value != text[p.From:p.To] {
			f.differed = true
		}
	}
}

// fits reports whether a text has the values of all fixed parameters.
func (s *textShape) fits(text string, params []Span) bool {
	for i, p := range params {
		if f := &s.fixed[i]; f.holds && f.value != text[p.From:p.To] {
			return false
		}
	}
	return true
}

// reduce returns the template with which a text is written, and its parameters. The parameters
// reuse the memory of params.
func (s *textShape) reduce(text string, params []Span) (string, []Span) {
	if s.learned == "" {
		if s.seen < learnAfter {
			return s.whole, params
		}
		s.learn()
	}
	if !s.fits(text, params) {
		s.misses++
		if s.misses <= allowMisses || s.misses*missShare <= s.seen {
			return s.whole, params
		}
		s.compare(text, params)
		s.learn()
	}
	kept := params[:0]
	for i, p := range params {
		if !s.fixed[i].holds {
			kept = append(kept, p)
		}
	}
	return s.learned, kept
}

// learn puts the fixed parameters into the template.
func (s *textShape) learn() {
	var b strings.Builder
	size := len(s.whole)
	for _, f := range s.fixed {
		if f.holds {
			size += len(f.value)
		}
	}
	b.Grow(size)
	rest := s.whole
	for _, f := range s.fixed {
		at := strings.IndexByte(rest, placeholder)
		b.WriteString(rest[:at])
		if f.holds {
			b.WriteString(f.value)
		} else {
			b.WriteByte(placeholder)
		}
		rest = rest[at+1:]
	}
	b.WriteString(rest)
	s.learned = b.String()
	s.pieces = strings.Split(s.learned, "\x00")
	s.seen, s.misses = 0, 0
}

// match appends the parameters of a text that fits the learned template. It is much
// cheaper than Split, and usually finds the same parameters.
func (s *textShape) match(text string, params []Span) ([]Span, bool) {
	if s.learned == "" {
		return params, false
	}
	last := len(s.pieces) - 1
	if !strings.HasSuffix(text, s.pieces[last]) {
		return params, false
	}
	i := 0
	for _, piece := range s.pieces[:last] {
		if !strings.HasPrefix(text[i:], piece) {
			return params, false
		}
		from := i + len(piece)
		i = wordEnd(text, from)
		if i == from || i-from > maxParam {
			return params, false
		}
		params = append(params, Span{uint32(from), uint32(i)})
	}
	return params, text[i:] == s.pieces[last]
}

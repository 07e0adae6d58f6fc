// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
)

// Splitter splits text bodies and decides which of them are written as templates. Callers first add
// the bodies of a resource and scope in a batch, or some of these bodies, and then call Decide.
type Splitter struct {
	// References lets parameters refer to other fields of the log record.
	References bool
	// Formats lets parameters be references with a format.
	Formats bool
	// Always splits bodies even if that makes compressed streams larger.
	Always bool
	// Small splits bodies if that makes compressed streams smaller, regardless of CPU time.
	Small bool

	shapes   map[string]*textShape // key: whole
	size     int                   // size of the shapes and reference templates
	policies map[policyKey]*splitPolicy

	heads headTable

	memory shapeMemory

	sizes    *sizeEstimator // allocated at the first sample
	begun    bool           // a batch was begun
	first    bool           // the batch is the first batch of the stream
	plain    bool           // no body of the batch is split
	from, to int            // the range of the bodies in a sample

	bodies    []Body
	params    []Span
	scratch   []byte
	refParams []Span
	known     Known // fields of the log record whose body is split
}

// Body is a body that is split into a template and parameters.
type Body struct {
	Text     string
	shape    *textShape // nil if the body is written without a template
	Template string     // "" until the decision
	from, to uint32     // the range of its parameters
	refs     []string   // references of its template
}

// Ref returns the reference of a parameter, or "" if the parameter is a word.
func (b *Body) Ref(p Span) string {
	if p.To > 0 {
		return ""
	}
	return b.refs[p.From]
}

// Limits of a splitter. When a splitter exceeds one of the first three limits, it drops cached
// content.
const (
	maxTextShapes     = 1 << 14
	maxTextShapeBytes = 4 << 20
	maxPolicies       = 1 << 14
	MaxTemplate       = 16 << 10
	// minFirst is the minimum number of log records of a first batch that is split. In smaller
	// batches, new templates take more bytes than they save.
	minFirst  = 64
	headCount = 1 << 11
	// maxIdle is the maximum number of elements of a map that Reset keeps: the time to clear a
	// map depends on the largest size that it ever had.
	maxIdle = 1 << 9
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

// ForgetContainers drops the data about resources and scopes, because their ids will
// be assigned to other resources and scopes.
func (s *Splitter) ForgetContainers() { clear(s.policies) }

// Batch prepares for a batch with this number of log records.
func (s *Splitter) Batch(records int) {
	s.first = !s.begun
	s.begun = true
	s.plain = s.first && records < minFirst && !s.Always
}

// Begin drops all bodies that were added.
func (s *Splitter) Begin() {
	clear(s.bodies)
	s.known.forget()
	s.bodies, s.params = s.bodies[:0], s.params[:0]
	s.from, s.to = 0, 0
	if len(s.shapes) > maxTextShapes || s.size > maxTextShapeBytes {
		clear(s.shapes)
		s.heads.reset()
		s.memory, s.size = shapeMemory{}, 0
		for _, t := range s.policies {
			t.last = nil // releases the old shapes, which refer to each other
			t.refTemplates.list, t.refTemplates.tries, t.refTemplates.shapes = nil, searchCount{}, searchCount{}
		}
		s.sizes.forget()
	}
	if len(s.policies) > maxPolicies {
		clear(s.policies)
	}
}

// Reset prepares for the next stream.
func (s *Splitter) Reset() {
	s.begun = false
	s.heads.reset()
	if len(s.shapes) > maxIdle {
		s.shapes = nil
	}
	if len(s.policies) > maxIdle {
		s.policies = nil
	}
	clear(s.shapes)
	s.memory = shapeMemory{}
	clear(s.policies)
	clear(s.bodies)
	s.known.forget()
	s.sizes.forget()
	s.size, s.bodies, s.params = 0, s.bodies[:0], s.params[:0]
	s.from, s.to = 0, 0
}

// Add adds the body of the next log record, and splits it if t allows that.
func (s *Splitter) Add(lr plog.LogRecord, t *splitPolicy) {
	b := Body{}
	if body := lr.Body(); t.paused == 0 && !s.plain && body.Type() == pcommon.ValueTypeStr {
		b = s.examine(body.Str(), lr, t)
	}
	s.bodies = append(s.bodies, b)
}

// examine splits a body if pays returns true or the body is in a sample.
func (s *Splitter) examine(text string, lr plog.LogRecord, t *splitPolicy) Body {
	sampled := !s.first && !s.Always && t.decision.inSample(len(text))
	if sampled {
		if s.to == 0 {
			s.from = len(s.bodies)
		}
		s.to = len(s.bodies) + 1
	}
	if !s.pays(t) && !sampled {
		return Body{}
	}
	s.known.formats = s.Formats
	s.known.of(lr)
	return s.split(text, t)
}

// pays reports whether the bodies of a resource and scope are split. While there is no decision,
// bodies are split, because templates save bytes only after they were learned.
func (s *Splitter) pays(t *splitPolicy) bool {
	return s.Always || t.decision.enabled || !t.decision.known
}

func (s *Splitter) split(text string, t *splitPolicy) Body {
	from := len(s.params)
	b := Body{Text: text, from: uint32(from)}
	if s.References && t.refTemplates.tested < refTests {
		t.testText(text, &s.known)
	}
	if t.refTemplates.active && s.splitByRefTemplate(&b, t) {
		return b
	}
	head := headOf(text, t)
	heads := s.heads.at(head)
	if s.likely(text, heads, t, &b); b.shape != nil {
		t.count(false)
	} else if b.shape = s.find(text, t, &b); b.shape == nil {
		return b
	}
	b.to = uint32(len(s.params))
	if heads[0] != b.shape {
		s.heads.put(head, b.shape)
	}
	if t.last != nil {
		t.last.next = b.shape
	}
	t.last = b.shape
	return b
}

// splitByRefTemplate splits a text by the reference templates of its resource and scope, if
// one of them fits.
func (s *Splitter) splitByRefTemplate(b *Body, t *splitPolicy) (ok bool) {
	if s.params, ok = t.refTemplates.match(b.Text, s.params, &s.known, b); !ok {
		s.size += t.refTemplates.learn(b.Text, &s.known, t.bodies)
		return false
	}
	t.count(false)
	b.to = uint32(len(s.params))
	b.shape = &refShape
	return true
}

// refShape is the shape of all texts that are split by a refTemplateList.
var refShape textShape

// likely tries the shapes (see textShape) that a text probably has. heads are the last two shapes
// of texts with the same beginning. t.last is the shape of the previous text, and t.last.next is
// the shape that followed it the previous time. If a template of one of these shapes fits the text,
// likely appends the parameters and sets shape and template of b.
func (s *Splitter) likely(text string, heads [2]*textShape, t *splitPolicy, b *Body) {
	from := len(s.params)
	next := heads[1]
	if t.last != nil {
		next = t.last.next
	}
	for _, shape := range [3]*textShape{heads[0], heads[1], next} {
		if shape == nil {
			continue
		}
		if s.matchRefTemplate(shape, text, b) {
			b.shape = shape
			return
		}
		var ok bool
		if s.params, ok = shape.match(text, s.params); ok {
			shape.seen++
			b.shape, b.Template = shape, shape.learned
			if s.References && shape.wantsRefTemplate(text) && !t.refTemplates.shapes.exhausted(t.bodies) {
				s.learnRefTemplate(shape, text, &t.refTemplates.shapes)
			}
			return
		}
		s.params = s.params[:from]
	}
}

// learnRefTemplate learns the reference template of a shape from a text that fits its
// learned template.
func (s *Splitter) learnRefTemplate(shape *textShape, text string, tries *searchCount) {
	if params, ok := s.known.split(text); ok && len(params) == len(shape.fixed) {
		shape.learnRefTemplate(text, params, &s.known, tries)
	}
}

// matchRefTemplate splits a text by the reference template of a shape. It returns
// false if the shape has no reference template that fits.
func (s *Splitter) matchRefTemplate(shape *textShape, text string, b *Body) (ok bool) {
	l := &shape.refTemplate
	if l.template == "" {
		return false
	}
	if s.refParams, ok = l.match(text, s.refParams[:0], &s.known); !ok {
		return false
	}
	s.params = append(s.params[:b.from], s.refParams...)
	l.countMatch()
	b.Template, b.refs = l.template, l.refs
	return true
}

// headTable holds, for each beginning of texts, the last two shapes (see textShape) of texts with
// this beginning.
type headTable struct {
	// numbers maps the hash of a beginning to its position in shapes, counted from 1. It is
	// allocated at the first text. Most streams have few beginnings, so a table of numbers is
	// used: it takes less time to allocate and clear than a table of pointers.
	numbers *[headCount]uint16
	shapes  [][2]*textShape
}

// at returns the last two shapes of a beginning, the last shape first. A missing shape is nil.
func (h *headTable) at(head uint32) [2]*textShape {
	if h.numbers == nil {
		return [2]*textShape{}
	}
	number := int(h.numbers[head%headCount]) - 1
	if uint(number) >= uint(len(h.shapes)) {
		return [2]*textShape{}
	}
	return h.shapes[number]
}

// put makes shape the last shape of a beginning.
func (h *headTable) put(head uint32, shape *textShape) {
	if h.numbers == nil {
		h.numbers = new([headCount]uint16)
	}
	number := &h.numbers[head%headCount]
	if *number == 0 {
		h.shapes = append(h.shapes, [2]*textShape{shape})
		*number = uint16(len(h.shapes))
		return
	}
	x := &h.shapes[*number-1]
	x[0], x[1] = shape, x[0]
}

func (h *headTable) reset() {
	if len(h.shapes) == 0 {
		return
	}
	clear(h.numbers[:])
	clear(h.shapes)
	h.shapes = h.shapes[:0]
}

// headOf hashes the first bytes of a text, up to 48. It uses only the high four bits of each
// byte, so that texts which differ in digits have the same hash.
func headOf(text string, t *splitPolicy) uint32 {
	const highNibbles = 0xf0f0f0f0f0f0f0f0
	h := t.seed
	for i := 0; i+8 <= len(text) && i < 48; i += 8 {
		h = (h ^ eightBytes(text, i)&highNibbles) * codec.GoldenRatio
		h ^= h >> 32
	}
	return uint32(h) % headCount
}

// find returns the shape of a text, and appends the parameters to s.params. It adds the shape if it
// is new. It returns nil for texts that cannot be split. If the text fits the reference template of
// its shape, find sets the template of b.
func (s *Splitter) find(text string, t *splitPolicy, b *Body) *textShape {
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
		shape = s.memory.newShape(template, text, params[from:])
		s.shapes[shape.whole] = shape
		s.size += shape.size()
	}
	if s.matchRefTemplate(shape, text, b) {
		return shape
	}
	if shape.see(text, params[from:]); shape.refTemplate.learned > 0 {
		shape.differ(text, params[from:])
	}
	if s.References && shape.wantsRefTemplate(text) && !t.refTemplates.shapes.exhausted(t.bodies) {
		shape.learnRefTemplate(text, params[from:], &s.known, &t.refTemplates.shapes)
	}
	return shape
}

// Decide decides how the bodies of policy t are written.
func (s *Splitter) Decide(t *splitPolicy) {
	pays := t.endBatch(s.References)
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
	if pays && s.to > 0 {
		s.updateDecision(t)
	}
}

// updateDecision updates the decision of t with the sizes of the bodies of a sample. The decision
// says whether templates save bytes. If templates were disabled and stay disabled, the bodies are
// written as texts.
func (s *Splitter) updateDecision(t *splitPolicy) {
	if s.sizes == nil {
		s.sizes = new(sizeEstimator)
	}
	paid := s.pays(t)
	text, split, work := s.sizes.estimate(s.bodies[s.from:s.to], s.params)
	if !s.Small {
		split += work
	}
	t.decision.update(text, split)
	if !paid && !s.pays(t) {
		for i := range s.bodies {
			s.bodies[i].shape = nil
		}
	}
}

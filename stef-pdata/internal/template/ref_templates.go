// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"slices"
	"strings"

	stef "github.com/otelstef/stef/stef-go"
)

// A text may repeat other fields of its log record. Examples are a line of an access
// log whose parts a Collector parsed into attributes, and JSON that contains the time
// and the ids of the record. In the compact form, a parameter may refer to such a field
// instead of repeating it.
//
// spec: #compact-references

// fieldRef is a part of a text that repeats a field of the log record, and the reference that can
// replace this part.
type fieldRef struct {
	Span
	ref string
}

func (l fieldRef) overlaps(o fieldRef) bool { return l.From < o.To && o.From < l.To }

// alone reports whether a part of a text is a whole word or number, not a part of a
// longer word or number.
func alone(text string, from, to int) bool {
	return (from == 0 || !alphanumeric(text[from-1])) && (to == len(text) || !alphanumeric(text[to]))
}

func alphanumeric(c byte) bool { return byteKinds[c] == inWord && c != '/' && c != '_' }

// refTemplate is a reference template: its parameters may be references to other fields of the
// log record.
type refTemplate struct {
	template string
	pieces   []string // the parts between the parameters
	refs     []string // for each parameter: its reference, or "" for a word
	refCount int      // number of references
	matched  int      // number of recent texts that fitted the template
	misses   int      // number of recent texts that did not fit it
	learned  int      // how often a template was learned since the last one that fitted many texts; at most maxRefLearned
}

// These constants decide when a text shape stops using its reference template, and when it learns a
// new one.
const (
	maxRefLearned = 3
	refMissShare  = 4
	refPause      = 3 // log2 of the factor by which the pause grows each time, up to maxRefLearned times
	// refMemory is the number of matches after which matched and misses are halved. Without this,
	// an old stream would write many texts without references after a change of its texts or
	// attributes.
	refMemory = 1 << 10
)

// countMatch counts a text that fits the template. If a template fits many texts, the search for
// its references was worth the time. So when later texts do not fit the template, the pause before
// the next search is short.
func (l *refTemplate) countMatch() {
	if l.matched++; l.matched == refMemory {
		l.matched, l.misses, l.learned = l.matched/2, l.misses/2, 1
	}
}

// learnRefTemplate learns the reference template of a shape from a text and all its
// parameters. Parameters that are the same in all texts become part of the template. A part of the
// text becomes a reference only if it overlaps a parameter that is not the same in all texts.
func (s *textShape) learnRefTemplate(text string, params []Span, k *Known, tries *searchCount) {
	learned := min(s.refTemplate.learned+1, maxRefLearned)
	s.sightings = 0
	s.differ(text, params)
	k.free = s.free(k.free[:0], params)
	found := slices.DeleteFunc(k.fieldRefs(text), func(l fieldRef) bool {
		return !slices.ContainsFunc(k.free, func(p Span) bool { return l.overlaps(fieldRef{Span: p}) })
	})
	tries.count(len(found) > 0)
	s.refTemplate = newRefTemplate(text, k.free, found)
	s.refTemplate.learned = learned
}

// free appends the parameters that are not the same in all texts of the shape to its first
// argument, and returns the result.
func (s *textShape) free(free, params []Span) []Span {
	for i, p := range params {
		if f := &s.fixed[i]; !f.holds || f.differed {
			free = append(free, p)
		}
	}
	return free
}

// wantsRefTemplate counts a text that does not fit the reference template, and reports whether to
// learn a new reference template from this text. The number of texts before the next attempt
// grows each time, but it has a limit, because texts may begin to repeat other fields.
func (s *textShape) wantsRefTemplate(text string) bool {
	l := &s.refTemplate
	if l.template != "" {
		if l.misses++; l.misses <= learnAfter+l.matched/refMissShare {
			return false
		}
		l.template = ""
	}
	s.sightings++
	return s.sightings >= learnAfter<<(refPause*l.learned) && len(text) <= MaxTemplate
}

// newRefTemplate returns the reference template of a text. found has the parts of the text that
// repeat other fields of the log record: in the template, references replace these parts. The
// template has ordinary parameters for those params that overlap no part of found.
func newRefTemplate(text string, params []Span, found []fieldRef) (l refTemplate) {
	if len(found) == 0 {
		return l
	}
	l.refCount = len(found)
	for _, p := range params {
		if !slices.ContainsFunc(found, fieldRef{Span: p}.overlaps) {
			found = append(found, fieldRef{Span: p})
		}
	}
	slices.SortFunc(found, func(a, b fieldRef) int { return cmp.Compare(a.From, b.From) })
	var b strings.Builder
	b.Grow(len(text)) // a placeholder is not longer than what it replaces
	l.refs = make([]string, 0, len(found))
	from := 0
	for _, x := range found {
		b.WriteString(text[from:x.From])
		b.WriteByte(placeholder)
		l.refs = append(l.refs, x.ref)
		from = int(x.To)
	}
	b.WriteString(text[from:])
	if len(found) <= stef.MaxPairs {
		l.template = b.String()
		l.pieces = strings.Split(l.template, "\x00")
	}
	return l
}

// match appends the parameters of a text that fits the template. If a parameter is a reference, To
// is 0 and From is the index of the reference in refs.
func (l *refTemplate) match(text string, params []Span, k *Known) ([]Span, bool) {
	if !strings.HasSuffix(text, l.pieces[len(l.refs)]) {
		return params, false
	}
	i := 0
	for n, ref := range l.refs {
		if !strings.HasPrefix(text[i:], l.pieces[n]) {
			return params, false
		}
		from := i + len(l.pieces[n])
		if ref != "" {
			length := k.prefix(text[from:], ref)
			if length < 0 {
				return params, false
			}
			i = from + length
			params = append(params, Span{From: uint32(n)})
			continue
		}
		if i = wordEnd(text, from); i == from || i-from > maxParam {
			return params, false
		}
		params = append(params, Span{uint32(from), uint32(i)})
	}
	return params, text[i:] == l.pieces[len(l.refs)]
}

// refTemplateList holds the reference templates of a resource and scope. It is for texts
// that usually repeat other fields, or differ too much for ordinary templates. Each template is
// learned from one text. Templates with more references are first, then those that were used last.
// Texts that fit no reference template have ordinary templates.
type refTemplateList struct {
	active bool
	list   []*refTemplate
	tries  searchCount // searches for references to learn a template of the list
	shapes searchCount // searches for references to learn the reference template of a shape
	tested int         // number of texts that were tested
	repeat int         // number of tested texts that repeat other fields
}

// searchCount counts how often texts were searched for parts that references can replace (all), and
// how often such parts were found (found).
type searchCount struct{ all, found int }

// exhausted reports whether searches must end, because too few searches found references.
func (a *searchCount) exhausted(bodies int) bool {
	return a.all >= freeSearches+searchesPerFound*a.found+bodies/searchShare
}

func (a *searchCount) count(found bool) {
	a.all++
	if found {
		a.found++
	}
}

// halve reduces the weight of old searches.
func (a *searchCount) halve() { a.all, a.found = a.all/2, a.found/2 }

const (
	maxRefTemplates = 16
	// refTries is the number of texts from which templates may be learned, in addition
	// to a share of all texts: finding references takes as long as writing several texts.
	refTries      = 64
	refTriesShare = 16
	// Most kinds of texts never repeat other fields. So searches for references end after
	// freeSearches searches, unless at least one in searchesPerFound found references. One in
	// searchShare texts is searched nevertheless, because the texts may change.
	freeSearches     = 16
	searchesPerFound = 8
	searchShare      = 256
	// References must replace at least 1/minReferenced of a text.
	minReferenced = 4
	// refTests is the number of texts of a resource and scope that are tested. If all of
	// them repeat other fields, reference templates are tried before ordinary templates.
	refTests = 2
	// maxTested is the size of the longest text that is tested or learned: a search reads the whole
	// text once for each attribute of the record.
	maxTested = 4 << 10
)

// testText tests whether one of the first texts repeats other fields, and counts the result; see
// refTests.
func (t *splitPolicy) testText(text string, k *Known) {
	l := &t.refTemplates
	l.tested++
	if len(text) <= maxTested && refsReplaceEnough(text, k.fieldRefs(text)) {
		l.repeat++
	}
	if l.repeat == refTests && t.switches == 0 {
		t.restart(true)
	}
}

// refsReplaceEnough reports whether references replace enough of a text to be worth their cost: at
// least 1/minReferenced of it.
func refsReplaceEnough(text string, refs []fieldRef) bool {
	replaced := 0
	for _, l := range refs {
		replaced += int(l.To - l.From)
	}
	return replaced*minReferenced >= len(text)
}

// match finds the template of a text, appends the parameters, and sets the template
// of b.
func (x *refTemplateList) match(text string, params []Span, k *Known, b *Body) ([]Span, bool) {
	from := len(params)
	for i, l := range x.list {
		var ok bool
		if params, ok = l.match(text, params, k); ok {
			x.raise(i)
			b.Template, b.refs = l.template, l.refs
			return params, true
		}
		params = params[:from]
	}
	return params, false
}

// raise moves template i before all templates with as many or fewer references. A text may fit
// several templates: the template with the most references needs the fewest bytes.
func (x *refTemplateList) raise(i int) {
	l := x.list[i]
	for ; i > 0 && x.list[i-1].refCount <= l.refCount; i-- {
		x.list[i] = x.list[i-1]
	}
	x.list[i] = l
}

// learn adds a template learned from a text that fits no template of the list. It returns an
// estimate of the memory of the new template, or 0 if it added no template.
func (x *refTemplateList) learn(text string, k *Known, bodies int) (size int) {
	if x.tries.exhausted(bodies) || x.tries.all >= refTries+bodies/refTriesShare || len(text) > maxTested {
		return 0
	}
	l, ok := refTemplateOf(text, k)
	if x.tries.count(ok); !ok {
		return 0
	}
	if len(x.list) < maxRefTemplates {
		x.list = append(x.list, nil)
	}
	x.list[len(x.list)-1] = &l
	x.raise(len(x.list) - 1)
	return len(l.template) + 32*len(l.refs) + 256
}

// refTemplateOf returns the reference template of a text. It returns false if references
// replace too little of the text.
func refTemplateOf(text string, k *Known) (l refTemplate, ok bool) {
	params, ok := k.split(text)
	if !ok {
		return l, false
	}
	found := k.fieldRefs(text)
	if !refsReplaceEnough(text, found) {
		return l, false
	}
	l = newRefTemplate(text, params, found)
	return l, l.template != ""
}

// wordEnd returns where the word that begins at from ends.
func wordEnd(text string, from int) int {
	i := from
	for i < len(text) && byteKinds[text[i]] != 0 {
		i++
	}
	for i > from && byteKinds[text[i-1]]&notAtEnd != 0 {
		i--
	}
	return i
}

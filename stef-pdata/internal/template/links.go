// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// A text may repeat what its log record has elsewhere: lines of an access log, of which
// a Collector parsed the fields into attributes, or JSON with the time and the ids of
// the record. In the compact form, a parameter may refer to these instead of repeating
// them.
//
// spec: #compact-references

// Known is what the body of a log record may repeat. Its texts are made when they are
// first used.
type Known struct {
	record     plog.LogRecord
	attributes []pcommon.Value
	collected  bool
	texts      [6]knownText // of the ids and the times
	number     []byte       // an integer
}

type knownText struct {
	text []byte
	made bool
}

// timeFormats are the formats of times that are looked for, the longest first.
var timeFormats = [...]otelstef.TimeFormat{otelstef.TimeNanoseconds, otelstef.TimeMicroseconds,
	otelstef.TimeMilliseconds, otelstef.TimeCommonLog}

// of makes k that of a log record.
func (k *Known) of(lr plog.LogRecord) {
	k.record, k.collected = lr, false
	for i := range k.texts {
		k.texts[i].made = false
	}
}

// forget drops the log record.
func (k *Known) forget() {
	k.record = plog.LogRecord{}
	clear(k.attributes[:cap(k.attributes)])
	k.attributes = k.attributes[:0]
}

// list returns the attributes.
func (k *Known) list() []pcommon.Value {
	if !k.collected {
		k.collected = true
		k.attributes = k.attributes[:0]
		for _, v := range k.record.Attributes().All() {
			if v.Type() == pcommon.ValueTypeSlice && v.Slice().Len() == 1 {
				v = v.Slice().At(0)
			}
			k.attributes = append(k.attributes, v)
		}
	}
	return k.attributes
}

// made returns the text of an id or time, which may be empty.
func (k *Known) made(ref string) []byte {
	i := 0
	switch ref[1] {
	case otelstef.ReferenceSpan[1]:
		i = 1
	case otelstef.ReferenceTime[1]:
		i = 2 + slices.Index(timeFormats[:], otelstef.TimeFormat(ref[2]))
	}
	t := &k.texts[i]
	if t.made {
		return t.text
	}
	t.made, t.text = true, t.text[:0]
	switch i {
	case 0:
		if id := k.record.TraceID(); !id.IsEmpty() {
			t.text = hex.AppendEncode(t.text, id[:])
		}
	case 1:
		if id := k.record.SpanID(); !id.IsEmpty() {
			t.text = hex.AppendEncode(t.text, id[:])
		}
	default:
		t.text, _ = otelstef.AppendTime(t.text, timeFormats[i-2], uint64(k.record.Timestamp()))
	}
	return t.text
}

// prefix returns the length of what a reference stands for, if a text begins with it,
// or -1.
func (k *Known) prefix(text, ref string) int {
	var known []byte
	if ref[1] != otelstef.ReferenceAttribute[1] {
		known = k.made(ref)
	} else {
		list := k.list()
		if int(ref[2]) >= len(list) {
			return -1
		}
		switch v := list[ref[2]]; v.Type() {
		case pcommon.ValueTypeStr:
			if s := v.Str(); s != "" && strings.HasPrefix(text, s) {
				return len(s)
			}
			return -1
		case pcommon.ValueTypeInt:
			k.number = strconv.AppendInt(k.number[:0], v.Int(), 10)
			known = k.number
		}
	}
	if n := len(known); n > 0 && n <= len(text) && text[:n] == string(known) {
		return n
	}
	return -1
}

// Texts that are shorter are found by chance.
const (
	minKnownText = 4
	minKnownInt  = 3
	maxKnown     = 1 << 8
)

// link is where a text has what a reference stands for.
type link struct {
	Span
	ref string
}

// links finds what a text repeats, in the order of the text.
func (k *Known) links(text string) (found []link) {
	type candidate struct{ text, ref string }
	var candidates []candidate
	add := func(text []byte, ref string) {
		if len(text) > 0 {
			candidates = append(candidates, candidate{string(text), ref})
		}
	}
	add(k.made(otelstef.ReferenceTrace), otelstef.ReferenceTrace)
	add(k.made(otelstef.ReferenceSpan), otelstef.ReferenceSpan)
	for _, format := range timeFormats {
		ref := otelstef.ReferenceTime + string([]byte{byte(format)})
		add(k.made(ref), ref)
	}
	for i, v := range k.list() {
		if i == maxKnown {
			break
		}
		ref := otelstef.ReferenceAttribute + string([]byte{byte(i)})
		switch v.Type() {
		case pcommon.ValueTypeStr:
			if s := v.Str(); len(s) >= minKnownText && len(s) <= MaxTemplate {
				add([]byte(s), ref)
			}
		case pcommon.ValueTypeInt:
			if s := strconv.FormatInt(v.Int(), 10); len(s) >= minKnownInt {
				add([]byte(s), ref)
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(len(b.text), len(a.text)) })
	for _, c := range candidates {
		for from := 0; ; {
			at := strings.Index(text[from:], c.text)
			if at < 0 {
				break
			}
			at += from
			from = at + len(c.text)
			l := link{Span{uint32(at), uint32(from)}, c.ref}
			if alone(text, at, from) && !slices.ContainsFunc(found, l.overlaps) {
				found = append(found, l)
			}
		}
	}
	return found
}

func (l link) overlaps(o link) bool { return l.From < o.To && o.From < l.To }

// alone reports whether a part of a text is no part of a longer word or number.
func alone(text string, from, to int) bool {
	return (from == 0 || !alphanumeric(text[from-1])) && (to == len(text) || !alphanumeric(text[to]))
}

func alphanumeric(c byte) bool { return byteKinds[c] == inWord && c != '/' && c != '_' }

// linkedTemplate is a template of a shape whose parameters may be references.
type linkedTemplate struct {
	template string
	pieces   []string // between the parameters
	refs     []string // by parameter, "" for words
	matched  int
	misses   int
	learned  int // how often it was learned
}

// Conditions to learn a linked template again, and to stop using one.
const (
	maxLinkLearned = 5
	linkMissShare  = 4
	linkPause      = 3 // as a power of two
)

// learnLinks learns the linked template of a shape from a text, whose parameters that
// differ in texts of the shape are free. Only what has one of these becomes a
// reference.
func (s *textShape) learnLinks(text string, free []Span, k *Known) {
	learned := s.linked.learned + 1
	found := slices.DeleteFunc(k.links(text), func(l link) bool {
		return !slices.ContainsFunc(free, func(p Span) bool { return l.overlaps(link{Span: p}) })
	})
	s.linked = newLinked(text, free, found)
	s.linked.learned = learned
}

// free returns the parameters that are not fixed.
func (s *textShape) free(params []Span) (free []Span) {
	for i, p := range params {
		if !s.fixed[i].holds {
			free = append(free, p)
		}
	}
	return free
}

// wantsLinks counts a text that the linked template did not fit, and reports whether
// to learn one from it: after some texts without one, and after more each time.
func (s *textShape) wantsLinks(text string) bool {
	l := &s.linked
	if l.template != "" {
		if l.misses++; l.misses <= learnAfter+l.matched/linkMissShare {
			return false
		}
		l.template = ""
	}
	s.sightings++
	return l.learned < maxLinkLearned && s.sightings >= learnAfter<<(linkPause*l.learned) && len(text) <= MaxTemplate
}

// newLinked returns the linked template of a text with these parameters, of which the
// links replace some.
func newLinked(text string, params []Span, found []link) (l linkedTemplate) {
	if len(found) == 0 {
		return l
	}
	for _, p := range params {
		if !slices.ContainsFunc(found, link{Span: p}.overlaps) {
			found = append(found, link{Span: p})
		}
	}
	slices.SortFunc(found, func(a, b link) int { return cmp.Compare(a.From, b.From) })
	var b strings.Builder
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

// match appends the parameters of a text that fits the template. Those that are
// references have To 0, and their number as From.
func (l *linkedTemplate) match(text string, params []Span, k *Known) ([]Span, bool) {
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

// linkList is the linked templates of the texts of a resource and scope whose ordinary
// templates do not pay, because each text has words of its own. They are learned from
// one text each, and the last used one is the first.
type linkList struct {
	active bool
	list   []*linkedTemplate
	tries  int // to learn one
}

const (
	maxLinks = 16
	// linkTries is the number of texts from which templates may be learned, in addition
	// to a share of all texts: finding links takes as long as writing several texts.
	linkTries      = 64
	linkTriesShare = 16
	// minLinked is the share of a text that links have to replace.
	minLinked = 4
)

// match finds the template of a text, appends the parameters, and sets the template
// of b.
func (x *linkList) match(text string, params []Span, k *Known, b *Body) ([]Span, bool) {
	from := len(params)
	for i, l := range x.list {
		var ok bool
		if params, ok = l.match(text, params, k); ok {
			copy(x.list[1:i+1], x.list[:i])
			x.list[0] = l
			b.Template, b.refs = l.template, l.refs
			return params, true
		}
		params = params[:from]
	}
	return params, false
}

// learn learns a template from a text without one, and returns its size.
func (x *linkList) learn(text string, k *Known, bodies int) (size int) {
	if x.tries >= linkTries+bodies/linkTriesShare || len(text) > MaxTemplate {
		return 0
	}
	x.tries++
	_, params, ok := Split(nil, nil, text)
	if !ok {
		return 0
	}
	found := k.links(text)
	linked := 0
	for _, l := range found {
		linked += int(l.To - l.From)
	}
	if linked*minLinked < len(text) {
		return 0
	}
	l := newLinked(text, params, found)
	if l.template == "" {
		return 0
	}
	if len(x.list) < maxLinks {
		x.list = append(x.list, nil)
	}
	copy(x.list[1:], x.list)
	x.list[0] = &l
	return len(l.template) + 32*len(l.refs) + 256
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

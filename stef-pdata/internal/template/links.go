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

// A text may repeat other fields of its log record. Examples are a line of an access
// log whose parts a Collector parsed into attributes, and JSON that contains the time
// and the ids of the record. In the compact form, a parameter may refer to such a field
// instead of repeating it.
//
// spec: #compact-references

// Known is the fields that the body of a log record may repeat. Their texts are created
// on first use.
type Known struct {
	record     plog.LogRecord
	attributes []pcommon.Value
	collected  bool
	texts      [6]knownText // texts of the ids and the times
	number     []byte       // an integer
}

type knownText struct {
	text []byte
	made bool
}

// timeFormats are the formats of times to search for, the longest first.
var timeFormats = [...]otelstef.TimeFormat{otelstef.TimeNanoseconds, otelstef.TimeMicroseconds,
	otelstef.TimeMilliseconds, otelstef.TimeCommonLog}

// of sets k to the fields of a log record.
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

// prefix returns the length of the text of a reference if a text begins with it,
// otherwise -1.
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

// Shorter texts would often match by chance.
const (
	minKnownText = 4
	minKnownInt  = 3
	maxKnown     = 1 << 8
)

// link is the place in a text that a reference can replace.
type link struct {
	Span
	ref string
}

// links finds the places that references can replace, in the order of the text.
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

// alone reports whether a part of a text is a whole word or number, not a part of a
// longer one.
func alone(text string, from, to int) bool {
	return (from == 0 || !alphanumeric(text[from-1])) && (to == len(text) || !alphanumeric(text[to]))
}

func alphanumeric(c byte) bool { return byteKinds[c] == inWord && c != '/' && c != '_' }

// linkedTemplate is a template of a shape whose parameters may be references.
type linkedTemplate struct {
	template string
	pieces   []string // the parts between the parameters
	refs     []string // for each parameter: its reference, or "" for a word
	matched  int
	misses   int
	learned  int // how often the template was learned
}

// Conditions to learn a linked template again, and to stop using one.
const (
	maxLinkLearned = 5
	linkMissShare  = 4
	linkPause      = 3 // log2 of the factor by which the pause grows each time
)

// learnLinks learns the linked template of a shape from a text. free are the parameters
// that differ between texts of the shape. A part of the text becomes a reference only
// if it contains one of these.
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

// wantsLinks counts a text that does not fit the linked template, and reports whether
// to learn a new one from it. The number of texts before the next attempt grows each
// time.
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

// newLinked returns the linked template of a text with these parameters. The links
// replace some of the parameters.
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

// match appends the parameters of a text that fits the template. For a reference, To is
// 0 and From is its number.
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

// linkList holds the linked templates of a resource and scope whose texts differ too
// much for ordinary templates. Each is learned from one text. The last used one is the
// first.
type linkList struct {
	active bool
	list   []*linkedTemplate
	tries  int // number of attempts to learn a template
}

const (
	maxLinks = 16
	// linkTries is the number of texts from which templates may be learned, in addition
	// to a share of all texts: finding links takes as long as writing several texts.
	linkTries      = 64
	linkTriesShare = 16
	// minLinked is the minimum share of a text that links must replace.
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

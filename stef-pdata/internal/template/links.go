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
	slices.SortFunc(found, func(a, b link) int { return cmp.Compare(a.From, b.From) })
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
	maxLinkLearned = 4
	linkMissShare  = 4
)

// learnLinks learns the linked template of a shape from a text. Only what differs in
// texts of the shape becomes a reference.
func (s *textShape) learnLinks(text string, params []Span, k *Known) {
	l := &s.linked
	*l = linkedTemplate{learned: l.learned + 1}
	found := slices.DeleteFunc(k.links(text), func(l link) bool { return !s.varies(l, params) })
	if len(found) == 0 {
		return
	}
	var b strings.Builder
	from := 0
	add := func(p Span, ref string) {
		b.WriteString(text[from:p.From])
		b.WriteByte(placeholder)
		l.refs = append(l.refs, ref)
		from = int(p.To)
	}
	next := 0
	for i, p := range params {
		for next < len(found) && found[next].From < p.To {
			add(found[next].Span, found[next].ref)
			next++
		}
		if s.fixed[i].holds || slices.ContainsFunc(found, link{Span: p}.overlaps) {
			continue
		}
		add(p, "")
	}
	for ; next < len(found); next++ {
		add(found[next].Span, found[next].ref)
	}
	b.WriteString(text[from:])
	l.template = b.String()
	l.pieces = strings.Split(l.template, "\x00")
}

// varies reports whether a part of the text has a parameter that is not fixed.
func (s *textShape) varies(l link, params []Span) bool {
	for i, p := range params {
		if !s.fixed[i].holds && l.overlaps(link{Span: p}) {
			return true
		}
	}
	return false
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

// useless reports whether a linked template rarely fits.
func (l *linkedTemplate) useless() bool { return l.misses > learnAfter+l.matched/linkMissShare }

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

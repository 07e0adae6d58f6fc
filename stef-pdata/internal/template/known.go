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

// Known holds the fields that the body of a log record may repeat. Their texts are created on
// first use.
type Known struct {
	formats    bool // the stream can have references with a format
	record     plog.LogRecord
	attributes []pcommon.Value
	collected  bool
	texts      [6]knownText  // texts of the ids and the times
	clocks     [2]knownClock // the clocks that were used last
	number     []byte        // a number of an attribute

	// fieldRefs and split reuse the memory of the following fields.
	candidates []candidate
	clock      string // the last reference to a clock that was proposed
	made       []byte // the texts of candidates that are not text in the record
	found      []fieldRef
	template   []byte
	params     []Span
	free       []Span // parameters that are not fixed
}

type knownText struct {
	text []byte
	made bool
}

// knownClock is a reference to the time of the record in the format of a clock, and the text that
// the reference represents.
type knownClock struct {
	ref string
	knownText
}

// timeFormats are the formats of times to search for.
var timeFormats = [...]otelstef.TimeFormat{otelstef.TimeNanoseconds, otelstef.TimeMicroseconds,
	otelstef.TimeMilliseconds, otelstef.TimeCommonLog}

// of sets k to the fields of a log record.
func (k *Known) of(lr plog.LogRecord) {
	k.record, k.collected = lr, false
	for i := range k.texts {
		k.texts[i].made = false
	}
	for i := range k.clocks {
		k.clocks[i].made = false
	}
}

// forget drops the log record.
func (k *Known) forget() {
	k.record = plog.LogRecord{}
	clear(k.attributes[:cap(k.attributes)])
	clear(k.candidates[:cap(k.candidates)])
	k.attributes, k.candidates = k.attributes[:0], k.candidates[:0]
}

// list returns the first attributes, up to maxKnown of them. It replaces an array of one element
// by this element, because a reference to such an attribute stands for the element. An array of
// one double stays an array.
func (k *Known) list() []pcommon.Value {
	if !k.collected {
		k.collected = true
		k.attributes = k.attributes[:0]
		for _, v := range k.record.Attributes().All() {
			if len(k.attributes) == maxKnown {
				break // a reference has one byte for the number; a rejected record can have millions of attributes
			}
			if v.Type() == pcommon.ValueTypeSlice && v.Slice().Len() == 1 && v.Slice().At(0).Type() != pcommon.ValueTypeDouble {
				v = v.Slice().At(0)
			}
			k.attributes = append(k.attributes, v)
		}
	}
	return k.attributes
}

// textOf returns the text of an id or a time. The text may be empty.
func (k *Known) textOf(ref string) []byte {
	if ref[1] == otelstef.ReferenceClock[1] {
		return k.clockOf(ref)
	}
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

func (k *Known) clockOf(ref string) []byte {
	c := &k.clocks[0]
	if c.ref != ref {
		if x := &k.clocks[1]; x.ref != ref {
			x.ref, x.made = ref, false
		}
		k.clocks[0], k.clocks[1] = k.clocks[1], k.clocks[0]
	}
	if !c.made {
		c.made = true
		c.text, _ = otelstef.AppendClock(c.text[:0], otelstef.ClockFormat(ref[2:]), uint64(k.record.Timestamp()))
	}
	return c.text
}

// prefix compares the beginning of text with the text that ref represents. It returns the length of
// the represented text if they are equal, otherwise -1.
func (k *Known) prefix(text, ref string) int {
	var known []byte
	switch ref[1] {
	default:
		known = k.textOf(ref)
	case otelstef.ReferenceDouble[1]:
		list := k.list()
		if int(ref[2]) < len(list) && list[ref[2]].Type() == pcommon.ValueTypeDouble {
			k.number, _ = otelstef.AppendDecimal(k.number[:0], list[ref[2]].Double(), ref[3])
			known = k.number
		}
	case otelstef.ReferenceAttribute[1]:
		list := k.list()
		if int(ref[2]) >= len(list) {
			return -1
		}
		switch v := list[ref[2]]; v.Type() {
		case pcommon.ValueTypeStr:
			if s := v.Str(); s != "" && len(s) <= maxKnownText && strings.HasPrefix(text, s) {
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

// Limits of the search for references. minKnownText and minKnownInt are the minimum lengths of
// texts and integers: shorter values would often match by chance. maxKnown is the maximum number
// of attributes.
const (
	minKnownText = 4
	minKnownInt  = 3
	maxKnown     = 1 << 8
	// maxFound is the maximum number of references in a text. maxLooks is the maximum number of
	// searches for candidates in a text. Without these limits, the search in a text that repeats
	// short attributes would take time proportional to the square of its length.
	maxFound = 64
	// maxKnownText is the size of the longest text of an attribute that a reference replaces. With
	// this size, all references of a body together represent at most half of the text that a reader
	// accepts.
	maxKnownText = otelstef.ReferencedBytes / 2 / maxFound
	maxLooks     = 512
)

var (
	timeRefs = func() (refs [len(timeFormats)]string) {
		for i, format := range timeFormats {
			refs[i] = otelstef.ReferenceTime + string([]byte{byte(format)})
		}
		return refs
	}()
	attributeRefs = func() (refs [maxKnown]string) {
		for i := range refs {
			refs[i] = otelstef.ReferenceAttribute + string([]byte{byte(i)})
		}
		return refs
	}()
)

// candidate is a text that a body may repeat, and the reference to it. If the text is in
// Known.made, from and to are its range there.
type candidate struct {
	text, ref string
	from, to  int
}

// fieldRefs returns the parts of a text that references can replace. The longest parts are first.
// The result is valid until the next call.
func (k *Known) fieldRefs(text string) []fieldRef {
	k.collect(text)
	slices.SortStableFunc(k.candidates, func(a, b candidate) int { return cmp.Compare(len(b.text), len(a.text)) })
	found := k.found[:0]
	looks := 0
	for _, c := range k.candidates {
		for from := 0; len(found) < maxFound && looks < maxLooks; looks++ {
			at := strings.Index(text[from:], c.text)
			if at < 0 {
				break
			}
			at += from
			from = at + len(c.text)
			l := fieldRef{Span{uint32(at), uint32(from)}, c.ref}
			if alone(text, at, from) && !slices.ContainsFunc(found, l.overlaps) {
				found = append(found, l)
			}
		}
	}
	k.found = found
	return found
}

// collect sets the candidates from the fields of the log record. For references with a format,
// it searches the text for the format.
func (k *Known) collect(text string) {
	k.candidates, k.made = k.candidates[:0], k.made[:0]
	k.propose(otelstef.ReferenceTrace, k.textOf(otelstef.ReferenceTrace), 1)
	k.propose(otelstef.ReferenceSpan, k.textOf(otelstef.ReferenceSpan), 1)
	for _, ref := range timeRefs {
		k.propose(ref, k.textOf(ref), 1)
	}
	for i, v := range k.list() {
		switch v.Type() {
		case pcommon.ValueTypeStr:
			if s := v.Str(); len(s) >= minKnownText && len(s) <= maxKnownText {
				k.candidates = append(k.candidates, candidate{text: s, ref: attributeRefs[i]})
			}
		case pcommon.ValueTypeInt:
			k.number = strconv.AppendInt(k.number[:0], v.Int(), 10)
			k.propose(attributeRefs[i], k.number, minKnownInt)
		case pcommon.ValueTypeDouble:
			k.proposeDouble(i, v.Double(), text)
		}
	}
	k.proposeClock(text)
	made := string(k.made)
	for i := range k.candidates {
		if c := &k.candidates[i]; c.to > 0 {
			c.text = made[c.from:c.to]
		}
	}
}

// proposeClock adds a candidate for the time of the record, in the format of the text.
func (k *Known) proposeClock(text string) {
	if !k.formats {
		return
	}
	if format, at, ok := Clock(text, 0, uint64(k.record.Timestamp())); ok {
		if k.clock == "" || k.clock[2:] != string(format) {
			k.clock = otelstef.ReferenceClock + string(format)
		}
		k.candidates = append(k.candidates, candidate{text: text[at.From:at.To], ref: k.clock})
	}
}

// proposeDouble adds a candidate for a double, with as many decimals as the text shows. This
// number of decimals is part of the reference, so the template fits only texts with the same
// number of decimals.
func (k *Known) proposeDouble(attribute int, f float64, text string) {
	if !k.formats {
		return
	}
	made, ok := otelstef.AppendDecimal(k.number[:0], f, '0')
	k.number = made
	if !ok {
		return
	}
	from := 0
	for range maxClocks {
		at := strings.Index(text[from:], string(made))
		if at < 0 {
			return
		}
		at += from
		from = at + len(made)
		decimals, end := decimalsOf(text, at, from)
		if decimals < 0 || !alone(text, at, end) {
			continue
		}
		ref := otelstef.ReferenceDouble + string([]byte{byte(attribute), '0' + byte(decimals)})
		if k.number, ok = otelstef.AppendDecimal(made[:0], f, ref[3]); ok {
			k.propose(ref, k.number, minKnownText)
		}
		return
	}
}

// decimalsOf returns the number of decimals of the number at text[at:end], which is written in
// its shortest form. It also counts zeros that follow in the text, and returns where these zeros
// end. It returns -1 decimals if other digits follow, and 0 decimals if the text has more than
// nine.
func decimalsOf(text string, at, end int) (decimals int, to int) {
	point := strings.IndexByte(text[at:end], '.')
	if point < 0 {
		point = end - at
		if end < len(text) && text[end] == '.' {
			end++
		}
	}
	first := at + point + 1
	for end >= first && end < len(text) && text[end] == '0' {
		end++
	}
	switch decimals = max(end-first, 0); {
	case end < len(text) && text[end] >= '0' && text[end] <= '9':
		return -1, end
	case decimals > 9:
		return 0, end
	}
	return decimals, end
}

// propose adds a candidate if its text is not shorter than least, a number of bytes. It copies the
// text.
func (k *Known) propose(ref string, text []byte, least int) {
	if len(text) >= least {
		from := len(k.made)
		k.made = append(k.made, text...)
		k.candidates = append(k.candidates, candidate{ref: ref, from: from, to: len(k.made)})
	}
}

// split returns the parameters of a text. They are valid until the next call.
func (k *Known) split(text string) (params []Span, ok bool) {
	k.template, k.params, ok = Split(k.template[:0], k.params[:0], text)
	return k.params, ok
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/binary"
	"math/bits"

	"github.com/otelstef/stef/stef-go/codec"
)

// sizeEstimator estimates the compressed sizes of a sample of bodies in two forms: as texts, and as
// templates and parameters. For each form, it writes the sample into columns, and looks for
// repetitions within these columns and the columns of earlier samples. The estimate is an integer
// computation on the bodies alone, so that a stream has the same bytes each time.
type sizeEstimator struct {
	text, split meter
	known       [knownTemplates]string // templates of earlier samples by their hash
	words       []string               // parameters of the previous body
	seen        [seenWords]uint32      // hashes of parameters of earlier samples
	unseen      int                    // number of parameters in the sample whose hash was not seen
	column      []byte
	values      []byte
}

const (
	knownTemplates = 1 << 8
	seenWords      = 1 << 11
)

// Sizes in the output of zstd, in bits. Most bits of a match are its offset. An offset that equals
// the offset of the previous match needs only a few bits. The sizes are rough averages. They are
// good enough, because estimates matter only if templates save or cost at least a few per cent.
const (
	matchBits   = 22
	repeatBits  = 10
	literalBits = 6
	// columnBits is the constant cost of the columns of templates and parameters in each
	// batch, in addition to the size of their values.
	columnBits = 32
	// timeBits is the CPU time of a parameter that is new to the dictionaries, expressed in bits.
	// Splitting and joining a body counts as half of it. With this value, templates that take 1 %
	// of OTLP's CPU time are worth it if they save about 1 % of OTLP's bytes. The value was
	// measured in an exporter and a receiver, with and without templates.
	timeBits = 16
)

// estimate returns the sizes of bodies as texts and as templates, and the CPU time of templates,
// all in bits.
func (x *sizeEstimator) estimate(bodies []Body, params []Span) (text, split, work int) {
	texts := x.column[:0]
	last := ""
	weighed := 0
	for i := range bodies {
		b := &bodies[i]
		if !b.inSample() {
			continue
		}
		weighed++
		if b.Text != last {
			texts = appendText(texts, b.Text)
			last = b.Text
		}
	}
	text = x.text.bits(texts, literalBits)
	templates, values := texts[:0], x.values[:0]
	last = ""
	for i := range bodies {
		b := &bodies[i]
		if !b.inSample() {
			continue
		}
		if b.Template != last {
			templates = x.appendTemplate(templates, b.Template)
			last = b.Template
		}
		values = x.appendParams(values, b, params[b.from:b.to])
	}
	x.column, x.values = templates, values
	clear(x.words)
	x.words = x.words[:0]
	work = timeBits*x.unseen + timeBits/2*weighed
	x.unseen = 0
	return text, columnBits + x.split.bits(templates, literalBits) + x.split.bits(values, literalBits), work
}

// inSample reports whether a body is split and not too long for a sample.
func (b *Body) inSample() bool { return b.shape != nil && len(b.Text) <= sampleBytes }

// appendTemplate appends a template, or a byte that stands for a known template.
func (x *sizeEstimator) appendTemplate(column []byte, template string) []byte {
	number := hashOf(template) % knownTemplates
	if x.known[number] == template {
		return append(column, byte(number))
	}
	x.known[number] = template
	return appendText(column, template)
}

// appendParams appends the parameters that differ from the parameters of the previous body,
// and a byte that says which parameters differ.
func (x *sizeEstimator) appendParams(values []byte, b *Body, params []Span) []byte {
	changed := byte(0)
	if len(params) != len(x.words) {
		changed = byte(len(params))
		clear(x.words)
		x.words = x.words[:0]
		for range params {
			x.words = append(x.words, "")
		}
	}
	at := len(values)
	values = append(values, 0)
	for i, p := range params {
		word := b.Ref(p)
		if word == "" {
			word = b.Text[p.From:p.To]
		}
		if hash := uint32(hashOf(word)); x.seen[hash%seenWords] != hash|1 {
			x.seen[hash%seenWords] = hash | 1
			x.unseen++
		}
		if word != x.words[i] {
			x.words[i] = word
			values = appendText(values, word)
			changed ^= 1 << (i % 8)
		}
	}
	if len(values) == at+1 {
		return values[:at]
	}
	values[at] = changed
	return values
}

func appendText(column []byte, text string) []byte {
	column = append(column, byte(len(text)))
	if len(text) >= 0x80 {
		column = append(column, byte(len(text)>>8))
	}
	return append(column, text...)
}

// hashOf hashes a template or parameter by some of its bytes. The hash is the same in every
// process, because the written bytes depend on it.
func hashOf(text string) uint64 {
	h := uint64(len(text))
	if len(text) <= codec.ShortText {
		a, b := codec.Words(text)
		h = (h ^ a) * codec.GoldenRatio
		h = (h ^ h>>32 ^ b) * codec.GoldenRatio
		return h ^ h>>32
	}
	for i := 0; i+8 <= len(text); i += max(8, len(text)/8) {
		h = (h ^ eightBytes(text, i)) * codec.GoldenRatio
		h ^= h >> 32
	}
	return h
}

func (x *sizeEstimator) forget() {
	if x == nil {
		return
	}
	x.text.forget()
	x.split.forget()
	clear(x.known[:])
	clear(x.seen[:])
}

// meter estimates the compressed sizes of columns that follow each other.
type meter struct {
	window []byte
	places [1 << meterBits]uint16 // place in the window, from 1, by the hash of the next bytes
	offset int                    // offset of the last match
}

const (
	meterBits   = 11
	meterWindow = 1<<16 - 1
	minMatch    = 5
)

// bits returns the size of a column, in bits.
func (m *meter) bits(column []byte, literal int) (size int) {
	column = column[:min(len(column), meterWindow/2)]
	m.slide(len(column))
	i := len(m.window)
	m.window = append(m.window, column...)
	text := m.window
	for i+8 <= len(text) {
		word := binary.LittleEndian.Uint64(text[i:])
		place := &m.places[placeOf(word)]
		from := int(*place) - 1
		*place = uint16(i + 1)
		if from < 0 || (binary.LittleEndian.Uint64(text[from:])^word)<<(64-8*minMatch) != 0 {
			size += literal
			i++
			continue
		}
		if i-from == m.offset {
			size += repeatBits
		} else {
			size += matchBits
			m.offset = i - from
		}
		end := matchEnd(text, i+minMatch, m.offset)
		for i += 4; i < end && i+8 <= len(text); i += 4 {
			m.places[placeOf(binary.LittleEndian.Uint64(text[i:]))] = uint16(i + 1)
		}
		i = end
	}
	return size + (len(text)-i)*literal
}

// matchEnd returns the end of a match. The bytes before i are known to match. In a match, each byte
// equals the byte that is offset bytes earlier.
func matchEnd(text []byte, i, offset int) int {
	for ; i+8 <= len(text); i += 8 {
		if x := binary.LittleEndian.Uint64(text[i:]) ^ binary.LittleEndian.Uint64(text[i-offset:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < len(text) && text[i] == text[i-offset] {
		i++
	}
	return i
}

// placeOf hashes the first minMatch bytes of word, which has 8 bytes of a text.
func placeOf(word uint64) uint64 {
	return word << (64 - 8*minMatch) * codec.GoldenRatio >> (64 - meterBits)
}

// slide makes room in the window for n bytes.
func (m *meter) slide(n int) {
	if len(m.window)+n <= meterWindow {
		return
	}
	cut := len(m.window) - meterWindow/2
	m.window = m.window[:copy(m.window, m.window[cut:])]
	for i, place := range m.places {
		m.places[i] = uint16(max(int(place)-cut, 0))
	}
}

func (m *meter) forget() {
	if len(m.window) > 0 {
		clear(m.places[:])
		m.window, m.offset = m.window[:0], 0
	}
}

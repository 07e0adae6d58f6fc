// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"math/bits"
	"strings"
)

// A text body may be written as a template and parameters: lines of one shape
// then share the template, and only the parameters that differ are written.
//
// A parameter is a word that contains a digit: a number, an address, a version, a
// path, most ids and times. The template has a placeholder for each parameter.
//
// spec: #otlp-logs

const placeholder = 0x00

// maxParam is the length of the longest word that counts as a parameter. Longer words
// are data, which does not repeat and would only fill the dictionary.
const maxParam = 128

// Span is a part of a text.
type Span struct{ From, To uint32 }

// Kinds of bytes, as bits.
const (
	inWord   = 1 << iota // may be part of a word
	notAtEnd             // must not be the last byte of a word
)

// byteKinds is the kind of each byte. The kinds of bytes other than letters and digits were
// chosen to make streams small. A word can contain commas and equals signs, so that a whole
// list or pair is one parameter. It can contain slashes for a whole path or date, and the other
// bytes for a whole query.
var byteKinds = func() (kinds [256]byte) {
	for c := range kinds {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			kinds[c] = inWord
		}
	}
	for _, c := range "_/" {
		kinds[c] = inWord
	}
	for _, c := range ".-,=%&?+" {
		kinds[c] = inWord | notAtEnd
	}
	return kinds
}()

// Split appends the template of a text to template and its parameters to params. It
// returns false for texts that cannot have a template.
func Split(template []byte, params []Span, text string) ([]byte, []Span, bool) {
	if strings.IndexByte(text, placeholder) >= 0 {
		return template, params, false
	}
	literal := 0 // where the text that is not yet in template begins
	for i := nextDigit(text, 0); i < len(text); i = nextDigit(text, i) {
		from := i
		for from > literal && byteKinds[text[from-1]] != 0 {
			from--
		}
		for i++; i < len(text) && byteKinds[text[i]] != 0; i++ {
		}
		to := i
		for byteKinds[text[to-1]]&notAtEnd != 0 {
			to--
		}
		if to-from > maxParam {
			continue
		}
		template = append(template, text[literal:from]...)
		template = append(template, placeholder)
		params = append(params, Span{uint32(from), uint32(to)})
		literal = to
	}
	return append(template, text[literal:]...), params, true
}

// nextDigit returns the offset of the first digit from i on, or the length of the
// text. It processes eight bytes at once, because most bytes of a text are not
// digits.
func nextDigit(text string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; i+8 <= len(text); i += 8 {
		x := eightBytes(text, i) ^ '0'*ones // digits become 0 to 9
		other := (x&^highs + (0x80-10)*ones) | x
		if digits := ^other & highs; digits != 0 {
			return i + bits.TrailingZeros64(digits)/8
		}
	}
	for ; i < len(text); i++ {
		if '0' <= text[i] && text[i] <= '9' {
			return i
		}
	}
	return i
}

// eightBytes returns the eight bytes of a text from i on; the first byte is the lowest.
func eightBytes(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

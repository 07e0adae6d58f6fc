// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"math/bits"
)

// objectLine checks a line, which ends with a line break. ok is true if the line holds one valid JSON
// object of OTLP and nothing else. body is then the object, and signals has bit n if the object has a
// field of signal n. rescan has the same meaning as in piece. For all other lines, such as a line with a
// part of an object or with more nesting than maxFlatDepth, ok is false. Slower checks of the caller then
// find the place and the cause of an error.
func objectLine(line []byte) (body []byte, signals uint8, rescan, ok bool) {
	if len(line) == 0 || line[0] != '{' || line[len(line)-1] != '\n' {
		return nil, 0, false, false
	}
	s := lineScan{b: line}
	if !s.object(1) || s.names && s.signals == 0 {
		return nil, 0, false, false
	}
	end := s.i
	s.space()
	return line[:end], s.signals, s.rescan, s.i == len(line)-1
}

// lineScan reads JSON values of a line. The line break at the end is not part of any value. All
// methods stop there, so they need not compare the position with the length.
type lineScan struct {
	b       []byte
	i       int
	signals uint8
	names   bool // whether the outermost object has fields
	rescan  bool // whether an object has several fields with names of isChoice, or a value is null
}

// space skips white space within the line.
func (s *lineScan) space() {
	for {
		switch s.b[s.i] {
		case ' ', '\t', '\r':
			s.i++
		default:
			return
		}
	}
}

// value reads a value and reports whether it is valid.
func (s *lineScan) value(depth int) bool {
	s.space()
	switch c := s.b[s.i]; c {
	case '"':
		return s.text()
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		s.rescan = true
		return s.word("null")
	default:
		return (c == '-' || digit(c)) && s.number()
	}
}

func (s *lineScan) object(depth int) bool {
	if depth > maxFlatDepth {
		return false
	}
	s.i++
	s.space()
	if s.b[s.i] == '}' {
		s.i++
		return true
	}
	chosen := false
	for {
		start := s.i + 1
		if s.b[s.i] != '"' || !s.text() || s.i-1 == start {
			return false
		}
		if isChoice(s.b[start : s.i-1]) {
			s.rescan = s.rescan || chosen
			chosen = true
		}
		if depth == 1 {
			s.name(string(s.b[start : s.i-1]))
		}
		s.space()
		if s.b[s.i] != ':' {
			return false
		}
		s.i++
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		switch s.b[s.i] {
		case ',':
			s.i++
			s.space()
		case '}':
			s.i++
			return true
		default:
			return false
		}
	}
}

func (s *lineScan) array(depth int) bool {
	if depth > maxFlatDepth {
		return false
	}
	s.i++
	s.space()
	if s.b[s.i] == ']' {
		s.i++
		return true
	}
	for {
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		switch s.b[s.i] {
		case ',':
			s.i++
		case ']':
			s.i++
			return true
		default:
			return false
		}
	}
}

// name records the name of a field of the outermost object.
func (s *lineScan) name(name string) {
	s.names = true
	for signal := Metrics; signal <= profiles; signal++ {
		if name == jsonNames[signal][0] || name == jsonNames[signal][1] {
			s.signals |= 1 << signal
		}
	}
}

func (s *lineScan) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func digit(c byte) bool { return c-'0' < 10 }

func (s *lineScan) digits() bool {
	from := s.i
	for digit(s.b[s.i]) {
		s.i++
	}
	return s.i > from
}

func (s *lineScan) number() bool {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.b[s.i] == '0' {
		s.i++
	} else if !s.digits() {
		return false
	}
	if s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return false
		}
	}
	if s.b[s.i]|0x20 == 'e' {
		s.i++
		if c := s.b[s.i]; c == '+' || c == '-' {
			s.i++
		}
		return s.digits()
	}
	return true
}

// text reads a string with its quotes.
func (s *lineScan) text() bool {
	s.i++
	for {
		s.plain()
		switch s.b[s.i] {
		case '"':
			s.i++
			return true
		case '\\':
			if !s.escape() {
				return false
			}
		default:
			return false
		}
	}
}

// plain skips to the next quote, backslash or control character of a string. The line
// break is a control character.
func (s *lineScan) plain() {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := s.i
	for ; i+8 <= len(s.b); i += 8 {
		x := binary.LittleEndian.Uint64(s.b[i:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		// Each term sets the high bit of the first byte that it looks for: a control
		// character, a quote or a backslash. Bits of later bytes may be wrong.
		found := ((x-0x20*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & high
		if found != 0 {
			s.i = i + bits.TrailingZeros64(found)/8
			return
		}
	}
	for s.b[i] >= 0x20 && s.b[i] != '"' && s.b[i] != '\\' {
		i++
	}
	s.i = i
}

func (s *lineScan) escape() bool {
	s.i++
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return true
	case 'u':
		s.i++
		for range 4 {
			c := s.b[s.i]
			if !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
			s.i++
		}
		return true
	}
	return false
}

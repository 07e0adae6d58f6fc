// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/dynamic"
)

const (
	// textAt is the column of the number sign in a line. Longer codes move it to the
	// right.
	textAt = 46
	// bytesPerLine is the maximum number of bytes in a line. If an element has more bytes, further lines have
	// them, without repeating what the bytes mean.
	bytesPerLine = 12
	// partBytes is the number of bytes of an element that are formatted in one step. It bounds the
	// memory.
	partBytes = 1000 * bytesPerLine
	// restBits is the maximum number of padding or unread bits that are printed for one element.
	restBits = 1 << 10
	// leastText is how many bytes of text an element or record may have even if they exceed the
	// limit of its frame. It applies to elements and records that begin below the limit. Later
	// elements and records have no text.
	leastText = 4 << 10
)

func (p *printer) printElement(e *dynamic.Event, text string) {
	if e.Bits >= 0 || len(e.Data) <= partBytes {
		p.print(p.element(e, text, math.MaxInt))
		return
	}
	part := *e
	for at := 0; at < len(e.Data); at += partBytes {
		part.Offset, part.Data = e.Offset+int64(at), e.Data[at:min(at+partBytes, len(e.Data))]
		p.print(p.element(&part, text, math.MaxInt))
		text = ""
	}
}

// element returns the lines of an element. They are valid until the next call. room bounds their
// size: when the lines have reached it, one more line says how many bytes of the element are not
// shown.
func (p *printer) element(e *dynamic.Event, text string, room int) []byte {
	p.line = p.line[:0]
	if e.Bits >= 0 {
		p.bits(e, text)
	} else {
		p.bytes(e, text, room)
	}
	return p.line
}

func (p *printer) bytes(e *dynamic.Event, text string, room int) {
	if len(e.Data) == 0 {
		p.addMeaning(0, text)
	}
	for at := 0; at < len(e.Data); at += bytesPerLine {
		if len(p.line) >= room {
			p.line = fmt.Appendf(p.line, "# %s not shown\n", plural(uint64(len(e.Data)-at), "byte"))
			return
		}
		start := len(p.line)
		p.offset(e, int64(at))
		p.line = fmt.Appendf(p.line, ": % x", e.Data[at:min(at+bytesPerLine, len(e.Data))])
		p.addMeaning(start, text)
		text = ""
	}
}

func (p *printer) bits(e *dynamic.Event, text string) {
	start := len(p.line)
	if isRest(e.Detail) && e.Bits > restBits {
		part := *e
		part.Bits = restBits
		text += fmt.Sprintf(", %d bits, the first %d of them are shown", e.Bits, restBits)
		e = &part
	}
	if e.Bits > 0 {
		p.offset(e, 0)
		p.line = fmt.Appendf(p.line, ".%d: ", e.Bit)
		p.line = append(p.line, grouped(bitText(e), e.Detail)...)
	}
	p.addMeaning(start, text)
}

// offset starts a line with the byte offset of e, right-aligned.
func (p *printer) offset(e *dynamic.Event, add int64) {
	s := fmt.Sprint(e.Offset + add)
	if e.Derived {
		s = "+" + s
	}
	p.line = fmt.Appendf(p.line, "%7s", s)
}

// addMeaning adds the meaning to the line that begins at start, and ends the line.
func (p *printer) addMeaning(start int, text string) {
	if text != "" {
		for len(p.line)-start < textAt {
			p.line = append(p.line, ' ')
		}
		p.line = append(append(p.line, " # "...), text...)
	}
	p.line = append(p.line, '\n')
}

func bitText(e *dynamic.Event) string {
	text := make([]byte, e.Bits)
	for i := range text {
		at := e.Bit + i
		text[i] = '0' + e.Data[at/8]>>(7-at%8)&1
	}
	return string(text)
}

// grouped puts spaces between the parts of a code.
func grouped(bits string, detail any) string {
	cut := func(sizes ...int) (text string) {
		for _, n := range sizes {
			n = min(n, len(bits))
			if text != "" && n > 0 {
				text += " "
			}
			text += bits[:n]
			bits = bits[n:]
		}
		if text != "" && bits != "" {
			text += " "
		}
		return text + bits
	}
	switch d := detail.(type) {
	case dynamic.TraceStruct:
		full := len(bits) - d.Fields - d.Optional
		return cut(full, d.Fields, d.Optional)
	case dynamic.TraceRef:
		return cut(1, prefix(bits[min(1, len(bits)):]))
	case dynamic.TraceLength, dynamic.TraceSize:
		return cut(prefix(bits))
	case dynamic.TraceFloat:
		if d.New {
			return cut(2, 5, 6)
		}
		return cut(2)
	}
	return bits
}

// prefix returns the length of the prefix of a compact number.
func prefix(bits string) int {
	for i := range bits {
		if bits[i] == '1' {
			return i + 1
		}
	}
	return len(bits)
}

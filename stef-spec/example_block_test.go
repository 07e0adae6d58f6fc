// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/hex"
	"fmt"
	"strings"

	spec "github.com/otelstef/stef/stef-spec"
)

// block is a fenced block of the specification.
type block struct {
	lang string
	// line is the number of the first line after the fence.
	line int
	// start and end are the offsets of the text between the fences.
	start, end int
}

func (b block) text() string { return spec.Specification[b.start:b.end] }

// blocks returns the fenced blocks with the given language.
func blocks(lang string) []block {
	var found []block
	var open *block
	offset, line := 0, 0
	for text := range strings.Lines(spec.Specification) {
		line++
		after := offset + len(text)
		if rest, fence := strings.CutPrefix(strings.TrimSpace(text), "```"); fence {
			if open == nil {
				open = &block{lang: rest, line: line + 1, start: after}
			} else {
				open.end = offset
				if open.lang == lang {
					found = append(found, *open)
				}
				open = nil
			}
		}
		offset = after
	}
	return found
}

// example is a parsed stef-example block.
type example struct {
	block
	name    string
	schema  string // text of the schema
	root    string // "" if there is only one
	options [][]string
	records []string
	shown   []shownPart
}

// shownPart is one part of the stream as the bytes section shows it.
type shownPart struct {
	partID
	hex []byte
	// bits has the text of the lines with bits, and notes has the remarks. The
	// first remark is on the line of the label.
	bits, notes []string
}

// partID names a part of a stream. The label alone is not unique, because every
// frame has columns.
type partID struct {
	frame int
	label string
	// derived marks parts that are not in the stream itself.
	derived bool
}

func parseExample(b block) (*example, error) {
	e := &example{block: b}
	section := ""
	for line := range strings.Lines(b.text()) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, fmt.Errorf("line %q: a section or an indented line was expected", line)
			}
			section, value = name, strings.TrimSpace(value)
			switch name {
			case "name":
				e.name = value
			case "root":
				e.root = value
			case "schema":
				e.schema = value
			case "options", "records", "bytes":
			default:
				return nil, fmt.Errorf("unknown section %q", name)
			}
			continue
		}
		text := strings.TrimSpace(line)
		switch section {
		case "schema":
			e.schema += line + "\n"
		case "options":
			e.options = append(e.options, strings.Fields(text))
		case "records":
			e.records = append(e.records, text)
		case "bytes":
			if err := e.addShown(text); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("section %q has no lines of its own", section)
		}
	}
	if e.schema == "otel.stef" {
		e.schema = spec.OTelSchema
	}
	return e, nil
}

// addShown parses a line of the bytes section.
func (e *example) addShown(text string) error {
	if len(e.shown) > 0 {
		last := &e.shown[len(e.shown)-1]
		if bits, ok := strings.CutPrefix(text, ":"); ok {
			last.bits = append(last.bits, strings.TrimSpace(bits))
			return nil
		}
		if note, ok := strings.CutPrefix(text, ";"); ok {
			if last.notes == nil {
				last.notes = []string{""} // the line of the label has no remark
			}
			last.notes = append(last.notes, strings.TrimSpace(note))
			return nil
		}
	}
	text, derived := strings.CutPrefix(text, "=")
	left, right, _ := strings.Cut(text, "|")
	data, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(left), " ", ""))
	if err != nil {
		return fmt.Errorf("bytes %q: %w", text, err)
	}
	label, note, noted := strings.Cut(right, ";")
	label = strings.TrimSpace(label)
	if label == "" {
		if len(e.shown) == 0 {
			return fmt.Errorf("bytes %q: no label", text)
		}
		last := &e.shown[len(e.shown)-1]
		last.hex = append(last.hex, data...)
		return nil
	}
	p := shownPart{partID: partID{label: label, derived: derived}, hex: data}
	p.frame = e.frameOf(label)
	if noted {
		p.notes = append(p.notes, strings.TrimSpace(note))
	}
	e.shown = append(e.shown, p)
	return nil
}

// frameOf returns the number of the frame to which the next part of the example belongs. label is the label of
// this part. If the part is a frame header, it begins the next frame.
func (e *example) frameOf(label string) int {
	frame := -1
	if n := len(e.shown); n > 0 {
		frame = e.shown[n-1].frame
	}
	if strings.HasPrefix(label, frameHeaderLabel) {
		frame++
	}
	return frame
}

// bytesPerLine is the number of bytes on a line of the bytes section.
const bytesPerLine = 16

// print returns the block with the given parts in its bytes section.
func (e *example) print(parts []shownPart) string {
	head, _, _ := strings.Cut(e.text(), "\nbytes:")
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("\nbytes:\n")
	for _, p := range parts {
		p.print(&b)
	}
	return b.String()
}

func (p *shownPart) print(b *strings.Builder) {
	mark := ""
	if p.derived {
		mark = "= "
	}
	label := " " + p.label
	if len(p.notes) > 0 && p.notes[0] != "" {
		label += "; " + p.notes[0]
	}
	data := p.hex
	for first := true; first || len(data) > 0; first = false {
		n := min(bytesPerLine, len(data))
		fmt.Fprintf(b, "  %-*s |%s\n", 3*bytesPerLine+1, mark+fmt.Sprintf("% x", data[:n]), label)
		data, label = data[n:], ""
	}
	for _, bits := range p.bits {
		fmt.Fprintf(b, "    : %s\n", bits)
	}
	if len(p.notes) > 1 {
		for _, note := range p.notes[1:] {
			fmt.Fprintf(b, "    ; %s\n", note)
		}
	}
}

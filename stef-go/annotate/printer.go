// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// printer converts events into lines. It prints headers immediately. It prints columns when their
// frame is complete, because values arrive record by record and are listed column by column.
type printer struct {
	out *bufio.Writer
	err error // first error of writing to out
	// notes returns a line about a column. It may be nil.
	notes func(path string) string

	wire  wireLines
	sizes sizeLines

	// frames is the number of the last frame to print, or 0 to print all. over says that the stream
	// is in a frame after the last frame to print.
	frames int
	over   bool

	// The position being printed.
	frame   int
	derived bool
	begun   bool

	columns []dynamic.Column
	text    []columnText
	// limit bounds the text of all columns and records of a frame. room is the unused
	// part of it.
	room, limit int
	entries     map[*dynamic.Struct]string
	line        []byte

	// records is the text about the records of the frame, if records are printed. heading is the
	// line above this text. number counts the records of the stream so far.
	records recordText
	number  uint64
	heading string
}

type recordText struct {
	bytes.Buffer
	hidden int // records without a line
}

type columnText struct {
	bytes.Buffer
	heading string
	hidden  int // values without a line
}

func newPrinter(w io.Writer, frameText int) *printer {
	p := &printer{out: bufio.NewWriter(w), limit: frameText, room: frameText, entries: map[*dynamic.Struct]string{}}
	p.wire.p, p.sizes.p = p, p
	return p
}

// event is the trace function.
func (p *printer) event(e *dynamic.Event) {
	p.over = p.over || p.beyond(e.Frame)
	if p.err != nil || p.over {
		return
	}
	p.section(e)
	if d, ok := e.Detail.(dynamic.TraceWire); ok {
		p.wire.add(e, d.Fields)
		return
	}
	p.wire.flush()
	if d, ok := e.Detail.(dynamic.TraceSize); ok {
		p.sizes.add(e, d.Size)
		return
	}
	p.sizes.flush()
	switch d := e.Detail.(type) {
	case dynamic.TraceFrame:
		p.begin(d.Frame)
	case dynamic.TraceField:
		p.printElement(e, fieldText(d))
	default:
		if e.Column < 0 {
			p.printElement(e, restText(e))
			return
		}
		p.value(e)
	}
}

func (p *printer) beyond(frame int) bool { return p.frames > 0 && frame > p.frames }

// section prints the heading of a frame, if e begins one.
func (p *printer) section(e *dynamic.Event) {
	if !p.begun || e.Frame != p.frame {
		p.endFrame()
		p.begun, p.frame, p.derived = true, e.Frame, false
		switch e.Frame {
		case -1:
			p.print([]byte("# fixed header\n"))
		case 0:
			p.print([]byte("\n# variable header\n"))
		default:
			p.print(fmt.Appendf(nil, "\n# frame %d\n", e.Frame))
		}
	}
	if e.Derived && !p.derived {
		p.derived = true
		p.print([]byte("# decompressed payload: offsets with a plus sign count from its start\n"))
	}
}

func (p *printer) begin(f *dynamic.Frame) {
	p.columns = f.Columns
	p.text = make([]columnText, len(f.Columns))
	p.room = p.limit
	if f.Flags&dynamic.RestartDictionaries != 0 {
		clear(p.entries)
	}
}

// value adds a line to a column.
func (p *printer) value(e *dynamic.Event) {
	if e.Column >= len(p.text) {
		return
	}
	c := &p.text[e.Column]
	if c.heading == "" {
		c.heading = columnHeading(p.columns[e.Column], e.Type)
		if p.notes != nil {
			if note := p.notes(p.columns[e.Column].Path); note != "" {
				c.heading += "# " + note + "\n"
			}
		}
	}
	if p.room <= 0 && !isRest(e.Detail) {
		c.hidden++
		return
	}
	before := c.Len()
	if c.hidden > 0 {
		fmt.Fprintf(c, "# %d values are not shown\n", c.hidden)
		c.hidden = 0
	}
	c.Write(p.element(e, p.meaning(e), max(p.room, leastText)))
	p.room -= c.Len() - before
}

func (p *printer) endFrame() {
	p.wire.flush()
	p.sizes.flush()
	for i := range p.text {
		c := &p.text[i]
		if c.heading == "" {
			continue
		}
		p.print([]byte(c.heading))
		p.print(c.Bytes())
		if c.hidden > 0 {
			p.print(fmt.Appendf(nil, "# %d values are not shown\n", c.hidden))
		}
	}
	p.columns, p.text = nil, nil
	if p.records.Len() > 0 || p.records.hidden > 0 {
		p.print([]byte(p.heading))
		p.print(p.records.Bytes())
		if p.records.hidden > 0 {
			p.print(fmt.Appendf(nil, "# %d records are not shown\n", p.records.hidden))
		}
		p.records = recordText{}
	}
}

func (p *printer) record(root *schema.Struct, rec *dynamic.Struct) {
	p.number++
	if p.room <= 0 {
		p.records.hidden++
		return
	}
	p.line = fmt.Appendf(p.line[:0], "# r%d: ", p.number)
	p.line = append(dynamic.AppendPlainJSON(p.line, root, rec), '\n')
	if len(p.line) > max(p.room, leastText) {
		p.records.hidden++
		return
	}
	p.records.Write(p.line)
	p.room -= len(p.line)
}

// finish prints the remaining lines and the error of the stream, if there is one.
func (p *printer) finish(err error) error {
	p.endFrame()
	if err != nil {
		p.print(fmt.Appendf(nil, "\n# error: %v\n", err))
	}
	if p.err == nil {
		p.err = p.out.Flush()
	}
	if p.err != nil {
		return p.err
	}
	return err
}

func (p *printer) print(b []byte) {
	if p.err == nil {
		_, p.err = p.out.Write(b)
	}
}

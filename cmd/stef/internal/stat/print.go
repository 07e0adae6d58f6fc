// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/figure"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// Options selects what a report prints in addition to the sums.
type Options struct {
	// All prints columns without bytes too.
	All bool
	// Frames prints a line for each frame.
	Frames bool
	// JSON prints the figures of the report as JSON.
	JSON bool
}

// Print writes a report as text.
func (r *Report) Print(w io.Writer, o Options) error {
	if o.JSON {
		return r.printJSON(w)
	}
	p := &page{w: w, names: len("numbers of records")}
	for _, c := range r.Columns {
		if c.Plain > 0 || o.All {
			p.names = max(p.names, len(c.Path))
		}
	}
	r.overview(p)
	r.bytes(p)
	r.columns(p, o)
	r.dictionaries(p, o)
	if o.Frames {
		r.frames(p)
	}
	return p.err
}

func (r *Report) overview(p *page) {
	h := &r.Header
	if r.Source != "" {
		p.line("source       %s, as the stream that stef convert makes of it", r.Source)
	}
	p.line("root         %s, %s", r.Root.Struct.Name, r.schema())
	p.line("compression  %s", h.Compression)
	for _, key := range slices.Sorted(maps.Keys(h.UserData)) {
		p.line("user data    %s = %s", strconv.Quote(key), strconv.Quote(h.UserData[key]))
	}
	p.line("records      %s", figure.Grouped(r.Records))
	p.line("frames       %s%s", figure.Grouped(len(r.Frames)), r.recordsPerFrame())
	p.line("checksums    %s", r.checksums())
	if r.OTLPZstd > 0 {
		p.line("as OTLP      %s, together %s bytes, %s with zstd for each request alone; the stream is %.3g times that", figure.Count(r.Requests, "request"),
			figure.Grouped(r.OTLP), figure.Grouped(r.OTLPZstd), float64(r.Size)/float64(r.OTLPZstd))
		if h.Compression == dynamic.Zstd {
			p.line("zstd level   %s", r.level())
		}
	}
	if lost := r.lost(); lost != "" {
		p.line("%s", lost)
	}
	p.line("restarts     dictionaries %d, compression %d, codecs %d", r.Restarts(dynamic.RestartDictionaries),
		r.Restarts(dynamic.RestartCompression), r.Restarts(dynamic.RestartCodecs))
}

// lost returns the line about the bytes of the input that the report does not cover, or "".
func (r *Report) lost() string {
	var trailing *file.TrailingError
	lost := figure.Grouped(r.Whole.Lost)
	switch w := &r.Whole; {
	case w.Damage == nil:
		return ""
	case errors.Is(w.Damage, dynamic.ErrZstdDict):
		return fmt.Sprintf("not read     the %s bytes from byte %d on: they need a zstd dictionary", lost, r.Size)
	case w.OverLimit:
		return fmt.Sprintf("not read     the %s bytes from byte %d on: a limit of this tool is exceeded", lost, r.Size)
	case w.Concatenated:
		return fmt.Sprintf("not read     the %s bytes from byte %d on: another stream", lost, r.Size)
	case w.Unended:
		return fmt.Sprintf("no end       the decompressed content ends after %s bytes, and the compression has no end: its writer was killed, or what followed is lost", figure.Grouped(r.Size))
	case w.Broken && w.Lost == 0 && errors.As(w.Damage, &trailing):
		return fmt.Sprintf("damaged      lost: %s after the end of the compressed data", figure.Count(int(trailing.Bytes), "byte"))
	case w.Broken && w.Lost == 0:
		return "damaged      what cannot be decompressed is lost"
	case w.Broken:
		return fmt.Sprintf("damaged      what cannot be decompressed is lost, and %s bytes before it", lost)
	case r.Source != "": // the stream was converted from the file, so Size is not an offset in the file
		return fmt.Sprintf("damaged      the last %s bytes of the file are lost", lost)
	}
	return fmt.Sprintf("damaged      the %s bytes from byte %d on are lost", lost, r.Size)
}

// smallFrame is the size, before compression, of the largest frames of metrics that the exporter
// compresses at the level fastest: see stef.LevelAuto.
const smallFrame = 64 << 10

// level compares the level of the stream with the level that the exporter selects, because the
// ratio to OTLP depends on the level.
func (r *Report) level() string {
	has := "unknown, because streams do not contain it (stef record uses default; stef convert uses default unless --level sets another)"
	if r.Source != "" {
		has = "default"
	}
	const measure = "; stef convert --level fastest prints the ratio for fastest"
	large := -1
	if r.Root.Signal == otlpfile.Metrics {
		large = slices.IndexFunc(r.Frames, func(f Frame) bool { return f.Plain > smallFrame })
	}
	switch {
	case !r.compact() || large == 0:
		return has + "; the exporter would use default for these frames"
	case large > 0:
		return fmt.Sprintf("%s; the exporter would use fastest up to frame %s, and default after it, because the next frame has more than 64 KiB before compression%s", has, figure.Grouped(large), measure)
	}
	return has + "; the exporter would use fastest for these frames" + measure
}

// compact reports whether the stream is in the compact form.
func (r *Report) compact() bool {
	return slices.Equal(r.Header.Wire, schema.WireOf(r.Root.Wire)) && r.Root.Wire != r.Root.Struct
}

// checksums says how many frames with records end with a checksum.
func (r *Report) checksums() string {
	switch with, all := r.Checksums(); {
	case all == 0 && r.Whole.Damage != nil:
		return "unknown (no whole frame with records)"
	case all == 0:
		return "unknown (no frame with records)"
	case with == 0:
		return "none"
	case with == all:
		return "all frames"
	default:
		return fmt.Sprintf("%s of %s frames", figure.Grouped(with), figure.Grouped(all))
	}
}

// schema describes the schema of the stream.
func (r *Report) schema() string {
	wire, how := r.Header.Wire, "announced"
	if wire == nil {
		wire, how = r.Root.Base, "not announced"
	}
	name, own := "another schema", r.Root.File
	switch compat := schema.Compare(r.Root.Struct, wire); {
	case own != "" && compat == schema.Exact:
		name = "schema of " + own
	case own != "" && compat == schema.Older:
		name = "older version of " + own
	case r.compact():
		name = "compact schema"
	case slices.Equal(wire, schema.WireOf(r.Root.Struct)):
		name = "full schema"
	case r.Root.Published != nil && slices.Equal(wire, r.Root.Base):
		name = "reference schema"
	case compat == schema.Older:
		name = "older version of the full schema"
	}
	return fmt.Sprintf("%s, %s: %s", name, how, wire.Text())
}

func (r *Report) recordsPerFrame() string {
	if len(r.Frames) == 0 {
		return ""
	}
	least, most := r.Frames[0].Records, uint64(0)
	for _, f := range r.Frames {
		least, most = min(least, f.Records), max(most, f.Records)
	}
	if len(r.Frames) == 1 {
		return " with " + figure.Count(most, "record")
	}
	if least == most {
		return fmt.Sprintf(" with %s each", figure.Count(most, "record"))
	}
	return fmt.Sprintf(" with %s to %s records each", figure.Grouped(least), figure.Grouped(most))
}

// bytes describes the parts that the stream consists of.
func (r *Report) bytes(p *page) {
	p.line("")
	p.row("bytes of", "plain", "%", r.Header.Compression.String())
	total := r.FixedHeader + r.VarHeader + r.Heads + r.Plain()
	row := func(name string, plain int64, packed string) {
		p.row(name, figure.Grouped(plain), figure.Percent(plain, total), packed)
	}
	row("headers", r.FixedHeader+r.VarHeader, figure.Grouped(r.FixedHeader+r.VarHeader))
	row("heads of frames", r.Heads, figure.Grouped(r.Heads))
	row("numbers of records", r.Counts, "")
	row("sizes of columns", r.Sizes, "")
	row("columns", r.columnBytes(), "")
	row("content of frames", r.Plain(), figure.Grouped(r.Packed))
	row("all", total, figure.Grouped(r.Size))
	if r.Records > 0 {
		p.row("a record", fmt.Sprintf("%.2f", float64(total)/float64(r.Records)), "", fmt.Sprintf("%.2f", float64(r.Size)/float64(r.Records)))
	}
}

func (r *Report) columns(p *page, o Options) {
	plain, alone := r.columnBytes(), r.Alone()
	size := func(c *Column) int64 { return c.Plain }
	if r.Header.Compression == dynamic.Zstd {
		size = func(c *Column) int64 { return c.Alone }
	}
	p.line("")
	p.row("column", "plain", "%", "zstd alone", "%", "  type")
	empty := 0
	for _, c := range sorted(r.Columns, size) {
		if c.Plain == 0 && !o.All {
			empty++
			continue
		}
		p.row(c.Path, figure.Grouped(c.Plain), figure.Percent(c.Plain, plain), figure.Grouped(c.Alone), figure.Percent(c.Alone, alone), "  "+c.describe())
	}
	p.row("all columns", figure.Grouped(plain), figure.Percent(plain, plain), figure.Grouped(alone), figure.Percent(alone, alone))
	if empty > 0 {
		p.line("(%s without bytes)", figure.Count(empty, "column"))
	}
}

// describe returns the type and the meaning of a column.
func (c *Column) describe() string {
	if c.Meaning == "" {
		return c.Type
	}
	return c.Type + ": " + c.Meaning
}

func (r *Report) dictionaries(p *page, o Options) {
	p.line("")
	p.row("dictionary", "entries", "most", "bytes", "references")
	empty := 0
	for _, d := range r.Dicts {
		if d.Entries == 0 && d.Refs == 0 && !o.All {
			empty++
			continue
		}
		size := figure.Grouped(d.Bytes)
		if d.Struct {
			size = "structs"
		}
		p.row(d.Name, figure.Grouped(d.Entries), figure.Grouped(d.Most), size, figure.Grouped(d.Refs))
	}
	switch {
	case empty == 1:
		p.line("(1 dictionary without entries)")
	case empty > 1:
		p.line("(%d dictionaries without entries)", empty)
	}
}

func (r *Report) frames(p *page) {
	p.line("")
	p.line("%8s %12s %8s %12s %12s  %s", "frame", "offset", "records", "plain", r.Header.Compression, "restarts")
	for i, f := range r.Frames {
		p.line("%8d %12d %8d %12d %12d  %s", i+1, f.Offset, f.Records, f.Plain, f.Packed, restarts(f.Flags))
	}
}

func restarts(flags dynamic.FrameFlags) string {
	var names []string
	for _, f := range []struct {
		flag dynamic.FrameFlags
		name string
	}{
		{dynamic.RestartDictionaries, "dictionaries"},
		{dynamic.RestartCompression, "compression"},
		{dynamic.RestartCodecs, "codecs"},
	} {
		if flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, " ")
}

// page writes lines until a write fails.
type page struct {
	w     io.Writer
	names int // the width of the column of names
	err   error
}

func (p *page) line(format string, args ...any) {
	if p.err != nil {
		return
	}
	_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// row writes a name and right-aligned cells. A cell that begins with a blank is
// written unchanged.
func (p *page) row(name string, cells ...string) {
	text := fmt.Sprintf("%-*s", p.names, name)
	for _, c := range cells {
		switch {
		case strings.HasPrefix(c, " "):
			text += c
		case c == "%" || strings.HasSuffix(c, "%"):
			text += fmt.Sprintf("%7s", c)
		default:
			text += fmt.Sprintf("%12s", c)
		}
	}
	p.line("%s", text)
}

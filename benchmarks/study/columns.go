// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// shownColumns is the number of STEF columns, largest first, that have a row of their own in a
// table. The last row has the sum of all other STEF columns.
const shownColumns = 15

type columnSize struct {
	path   string
	plain  int64
	packed int64
}

func columns(c *Context) (*Outcome, error) {
	o := &Outcome{}
	o.add(report.Prose("Where the bytes of a STEF stream are. Each column is shown uncompressed and compressed alone by zstd; together they compress a little better."))
	for _, ref := range c.refs() {
		set := c.begin(ref)
		found, err := columnsOf(natural(set))
		if err != nil {
			return nil, err
		}
		var total columnSize
		for _, s := range found {
			total.plain += s.plain
			total.packed += s.packed
		}
		slices.SortFunc(found, func(a, b columnSize) int {
			return cmp.Or(cmp.Compare(b.packed, a.packed), cmp.Compare(a.path, b.path))
		})
		t := c.table("columns-"+ref.Name+"-"+ref.Signal.String(), "Bytes by column of STEF sorted: "+ref.Title(), "Natural batches in one stream.")
		t.Columns = append(report.Text("column"), report.Column{Name: "uncompressed", Format: report.Whole}, report.Column{Name: "share", Format: report.Percent},
			report.Column{Name: "zstd alone", Format: report.Whole}, report.Column{Name: "share of zstd", Format: report.Percent},
			report.Column{Name: "zstd B/item", Format: report.Fixed(3)})
		row := func(s columnSize) {
			t.Add(s.path, s.plain, float64(s.plain)/float64(total.plain), s.packed, float64(s.packed)/float64(total.packed), float64(s.packed)/float64(set.Items))
		}
		rest := columnSize{path: fmt.Sprintf("%d others", max(0, len(found)-shownColumns))}
		for i, s := range found {
			if i < shownColumns {
				row(s)
				continue
			}
			rest.plain += s.plain
			rest.packed += s.packed
		}
		row(rest)
		o.add(t)
	}
	return o, nil
}

// columnsOf writes a stream and splits its frames into columns.
func columnsOf(b *batches) ([]columnSize, error) {
	enc, err := format.STEF(format.Sorted).NewEncoder(b.set.Signal, false)
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	var stream []byte
	for _, batch := range b.all {
		message, err := enc.Encode(batch)
		if err != nil {
			return nil, err
		}
		stream = append(stream, message...)
	}
	var frames []*dynamic.Frame
	r, err := dynamic.NewReader(bytes.NewReader(stream), anysignal.Of(b.set.Signal).Compact(),
		dynamic.WithFrameFunc(func(f *dynamic.Frame) { frames = append(frames, f) }))
	if err != nil {
		return nil, err
	}
	for r.Next() {
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return sizesOfColumns(stream, frames)
}

// sizesOfColumns adds the sizes of each column over all frames, and compresses each column alone.
// The content of a frame ends where the next frame begins, because the stream is not compressed.
func sizesOfColumns(stream []byte, frames []*dynamic.Frame) ([]columnSize, error) {
	var contents []bytes.Buffer
	var sizes []columnSize
	for i, f := range frames {
		end := len(stream)
		if i+1 < len(frames) {
			end = int(frames[i+1].Offset)
		}
		content := stream[end-f.UncompressedSize : end]
		if sizes == nil {
			sizes, contents = make([]columnSize, len(f.Columns)), make([]bytes.Buffer, len(f.Columns))
		}
		for k, column := range f.Columns {
			sizes[k].path = column.Path
			sizes[k].plain += int64(column.Size)
			contents[k].Write(content[column.Offset : column.Offset+column.Size])
		}
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(stef.DefaultWindowBytes))
	if err != nil {
		return nil, err
	}
	for k := range sizes {
		if sizes[k].plain > 0 {
			sizes[k].packed = int64(len(z.EncodeAll(contents[k].Bytes(), nil)))
		}
	}
	return sizes, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// Batches yields the batches of a file of any format. An error ends the iteration and names the
// file. After the last batch, Batches passes the unknown fields of JSON to the function ignored.
func Batches(in *file.Input, root *stream.Root, ignored func([]otlpfile.UnknownField)) iter.Seq2[otlpfile.Batch, error] {
	return func(yield func(otlpfile.Batch, error) bool) {
		next, b, err := batches(in, root)
		if err != nil {
			yield(otlpfile.Batch{}, in.Blame(err))
			return
		}
		defer b.end()
		for {
			batch, err := next()
			if err == io.EOF {
				var res Result
				b.count(&res)
				ignored(res.Ignored)
				return
			}
			if !yield(batch, in.Blame(err)) || err != nil {
				return
			}
		}
	}
}

func batches(in *file.Input, root *stream.Root) (next func() (otlpfile.Batch, error), b *batched, err error) {
	o := &Options{Root: root, command: "replay"}
	if o.From, err = o.Guess(in); err != nil {
		return nil, nil, err
	}
	if b, err = openBatches(in, o); err != nil {
		return nil, nil, advised(o, err)
	}
	return func() (otlpfile.Batch, error) {
		batch, err := b.next()
		if err != nil && err != io.EOF {
			err = advised(o, err)
		}
		return batch, err
	}, b, nil
}

// Signals returns the signals that have items in a file of JSON, of parts or of stef-parts. For
// other formats it returns none, because their files have one signal.
func Signals(in *file.Input) ([]otlpfile.Signal, error) {
	o := &Options{}
	var err error
	if o.From, err = o.Guess(in); err != nil || o.From != OTLPJSON && o.From != OTLPParts && o.From != STEFParts {
		return nil, err
	}
	o.Root = stream.RootOf(otlpfile.Metrics) // any signal: Skipped counts the items of other signals
	b, err := openBatches(in, o)
	if err != nil {
		return nil, in.Blame(err)
	}
	defer b.end()
	items := 0
	for {
		batch, err := b.next()
		if err == io.EOF || errors.Is(err, otlpfile.ErrSignal) || errors.Is(err, ErrOtherSignal) { // the file has no metrics
			break
		}
		if err != nil {
			return nil, in.Blame(err)
		}
		items += batch.Items()
	}
	var found []otlpfile.Signal
	if items > 0 {
		found = append(found, otlpfile.Metrics)
	}
	res := &Result{}
	b.count(res)
	for _, other := range res.Others {
		found = append(found, other.Signal)
	}
	return found, nil
}

// CheckName refuses an output name that does not imply a format.
func CheckName(name string) error {
	o := Options{From: OTLP, OutName: name}
	if formatOfName(name) == Unknown {
		if err := notWritten(name, "record %s.stef and convert it; "); err != nil {
			return err
		}
		return refuse("cannot tell the format from the name %s: end it in .stef, .otlp, .pb or .json (also %s); .zst or .gz may follow", name, otherEnds)
	}
	if err := o.output(); err != nil {
		return err
	}
	return o.checkGrowing()
}

// CheckPlainStream refuses an output name that implies another format than STEF, or
// compression.
func CheckPlainStream(name string) error {
	if f := formatOfName(name); f != Unknown && f != STEF {
		return refuse("the output is stef, and the name %s is for %s: end it in .stef", name, f)
	}
	if otlpfile.CompressionOf(name) != otlpfile.None {
		return refuse("the output is not compressed as a whole: end the name in .stef, not %s", strings.TrimPrefix(name, file.UnpackedName(name)))
	}
	return nil
}

// checkGrowing returns an error if batches cannot be appended to the output one by one.
func (o *Options) checkGrowing() error {
	if o.To.table() || o.To == STEFParts {
		return refuse("a file of format %s cannot be written while telemetry arrives: write stef and convert it", o.To)
	}
	return nil
}

// BatchWriter writes batches of one signal to a file.
type BatchWriter struct {
	// Skipped counts the items that the format cannot represent.
	Skipped uint64

	sink sink
	out  *packer
}

// NewBatchWriter creates a writer for a file whose name implies its format and
// compression.
func NewBatchWriter(out io.Writer, name string, signal otlpfile.Signal) (*BatchWriter, error) {
	o := &Options{From: OTLP, OutName: name, Compression: stef.Zstd, Mode: Ordered}
	if err := o.output(); err != nil {
		return nil, err
	}
	if err := o.checkGrowing(); err != nil {
		return nil, err
	}
	w := &BatchWriter{out: newPacker(out, name)}
	var err error
	w.sink, err = o.newSink(w.out, signal)
	return w, err
}

// Write writes a batch and flushes it to the file. A reader of the file finds the
// batch after Write returns, also if the file is compressed as a whole.
func (w *BatchWriter) Write(b otlpfile.Batch) error {
	err := w.sink.Write(b)
	var items *skipped
	if errors.As(err, &items) {
		w.Skipped += items.items
		err = nil
	}
	if err != nil {
		return err
	}
	if f, ok := w.sink.(otlpSink); ok { // a stream flushes each batch itself
		if err := f.Flush(); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// Close completes the file.
func (w *BatchWriter) Close() error {
	if err := w.sink.Close(); err != nil {
		return err
	}
	return w.out.Close()
}

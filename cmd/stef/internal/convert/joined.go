// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/lake"
)

// table reports whether a format is one of package lake.
func (f Format) table() bool { return f == Parquet || f == Arrow }

// otlp reports whether files of a format contain OTLP messages.
func (f Format) otlp() bool { return f == OTLPParts || f == OTLP || f == OTLPJSON }

var lakeSignals = map[otlpfile.Signal]lake.Signal{
	otlpfile.Metrics: lake.Metrics, otlpfile.Traces: lake.Traces, otlpfile.Logs: lake.Logs,
}

// tableBatches opens a Parquet or Arrow file.
func tableBatches(in *file.Input, f Format) (*batched, error) {
	var r *lake.Reader
	if f == Parquet {
		src, err := in.Random()
		if err != nil {
			return nil, Misfit("%w", err)
		}
		r, err = lake.NewParquetReader(src, lake.Limits{})
		if err != nil {
			return nil, err
		}
	} else {
		var err error
		if r, err = lake.NewArrowReader(in, lake.Limits{}); err != nil {
			return nil, err
		}
	}
	signal := otlpfile.SignalUnknown
	for s, l := range lakeSignals {
		if l == r.Signal() {
			signal = s
		}
	}
	next := func() (otlpfile.Batch, error) {
		b, err := r.Next()
		if err == io.EOF && f == Arrow {
			err = arrowEnd(in)
		}
		if err != nil {
			return otlpfile.Batch{}, err
		}
		return otlpfile.Batch{Signal: signal, Metrics: b.Metrics, Traces: b.Traces, Logs: b.Logs}, nil
	}
	count := func(into *Result) {
		into.PartsIn += r.Batches()
		into.FromOTLP += r.FromOTLP()
		into.Edited += r.Edited()
		into.Retyped += r.Retyped()
	}
	return &batched{root: stream.RootOf(signal), next: next, end: r.Close, count: count}, nil
}

// arrowEnd returns io.EOF if nothing follows the end of an Arrow stream. Readers of Arrow stop at this
// end, so they would lose the second one of two concatenated files.
func arrowEnd(in *file.Input) error {
	more, err := in.Peek(1)
	if len(more) == 0 {
		return cmp.Or(err, io.EOF)
	}
	end, of := in.Content(), ""
	if in.Packed != "" {
		of = " of the decompressed content"
	}
	return fmt.Errorf("%w: the Arrow stream ends at offset %d%s, and bytes follow: if files were concatenated, split them there "+
		"(head -c %d for A, tail -c +%d for B), then stef convert A B OUT", lake.ErrCorrupt, end, of, end, end+1)
}

// sink is an output that batches are written to.
type sink interface {
	// Write writes a batch. If it returns an error of type skipped, it omitted only the
	// items of this error.
	Write(otlpfile.Batch) error
	Close() error
}

// tableSink writes a file of package lake.
type tableSink struct{ *lake.Writer }

func (s tableSink) Write(b otlpfile.Batch) error {
	return skippedItems(s.Writer.Write(lake.Batch{Signal: lakeSignals[b.Signal], Metrics: b.Metrics, Traces: b.Traces, Logs: b.Logs}))
}

// streamSink writes a STEF stream.
type streamSink struct{ encoder }

func (s streamSink) Write(b otlpfile.Batch) error { return s.Encode(b) }

// otlpSink writes a file of OTLP.
type otlpSink struct{ *otlpfile.Writer }

func (s otlpSink) Write(b otlpfile.Batch) error { return skippedItems(s.Writer.Write(b)) }

// newSink returns a sink for a signal.
func (o *Options) newSink(out io.Writer, s otlpfile.Signal) (sink, error) {
	switch {
	case o.To.table():
		format := lake.Parquet
		if o.To == Arrow {
			format = lake.Arrow
		}
		w, err := lake.NewWriter(out, format, lakeSignals[s], lake.WriterOptions{Columns: o.Columns})
		if failed := (*file.Error)(nil); errors.As(err, &failed) { // the head of a Parquet file was not written
			return nil, err
		}
		if err != nil {
			return nil, refuse("%v", err)
		}
		return tableSink{w}, nil
	case o.To == STEF:
		opts, err := o.writerOptions(s)
		if err != nil {
			return nil, err
		}
		enc, err := pdataEncoder(s, out, o.Mode.of(s), opts)
		return streamSink{enc}, err
	}
	w, err := otlpfile.NewWriter(out, otlpFormats[o.To], s)
	return otlpSink{w}, err
}

// RunAll converts several inputs of one signal into one output, or one input of a format
// that is read in batches. open opens input i and reports false after the last input.
//
// It omits inputs without content if there are several inputs. With Options.Skip, if an input is
// cut or its compression is damaged, it omits the data after the last whole frame or part. Result.Files names these inputs.
func RunAll(open func(i int) (in *file.Input, ok bool, err error), out io.Writer, o Options) (*Result, error) {
	return runAll(open, out, o, true)
}

func runAll(open func(i int) (in *file.Input, ok bool, err error), out io.Writer, o Options, several bool) (*Result, error) {
	o.several = several
	c := &joined{Options: o, out: out, res: &Result{To: o.To, Root: o.Root, RootFlag: o.RootFlag}}
	for i := 0; ; i++ {
		in, ok, err := open(i)
		if err != nil && several && o.Skip && isCut(err) { // cut in the header of its compression
			c.res.Files = append(c.res.Files, fmt.Errorf("%w"+NothingConverted, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		err = c.add(in)
		in.Close()
		if errors.Is(err, ErrUnsupported) {
			return nil, err
		}
		if err != nil && !c.omit(in, err) {
			c.now.items = c.items
			return nil, in.Blame(brokenLine(in, advised(c.now, err)))
		}
	}
	if several && c.res.Items+c.res.Skipped == 0 && c.combiner.items == 0 && len(c.res.Others) > 0 && len(c.res.Ignored) == 0 {
		return nil, noneHas(&o, c.res.Others)
	}
	if c.unmeasured {
		c.res.Requests = nil
	}
	if c.sink == nil && o.Root == nil {
		return c.res, nil
	}
	if c.sink == nil { // all inputs are empty: write an output without items
		if err := c.Options.formatOut(); err != nil {
			return nil, err
		}
		c.res.To = c.To
		if err := c.start(&c.Options, o.Root); err != nil {
			return nil, err
		}
	}
	if err := c.write(&c.Options, c.combiner.rest()); err != nil {
		return nil, err
	}
	c.res.Large = c.combiner.large
	if err := c.sink.Close(); err != nil {
		return nil, err
	}
	if s, ok := c.sink.(tableSink); ok {
		c.res.PartsOut = s.Batches()
		c.res.EmptyColumns, c.res.Losses, c.res.InOTLP = s.EmptyColumns(), nonzero(c.empty, emptyLoss, c.res.unknown, unknownLoss), s.InOTLP()
	}
	// Written messages keep their containers without items. A message without any items is not
	// written, so only the containers of such messages are lost.
	if w, ok := c.sink.(otlpSink); ok {
		c.res.PartsOut = w.Parts()
		if c.res.To != OTLPJSON { // protobuf is copied, with its unknown fields
			c.res.unknown = 0
		}
		c.res.Losses = nonzero(c.empty, emptyLoss, c.res.unknown, unknownLoss)
	}
	if s, ok := c.sink.(streamSink); ok {
		c.res.PartsOut, c.res.Losses = s.Stats().Frames, s.Losses(c.empty, c.res.unknown)
	}
	return c.res, c.packed.Close()
}

// joined is a conversion of several inputs.
type joined struct {
	Options
	out        io.Writer
	packed     *packer
	combiner   combiner
	sink       sink
	res        *Result
	first      string // the first input with items
	unmeasured bool   // whether an input is not OTLP: the requests do not cover its items

	now   *Options // options of the current input
	items int      // number of items of the current input
	empty uint64   // resources, scopes and metrics without items that the sink does not count
}

// The ends of the notes of Result.Files about truncated inputs.
const (
	NothingConverted = "; nothing of it was converted"
	BeginConverted   = "; everything complete before the cut was converted, and the rest is lost"
	BeforeTrailing   = "; everything before these bytes was converted"
	BeforeDamage     = "; everything complete before the damage was converted, and the rest is lost; changed bytes may have gone unnoticed"
)

// omit reports whether an error ends only the current input, not the conversion.
func (c *joined) omit(in *file.Input, err error) bool {
	if !c.several {
		return c.res.cut(&c.Options, err, uint64(c.items))
	}
	if !c.Skip {
		return false
	}
	end, ok, err := lostEnd(in, err)
	if !ok {
		return false
	}
	if whole, ok := wholeBytes(err); ok {
		in.Keep(whole)
	}
	if c.items == 0 {
		in.Keep(0)
		end = NothingConverted
	}
	err = fmt.Errorf("%w%s", err, end)
	c.res.Files = append(c.res.Files, in.Blame(err))
	return true
}

func (c *joined) add(in *file.Input) error {
	o := c.Options
	c.now, c.items = &o, 0
	if empty := in.Empty(); empty != nil && c.several {
		c.res.Files = append(c.res.Files, in.Blame(empty))
		return nil
	}
	if err := o.formats(in); err != nil {
		return err
	}
	c.res.From, c.res.To = o.From, o.To
	b, err := openBatches(in, &o)
	if err != nil {
		return err
	}
	defer b.end()
	if c.several && o.Root != nil && b.root != nil && b.root != o.Root {
		return c.exclude(b)
	}
	c.unmeasured = c.unmeasured || !o.From.otlp()
	if b.root != nil {
		if err := c.of(in, &o, b.root); err != nil {
			return err
		}
	}
	empty := uint64(0) // empty containers of batches without items; added to c.empty only if the file has the requested signal
	for {
		batch, err := b.next()
		if err == io.EOF {
			c.empty += empty
			b.count(c.res)
			return nil
		}
		if c.several && o.Root != nil && (errors.Is(err, otlpfile.ErrSignal) && o.From != OTLP || errors.Is(err, ErrOtherSignal)) {
			b.count(c.res) // the file contains only messages of other signals
			return nil
		}
		if err := c.res.take(&o, err); err != nil {
			b.count(c.res) // --skip converts what was read of an input that is cut or whose compression is damaged
			if c.items > 0 {
				c.empty += empty
			}
			return err
		}
		if !o.From.table() { // the reader of a table counts its parts itself
			c.res.PartsIn++
		}
		if batch.Items() == 0 {
			empty += emptyContainers(batch)
			continue
		}
		if o.To.table() { // the encoder of a stream counts its empty containers itself
			c.empty += emptyContainers(batch)
		}
		if err := c.of(in, &o, stream.RootOf(batch.Signal)); err != nil {
			return err
		}
		c.items += batch.Items()
		if o.To == STEF && o.From.otlp() {
			if err := c.res.measure(&o); err != nil {
				return err
			}
			if err := c.res.Requests.add(batch, batch.Items()); err != nil {
				return err
			}
		}
		if err := c.write(&o, c.combiner.add(batch, batch.Items())); err != nil {
			return err
		}
	}
}

// exclude counts the items of an input whose signal is not converted.
func (c *joined) exclude(b *batched) error {
	n := uint64(0)
	for {
		batch, err := b.next()
		if err == io.EOF {
			c.res.others(func(s otlpfile.Signal) uint64 {
				if s != b.root.Signal {
					return 0
				}
				return n
			})
			return nil
		}
		if err != nil {
			return err
		}
		n += uint64(batch.Items())
	}
}

// noneHas returns the error for several inputs if none of them has the requested signal.
func noneHas(o *Options, others []SkippedSignal) error {
	var names []string
	for _, other := range others {
		names = append(names, other.Signal.String())
	}
	found := strings.Join(names, " and ")
	return &OtherSignalError{fmt.Sprintf("the files hold %s, not %s", found, o.Root.Signal), otherFlag(found, o.RootFlag)}
}

// write writes a batch and counts its items.
func (c *joined) write(o *Options, b otlpfile.Batch) error {
	n := b.Items()
	if n == 0 {
		return nil
	}
	before := c.res.Skipped
	if err := c.res.take(o, c.sink.Write(b)); err != nil {
		return err
	}
	c.res.Items += uint64(n) - (c.res.Skipped - before)
	return nil
}

// of starts the output with the first signal, and refuses any other signal.
func (c *joined) of(in *file.Input, o *Options, root *stream.Root) error {
	if o.Root != nil && o.Root != root {
		return otherSignal(in.Name, root, o)
	}
	if c.sink != nil {
		switch {
		case c.res.Root == root:
			return nil
		case c.first == in.Name:
			return &MixedError{Err: fmt.Errorf("it holds %s, then %s", c.res.Root.Signal, root.Signal)}
		}
		return refuse("an output has one signal, but %s has %s and %s has %s: %s", c.first, c.res.Root.Signal, in.Name, root.Signal,
			oneOrEach)
	}
	c.first = in.Name
	return c.start(o, root)
}

// start starts the output.
func (c *joined) start(o *Options, root *stream.Root) (err error) {
	c.res.Root = root
	c.packed, c.combiner.most = newPacker(c.out, o.OutName), o.FrameItems
	c.sink, err = o.newSink(c.packed, root.Signal)
	return err
}

// batched is an input that is read in batches.
type batched struct {
	root *stream.Root // nil if only the batches determine the root
	next func() (otlpfile.Batch, error)
	end  func()
	// count adds the counters of the input to a result. Call it after the last batch.
	count func(*Result)
}

// openBatches opens an input of any format.
func openBatches(in *file.Input, o *Options) (*batched, error) {
	b := &batched{root: o.Root, end: func() {}, count: func(*Result) {}}
	switch {
	case o.From.table():
		return tableBatches(in, o.From)
	case o.From == STEFParts:
		m := newMessageBatches(in, o)
		b.next = m.next
		b.count = func(into *Result) { into.others(m.count) }
	case o.From == STEF:
		find := recognise
		if o.several {
			find = rootOf
		}
		root, src, err := find(in, o)
		if err != nil {
			return nil, err
		}
		dec, err := pdataDecoder(root.Signal, src, o.readerOptions())
		if err != nil {
			return nil, err
		}
		b.root, b.next = root, dec.Decode
	default:
		var ahead []otlpfile.ReaderOption
		if in.Size >= 0 { // a file: reads of a pipe may block forever
			ahead = append(ahead, otlpfile.WithConcurrency(runtime.GOMAXPROCS(0)))
		}
		r, res, err := open(in, o, ahead...)
		if err != nil {
			return nil, err
		}
		b.root, b.end = res.Root, r.Close
		b.count = func(into *Result) {
			into.others(r.Skipped)
			into.ignore(r.Unknown())
			into.unknown += r.UnknownInProto()
		}
		b.next = func() (otlpfile.Batch, error) {
			batch, err := r.Next()
			if err != nil && err != io.EOF {
				err = mixed(o, err)
			}
			return batch, err
		}
	}
	return b, nil
}

// RootsOf returns the roots that an input can have. A file of messages can have several roots. Any
// other file has one root.
func (o Options) RootsOf(in *file.Input) (stream.List, error) {
	var err error
	if o.From, err = o.Guess(in); err != nil {
		return nil, err
	}
	if empty := in.Empty(); empty != nil {
		return nil, in.Blame(empty)
	}
	if o.From == OTLPJSON || o.From == OTLPParts || o.From == STEFParts {
		return stream.Roots(), nil
	}
	b, err := openBatches(in, &o)
	if err != nil {
		return nil, in.Blame(advised(&o, err))
	}
	defer b.end()
	return stream.List{b.root}, nil
}

// inBatches reports whether a conversion passes batches from input to output. Only RunAll supports
// such conversions.
func (o *Options) inBatches() bool {
	rebuilt := o.From == STEF && o.To == STEF && (o.Mode != DefaultMode || o.FrameItems > 0)
	return o.From.table() || o.To.table() || o.From == STEFParts || rebuilt
}

// errNotWritten refuses an output of format stef-parts.
var errNotWritten = fmt.Errorf("%w: files of format %s can only be read", ErrUnsupported, STEFParts)

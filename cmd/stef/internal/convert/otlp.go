// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
)

// open opens an OTLP input.
func open(in *file.Input, o *Options, more ...otlpfile.ReaderOption) (*otlpfile.Reader, *Result, error) {
	wanted := otlpfile.SignalUnknown
	if o.Root != nil {
		wanted = o.Root.Signal
	}
	if o.From == OTLP && wanted != otlpfile.SignalUnknown {
		head, _ := in.Peek(peeked)
		s := otlpfile.GuessSignal("", otlpfile.Proto, head)
		switch {
		case s == otlpfile.SignalUnknown || s == wanted:
		case o.several: // read the file as its own signal instead of the requested one, to count its items
			wanted = s
		default:
			o.likely = s
		}
	}
	options := append(more, otlpfile.WithName(in.ContentName()))
	if wanted != otlpfile.SignalUnknown {
		options = append(options, otlpfile.WithOtherSignals())
	}
	if in.Packed != "" {
		options = append(options, otlpfile.WithUnpacked())
	}
	if in.Each {
		options = append(options, otlpfile.WithoutLines())
	}
	empty := in.Empty()
	r, err := otlpfile.Open(in, otlpFormats[o.From], wanted, options...)
	if errors.Is(err, otlpfile.ErrSignal) && wanted == otlpfile.SignalUnknown && !errors.Is(err, otlpfile.ErrProfiles) {
		const advice = ": add --signal metrics, traces or logs"
		switch {
		case empty != nil:
			err = fmt.Errorf("%w, and its name does not tell metrics, traces or logs"+advice, empty)
		case o.From != OTLPJSON:
			err = fmt.Errorf("%w"+advice, err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return r, &Result{From: o.From, To: o.To, Root: stream.RootOf(r.Signal()), RootFlag: o.RootFlag}, nil
}

// encode converts OTLP to STEF.
func encode(in *file.Input, out io.Writer, o *Options) (*Result, error) {
	r, res, err := open(in, o, otlpfile.WithoutPdata(o.bytesOnly))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	opts, err := o.writerOptions(r.Signal())
	if err != nil {
		return nil, err
	}
	enc, count, err := o.encoder(r.Signal(), out, opts)
	if err != nil {
		return nil, err
	}
	if err := res.measure(o); err != nil {
		return nil, err
	}
	items := uint64(0)
	combiner := combiner{most: o.FrameItems}
	write := func(b otlpfile.Batch) error {
		if b.Signal == otlpfile.SignalUnknown {
			return nil
		}
		if err := res.take(o, enc.Encode(b)); err != nil {
			return fmt.Errorf("%s: %w", combiner.place(partNoun(o.From), res.PartsIn), err)
		}
		return nil
	}
	for {
		b, err := r.Next()
		if err == io.EOF || res.cut(o, err, items) {
			break
		}
		if err != nil {
			return nil, mixed(o, err)
		}
		res.PartsIn++
		n := count(b)
		items += uint64(n)
		if err := res.Requests.add(b, n); err != nil {
			return nil, err
		}
		if err := write(combiner.add(b, n)); err != nil {
			return nil, err
		}
	}
	if err := write(combiner.rest()); err != nil {
		return nil, err
	}
	res.Large = combiner.large
	if err := enc.Close(); err != nil {
		return nil, err
	}
	stats := enc.Stats()
	unknown := r.UnknownInProto()
	if o.bytesOnly(r.Signal()) { // the encoder has counted them
		unknown = 0
	}
	res.Items, res.PartsOut, res.Losses = stats.Records, stats.Frames, enc.Losses(0, unknown)
	res.others(r.Skipped)
	res.ignore(r.Unknown())
	return res, res.complete(items)
}

// bytesOnly reports whether a signal is converted directly from protobuf bytes,
// without pdata. This requires protobuf input and mode ordered. Logs always go
// through pdata, which can split their bodies into templates: the result is smaller,
// and package stefotlp has no templates.
func (o *Options) bytesOnly(s otlpfile.Signal) bool {
	return o.From != OTLPJSON && o.Mode.of(s) == Ordered && s != otlpfile.Logs
}

// encoder returns an encoder for a signal, and a function that counts the items of
// its batches.
func (o *Options) encoder(s otlpfile.Signal, out io.Writer, opts []stef.WriterOption) (encoder, func(otlpfile.Batch) int, error) {
	if o.bytesOnly(s) {
		enc, err := conversions[s].ofBytes(out, opts)
		return enc, countOTLP, err
	}
	enc, err := pdataEncoder(s, out, o.Mode.of(s), opts)
	return enc, otlpfile.Batch.Items, err
}

// countOTLP returns the number of items in the OTLP bytes of a batch.
func countOTLP(b otlpfile.Batch) int { return anysignal.Of(b.Signal).OTLP.Count(b.OTLP) }

// complete returns an error if some items were neither converted nor counted as skipped, which
// would be a bug of an encoder or decoder. items is the number of items of the input.
func (r *Result) complete(items uint64) error {
	if r.Items+r.Skipped == items {
		return nil
	}
	return fmt.Errorf("of %d items only %d were converted and %d skipped", items, r.Items, r.Skipped)
}

// decode converts STEF to OTLP.
func decode(in *file.Input, out io.Writer, o *Options) (*Result, error) {
	root, src, err := recognise(in, o)
	if err != nil {
		return nil, err
	}
	var dec decoder
	count := otlpfile.Batch.Items
	if o.To == OTLPJSON {
		dec, err = pdataDecoder(root.Signal, src, o.readerOptions())
	} else {
		dec, err = conversions[root.Signal].toBytes(src, o.readerOptions())
		count = countOTLP
	}
	if err != nil {
		return nil, err
	}
	w, err := otlpfile.NewWriter(out, otlpFormats[o.To], root.Signal)
	if err != nil {
		return nil, err
	}
	res := &Result{From: o.From, To: o.To, Root: root}
	if err := res.measure(o); err != nil {
		return nil, err
	}
	var end error
	for {
		b, err := dec.Decode()
		if err == io.EOF || res.cut(o, err, res.Items) {
			end = err
			break
		}
		if err := res.take(o, err); err != nil {
			return nil, err
		}
		items := count(b)
		if items == 0 {
			continue
		}
		if err := res.Requests.add(b, items); err != nil {
			return nil, err
		}
		if err := res.write(o, w, b, items); err != nil {
			return nil, err
		}
	}
	res.PartsIn, res.PartsOut = wholeFrames(dec.Stats().Frames, end), w.Parts()
	if end == io.EOF || isCut(end) { // the records of a damaged frame before the damage are not converted
		if err := res.complete(dec.Stats().Records); err != nil {
			return nil, err
		}
	}
	return res, w.Close()
}

// rewrite converts OTLP to OTLP.
func rewrite(in *file.Input, out io.Writer, o *Options) (*Result, error) {
	r, res, err := open(in, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	w, err := otlpfile.NewWriter(out, otlpFormats[o.To], r.Signal())
	if err != nil {
		return nil, err
	}
	for {
		b, err := r.Next()
		if err == io.EOF || res.cut(o, err, res.Items) {
			break
		}
		if err != nil {
			return nil, mixed(o, err)
		}
		res.PartsIn++
		if err := res.write(o, w, b, b.Items()); err != nil {
			return nil, err
		}
	}
	res.PartsOut = w.Parts()
	res.others(r.Skipped)
	res.ignore(r.Unknown())
	if o.To == OTLPJSON { // protobuf is copied, with its unknown fields
		res.Losses = nonzero(r.UnknownInProto(), unknownLoss)
	}
	return res, w.Close()
}

// others counts the items of other signals that were skipped.
func (r *Result) others(skipped func(otlpfile.Signal) uint64) {
	for _, root := range stream.Roots() {
		n := skipped(root.Signal)
		if n == 0 {
			continue
		}
		at := slices.IndexFunc(r.Others, func(o SkippedSignal) bool { return o.Signal == root.Signal })
		if at < 0 {
			r.Others = append(r.Others, SkippedSignal{Signal: root.Signal})
			at = len(r.Others) - 1
		}
		r.Others[at].Items += n
	}
}

// ignore counts unknown fields.
func (r *Result) ignore(found []otlpfile.UnknownField) {
	for _, f := range found {
		at := slices.IndexFunc(r.Ignored, func(i otlpfile.UnknownField) bool { return i.Message == f.Message && i.Name == f.Name })
		if at >= 0 {
			r.Ignored[at].Objects += f.Objects
			continue
		}
		r.Ignored = append(r.Ignored, f)
	}
}

// MixedError is the error of a file of several signals if the options choose no signal.
// Its text says how to convert the file.
type MixedError struct {
	Err error
	// Advice replaces the advice of convert.
	Advice string
}

// oneOrEach says what to do about inputs of several signals. It names all signals, since the inputs
// were not read to their end.
const oneOrEach = "--signal metrics, traces or logs converts only these; or put " + SignalMark + " into the name of OUT for one file per signal"

func (e *MixedError) Error() string {
	return fmt.Sprintf("%v; %s", e.Err, cmp.Or(e.Advice, oneOrEach))
}

// Unwrap returns the cause.
func (e *MixedError) Unwrap() error { return e.Err }

// mixed extends the error for a file of several signals.
func mixed(o *Options, err error) error {
	var at *otlpfile.Error
	if o.Root != nil || !errors.Is(err, otlpfile.ErrSignal) || !errors.As(err, &at) {
		return err
	}
	if errors.Is(err, otlpfile.ErrProfiles) {
		return fmt.Errorf("%w; --signal %s skips the messages with profiles", err, at.Signal)
	}
	place := fmt.Sprintf("message %d, line %d,", at.Part, at.Line)
	if at.Line == 0 {
		place = fmt.Sprintf("message %d, byte %d of the decompressed content,", at.Part, at.Offset)
	}
	switch {
	case at.Format == otlpfile.JSON && at.Part == 1:
		err = fmt.Errorf("%s holds %s and %s", place, at.Signal, at.Found)
	case at.Format == otlpfile.JSON:
		err = fmt.Errorf("%s holds %s, and the messages before it hold %s", place, at.Found, at.Signal)
	case at.Format == otlpfile.Parts && at.Part == 2:
		err = fmt.Errorf("part 1 is %s, part 2 is %s", at.Signal, at.Found)
	case at.Format == otlpfile.Parts && at.Part > 2:
		err = fmt.Errorf("parts 1 to %d are %s, part %d is %s", at.Part-1, at.Signal, at.Part, at.Found)
	default:
		return err
	}
	return &MixedError{Err: err}
}

// SignalMark is the placeholder for the signal name in an output name.
const SignalMark = "{signal}"

// take handles the error of a batch. If the error is about single items, take calls skip, which
// counts them. It returns any other error unchanged.
func (r *Result) take(o *Options, err error) error {
	var items *skipped
	if errors.As(err, &items) {
		return r.skip(o, items.items, items.err)
	}
	return err
}

// write writes a batch of n items as OTLP, and counts these items.
func (r *Result) write(o *Options, w *otlpfile.Writer, b otlpfile.Batch, n int) error {
	before := r.Skipped
	if err := r.take(o, skippedItems(w.Write(b))); err != nil {
		return err
	}
	r.Items += uint64(n) - (r.Skipped - before)
	return nil
}

// partNoun is the word for a batch of a format in messages.
func partNoun(f Format) string {
	if f == OTLPJSON {
		return "message"
	}
	return "part"
}

// partNouns returns the plural noun for the parts of a file of a format, such as "frames". Messages
// about cut or damaged files use it.
func partNouns(f Format) string {
	if f == OTLP { // one message, which is read entry by entry
		return "entries"
	}
	return partNoun(f) + "s"
}

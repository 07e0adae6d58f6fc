// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"fmt"
	"io"
)

// Default limits of a reader.
const (
	DefaultMaxPart   = 256 << 20
	DefaultBatchSize = 64 << 20
)

// A ReaderOption configures Open.
type ReaderOption func(*Reader)

// WithName sets the name of the file. It helps to guess. With a name that ends
// in .zst or .gz, a file without content is an error.
func WithName(name string) ReaderOption { return func(r *Reader) { r.name = name } }

// WithMaxPart sets the maximum size in bytes of a part, a JSON message or an
// entry of one message. The default is DefaultMaxPart.
func WithMaxPart(n int) ReaderOption { return func(r *Reader) { r.maxPart = n } }

// WithBatchSize sets the maximum size in bytes of a batch when the file is one
// message, by default DefaultBatchSize. A larger entry becomes a batch of its
// own.
func WithBatchSize(n int) ReaderOption { return func(r *Reader) { r.batchSize = n } }

// WithOtherSignals makes the reader skip JSON messages of other signals, such
// as in a file that the Collector's file exporter writes for several pipelines.
// Skipped counts their items. Without this option such a message is an error.
func WithOtherSignals() ReaderOption { return func(r *Reader) { r.others = true } }

// WithoutPdata calls a function with the signal. If it returns true, batches in
// formats Parts and Proto have OTLP only and no pdata, which saves the time to
// build it. The bytes are still checked. JSON always has pdata.
func WithoutPdata(of func(Signal) bool) ReaderOption { return func(r *Reader) { r.bytesOnly = of } }

// A Reader reads batches from a file. It is not safe for concurrent use.
type Reader struct {
	format    Format
	signal    Signal
	name      string
	others    bool
	bytesOnly func(Signal) bool
	skipped   [len(signalNames)]uint64
	maxPart   int
	batchSize int

	src    *source
	dec    decoder
	sniff  bool // whether to check the signal of the next part with items
	latest error
}

// A decoder splits a file into pieces. At the end it returns io.EOF.
type decoder interface {
	next() (piece, error)
}

// A piece is the bytes of one batch and their position. The bytes are valid
// until the next piece is read.
type piece struct {
	body   []byte
	part   int
	line   int
	offset int64
}

// Open begins to read a file. It reads the first bytes to detect compression
// and to guess the format and signal that the caller did not specify.
func Open(r io.Reader, f Format, s Signal, opts ...ReaderOption) (*Reader, error) {
	rd := &Reader{format: f, signal: s, maxPart: DefaultMaxPart, batchSize: DefaultBatchSize}
	for _, o := range opts {
		o(rd)
	}
	if f > JSON || s > Logs || rd.maxPart <= 0 || rd.batchSize <= 0 {
		return nil, fmt.Errorf("otlpfile: bad arguments of Open: %s, %s, part size %d, batch size %d", f, s, rd.maxPart, rd.batchSize)
	}
	var err error
	if rd.src, err = openSource(r); err != nil {
		return nil, &Error{Format: f, Signal: s, Err: err}
	}
	if err := rd.guess(); err != nil {
		rd.Close()
		return nil, err
	}
	switch rd.format {
	case Parts:
		rd.dec = &partsDecoder{src: rd.src, limit: rd.maxPart}
	case Proto:
		rd.dec = &protoDecoder{src: rd.src, limit: rd.maxPart, batch: rd.batchSize}
	case JSON:
		rd.dec = newJSONDecoder(rd.src, rd.maxPart)
	}
	return rd, nil
}

func (r *Reader) guess() error {
	head, err := r.src.peek(headSize)
	if err != nil {
		return r.at(piece{}, err)
	}
	if len(head) == 0 && r.src.compression == None && CompressionOf(r.name) != None {
		return r.at(piece{}, fmt.Errorf("a %s file without content: %w", CompressionOf(r.name), io.ErrUnexpectedEOF))
	}
	if r.format == FormatUnknown {
		if r.format = GuessFormat(r.name, head); r.format == FormatUnknown {
			if len(head) == 0 {
				return r.at(piece{}, fmt.Errorf("%w: the file is empty", ErrFormat))
			}
			return r.at(piece{}, fmt.Errorf("%w: the content is not otlp-parts, otlp or otlp-json", ErrFormat))
		}
	}
	r.sniff = r.format != JSON && r.signal != SignalUnknown
	if r.signal == SignalUnknown {
		if r.signal = GuessSignal(r.name, r.format, head); r.signal == SignalUnknown {
			return r.at(piece{}, fmt.Errorf("%w: %s", ErrSignal, r.whyNoSignal(head)))
		}
	}
	return nil
}

// whyNoSignal says why the signal of a file cannot be guessed.
func (r *Reader) whyNoSignal(head []byte) string {
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return "the file is empty, and its name does not tell metrics, traces or logs"
	case r.format == JSON && bytes.Contains(head, []byte(`"resourceProfiles"`)):
		return "the file holds profiles, which STEF does not support: use OTLP for them"
	case r.format == JSON:
		return "the file is JSON, but not OTLP: it has no resourceMetrics, resourceSpans or resourceLogs"
	}
	return "neither name nor content tells metrics, traces or logs"
}

// Format returns the format, given or guessed.
func (r *Reader) Format() Format { return r.format }

// Signal returns the signal, given or guessed.
func (r *Reader) Signal() Signal { return r.signal }

// Compression returns the compression of the file.
func (r *Reader) Compression() Compression { return r.src.compression }

// Close releases the memory of the decompressor. It does not close the file.
func (r *Reader) Close() { r.src.closer() }

// Next returns the next batch, and io.EOF after the last. Any other error is an
// *Error; after an error, Next returns the same error again.
func (r *Reader) Next() (Batch, error) {
	if r.latest != nil {
		return Batch{}, r.latest
	}
	b, err := r.next()
	if err != nil {
		r.latest = err
		return Batch{}, err
	}
	return b, nil
}

func (r *Reader) next() (Batch, error) {
	p, err := r.piece()
	if err == io.EOF {
		return Batch{}, err
	}
	if err != nil {
		return Batch{}, err
	}
	if r.format == JSON {
		return r.unmarshalJSON(p, r.signal)
	}
	if err := r.check(p); err != nil {
		return Batch{}, err
	}
	if r.bytesOnly != nil && r.bytesOnly(r.signal) {
		return Batch{Signal: r.signal, OTLP: p.body}, nil
	}
	b, err := Unmarshal(r.signal, p.body)
	if err != nil {
		return Batch{}, r.at(p, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return b, nil
}

// piece returns the next piece. It checks a piece of JSON.
func (r *Reader) piece() (piece, error) {
	for {
		p, err := r.dec.next()
		if err == io.EOF {
			return p, err
		}
		if err != nil {
			return p, r.at(p, err)
		}
		if r.format != JSON {
			return p, nil
		}
		wanted, err := r.checkJSON(p)
		if err != nil || wanted {
			return p, err
		}
	}
}

// Skipped returns how many items of a signal were skipped, see WithOtherSignals.
func (r *Reader) Skipped(s Signal) uint64 { return r.skipped[s] }

// check finds an error in a message before pdata reads it, and reports its
// position. A message of another signal may be well-formed, so check verifies
// the signal of the first message with items.
func (r *Reader) check(p piece) error {
	ft := check(r.signal, p.body)
	if ft == nil && !r.sniff {
		return nil
	}
	other := signalOfContent(Proto, p.body[:min(len(p.body), headSize)], true)
	if other != SignalUnknown && other != r.signal {
		return r.at(p, fmt.Errorf("%w: it holds %s", ErrSignal, other))
	}
	if other != SignalUnknown {
		r.sniff = false
	}
	if ft == nil {
		return nil
	}
	if r.format == Proto {
		p.part += entriesBefore(p.body, ft.offset)
	}
	p.offset += int64(ft.offset)
	return r.at(p, ft.err)
}

// checkJSON checks a message and reports whether it holds the signal of the
// reader. It counts the skipped items of other signals in it.
func (r *Reader) checkJSON(p piece) (wanted bool, err error) {
	signals, err := checkJSON(p.body)
	if err != nil {
		return false, r.jsonError(p, err)
	}
	for s := Metrics; s <= Logs; s++ {
		switch {
		case signals&(1<<s) == 0 || s == r.signal:
		case !r.others:
			return false, r.at(p, fmt.Errorf("%w: it holds %s", ErrSignal, s))
		default:
			b, err := r.unmarshalJSON(p, s)
			if err != nil {
				return false, err
			}
			r.skipped[s] += uint64(b.Items())
		}
	}
	// An empty message counts as one of the reader's signal.
	return signals == 0 || signals&(1<<r.signal) != 0, nil
}

func (r *Reader) unmarshalJSON(p piece, s Signal) (Batch, error) {
	b, err := UnmarshalJSON(s, p.body)
	if err != nil {
		return Batch{}, r.at(p, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return b, nil
}

// at adds the position to an error.
func (r *Reader) at(p piece, err error) error {
	return &Error{Format: r.format, Signal: r.signal, Part: p.part, Line: p.line, Offset: p.offset, Err: r.src.cause(err)}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
)

// The limits of a reader. Tests change them: export_test.go.
const (
	// DefaultMaxPart is the maximum size in bytes of one part, one JSON message, or one entry of a
	// file that is a single message.
	DefaultMaxPart = 256 << 20
	// DefaultBatchSize is the maximum size in bytes of a batch when the file is one message. A larger
	// entry becomes a batch of its own.
	DefaultBatchSize = 64 << 20
)

// A ReaderOption configures Open.
type ReaderOption func(*Reader)

// WithName sets the name of the file. The name helps to guess the format and the signal. With a
// name that ends in .zst or .gz, a file without content is an error.
func WithName(name string) ReaderOption { return func(r *Reader) { r.name = name } }

// WithUnpacked says that the source is the content of a compressed file, without the
// compression. Errors then say that their offsets are in the uncompressed content.
func WithUnpacked() ReaderOption { return func(r *Reader) { r.unpacked = true } }

// WithoutLines says that the line numbers of the content are not those of the file, because each
// message is compressed alone. Errors then have no line.
func WithoutLines() ReaderOption { return func(r *Reader) { r.lineless = true } }

// WithOtherSignals makes the reader skip the messages of other signals in a file of JSON messages
// or of parts, such as a file that the Collector's file exporter writes for several pipelines.
// Skipped counts their items. Without this option such a message is an error. With this option, a
// file that has only items of other signals is an error at its end. A part without items does not
// show its signal: the reader assumes the signal of the previous part. Messages with profiles are
// skipped, too, and Unknown counts them.
func WithOtherSignals() ReaderOption { return func(r *Reader) { r.others = true } }

// WithoutPdata omits pdata from batches in formats Parts and Proto if the given function
// returns true for the signal. These batches have OTLP only, which saves the time to build
// pdata. The bytes are still checked. JSON always has pdata. The function may be called from
// several goroutines.
func WithoutPdata(of func(Signal) bool) ReaderOption { return func(r *Reader) { r.bytesOnly = of } }

// WithConcurrency makes the reader read ahead and build batches in n goroutines. The
// batches and errors are the same, in the same order. The reader builds up to 2n batches
// ahead of Next. It reads no further batch while the batches in memory are more than 8 MiB of
// the file. Close waits until reading the source returns, so do not use this option for a
// source that may block, such as a pipe. Without this option, or if n is 1 or less, Next
// reads the batch that it returns.
func WithConcurrency(n int) ReaderOption { return func(r *Reader) { r.workers = n } }

// A Reader reads batches from a file. It is not safe for concurrent use.
type Reader struct {
	format        Format
	signal        Signal
	name          string
	others        bool
	unpacked      bool
	lineless      bool
	bytesOnly     func(Signal) bool
	skipped       [len(signalNames)]uint64
	unknown       unknownFields // unknown fields of JSON
	unknownFields uint64        // unknown fields of protobuf
	sawUnknown    atomic.Bool   // whether a message had unknown fields
	maxPart       int
	batchSize     int
	workers       int

	src       *source
	dec       decoder
	checkNext bool   // whether to check the signal of the next part with items
	wanted    bool   // whether a part or a message had items of the signal
	last      Signal // signal of the last part with items; used only with WithOtherSignals
	latest    error
	buf       []byte     // memory of the last piece
	ahead     *readAhead // nil without concurrency, and before the first batch
}

// A decoder splits a file into pieces. At the end it returns io.EOF.
type decoder interface {
	// next reads a piece into buf. It returns the piece, with the memory of buf, even if there
	// is an error.
	next(buf []byte) (piece, error)
}

// A piece is the bytes of one batch, and the position of these bytes in the file.
type piece struct {
	body []byte
	buf  []byte // the memory that holds body
	part int
	line int
	// oneLine is Error.OneLine.
	oneLine int
	offset  int64
	// checked is set for valid JSON. Bit n of signals is then set if the JSON has fields of
	// signal n.
	checked bool
	signals uint8
	// rescan is set if scanKeys must read valid JSON before pdata does: an object may have several
	// fields of a oneof, or a value is null.
	rescan bool
	// deep is set for JSON that is nested deeper than maxFlatDepth.
	deep bool
	// found is the signal that the content of the message shows. It is SignalUnknown if
	// the content was not checked, or the message has no items.
	found Signal
}

// Open begins to read a file. It reads the first bytes to detect compression
// and to guess the format and signal that the caller did not specify.
func Open(r io.Reader, f Format, s Signal, opts ...ReaderOption) (*Reader, error) {
	rd := &Reader{format: f, signal: s, maxPart: DefaultMaxPart, batchSize: DefaultBatchSize}
	for _, o := range opts {
		o(rd)
	}
	if f > JSON || s > Logs {
		return nil, fmt.Errorf("otlpfile: bad arguments of Open: %s, %s", f, s)
	}
	var err error
	if rd.src, err = openSource(r); err != nil {
		return nil, &Error{Format: f, Signal: s, Cut: errors.Is(err, io.ErrUnexpectedEOF), Err: err}
	}
	rd.src.unpacked = rd.unpacked || rd.src.compression != None
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
	if err != nil && len(head) == 0 { // if there are bytes before the error, they are read first
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
	if r.format == Proto && isPprof(head) { // not a message of any signal
		return r.at(piece{}, fmt.Errorf("%w: the file looks like a profile (pprof), %w", ErrSignal, ErrProfiles))
	}
	r.checkNext = r.signal != SignalUnknown && (r.format == Proto || r.format == Parts && !r.others)
	if r.signal == SignalUnknown {
		if r.signal = GuessSignal(r.name, r.format, head); r.signal == SignalUnknown {
			if cut := r.cutAtStart(head); cut != nil {
				return cut
			}
			if start := bytes.TrimSpace(head); r.format == JSON && len(start) > 0 && start[0] != '{' {
				return r.at(piece{}, corrupt("%q is not the start of a message", start[0]))
			}
			if r.format == JSON && bytes.Contains(head, []byte(`"resourceProfiles"`)) {
				return r.at(piece{}, errOnlyProfiles)
			}
			return r.at(piece{}, fmt.Errorf("%w: %s", ErrSignal, r.whyNoSignal(head)))
		}
	}
	return nil
}

// cutAtStart returns the error of a file that ends before its first whole message and before the
// name of its signal. It returns nil for other files. head is the beginning of the file, at most
// headSize bytes.
func (r *Reader) cutAtStart(head []byte) error {
	switch {
	case len(head) == 0 || len(head) >= headSize:
	case r.format == JSON && beginsMessage(head):
		return r.at(piece{}, fmt.Errorf("the file ends before it names its signal: %w", io.ErrUnexpectedEOF))
	case r.format == Parts && (len(head) < 4 || int64(binary.BigEndian.Uint32(head)) > int64(len(head))-4):
		d := &partsDecoder{src: r.src, limit: r.maxPart}
		if p, err := d.next(nil); err != nil {
			return r.at(p, err)
		}
	}
	return nil
}

// beginsMessage reports whether head is the beginning of a JSON message that ends inside or before
// the name of its first field.
func beginsMessage(head []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(head), []byte("{"))
	rest = bytes.TrimSpace(rest)
	return ok && slices.ContainsFunc(jsonNames[1:], func(names [2]string) bool {
		return strings.HasPrefix(`"`+names[0], string(rest)) || strings.HasPrefix(`"`+names[1], string(rest))
	})
}

// isPprof reports whether a file begins like a profile of pprof: with a message whose first
// field is a number. OTLP begins with a message whose first field is a message.
func isPprof(head []byte) bool {
	return len(head) > 2 && head[0] == 0x0a && head[1] < 16 && head[2] == 0x08
}

func (r *Reader) whyNoSignal(head []byte) string {
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return "the file is empty, and its name does not tell metrics, traces or logs"
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

// Close ends reading ahead and releases the memory of the decompressor. It does not
// close the file.
func (r *Reader) Close() {
	if r.ahead != nil {
		r.ahead.close()
	}
	r.src.closer()
}

// Next returns the next batch, and io.EOF after the last batch. Any other error is
// an *Error; after an error, Next returns the same error again.
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
	for {
		res := r.result()
		if res.err == io.EOF {
			return Batch{}, r.end()
		}
		if res.err != nil {
			return Batch{}, res.err
		}
		for s, n := range res.skipped {
			r.skipped[s] += n
		}
		r.unknownFields += res.unknownFields
		for _, f := range res.unknown {
			r.unknown.add(f.Message, f.Name, f.Objects)
		}
		r.wanted = r.wanted || res.items
		if res.found != SignalUnknown {
			r.last = res.found
		} else if r.others && r.format == Parts && !res.items && r.last != SignalUnknown && r.last != r.signal {
			continue // a part without items has the signal of the part before it
		}
		if res.wanted {
			return res.batch, nil
		}
	}
}

func (r *Reader) end() error {
	if r.format == Proto || r.wanted || slices.ContainsFunc(r.unknown, func(f UnknownField) bool { return f.Message != ProfilesData }) {
		// The file is a message of the signal, has items of the signal, or may have items in an
		// unknown field.
		return io.EOF
	}
	var names []string
	found := SignalUnknown
	for s, n := range r.skipped {
		if n > 0 {
			found = Signal(s)
			names = append(names, found.String())
		}
	}
	if found == SignalUnknown && len(r.unknown) > 0 {
		return r.at(piece{}, errOnlyProfiles)
	}
	if found == SignalUnknown {
		return io.EOF
	}
	return &Error{Format: r.format, Signal: r.signal, Found: found, Err: fmt.Errorf("%w: it holds %s", ErrSignal, strings.Join(names, " and "))}
}

func (r *Reader) result() result {
	if r.workers > 1 {
		if r.ahead == nil {
			r.ahead = newReadAhead(r)
		}
		return r.ahead.next()
	}
	p, err := r.piece(r.buf)
	r.buf = p.buf
	if err != nil {
		return result{err: err}
	}
	return r.decode(p)
}

// piece returns the next piece, in the memory of buf.
func (r *Reader) piece(buf []byte) (piece, error) {
	p, err := r.dec.next(buf)
	if err == io.EOF {
		return p, err
	}
	if err != nil {
		return p, r.at(p, err)
	}
	if r.checkNext {
		p.found = signalOfMessage(p.body)
		r.checkNext = p.found == SignalUnknown
	}
	return p, nil
}

// A result is the decoded content of a piece.
type result struct {
	batch   Batch
	wanted  bool   // whether the piece is a batch of the signal of the reader
	items   bool   // whether the piece is a part or a message with items of the signal of the reader
	found   Signal // the signal that the content shows, or SignalUnknown
	skipped [len(signalNames)]uint64
	unknown unknownFields
	// unknownFields is the number of unknown fields of a part.
	unknownFields uint64
	err           error
}

// decode decodes a piece. It changes nothing in the reader but an atomic value, so
// several goroutines may call it.
func (r *Reader) decode(p piece) (res result) {
	if r.format == JSON {
		if res.wanted, res.skipped, res.err = r.checkJSON(&p); res.wanted && res.err == nil {
			res.batch, res.unknown, res.err = r.wantedJSON(p)
			if res.err == nil && p.deep {
				res.err = r.checkDepth(p, res.batch)
			}
			res.items = res.err == nil && res.batch.Items() > 0
		}
		if p.signals&(1<<profiles) != 0 {
			res.unknown.add(ProfilesData, "", 1)
		}
		return res
	}
	if r.format == Parts && r.others {
		p.found = signalOfPart(p.body)
		if p.found != SignalUnknown && p.found != r.signal {
			return r.skip(p)
		}
	}
	unknownFields, err := r.check(p)
	if r.format == Parts && r.others && errors.Is(err, ErrProfiles) {
		res.unknown.add(ProfilesData, "", 1)
		return res
	}
	if err != nil {
		return result{err: err}
	}
	res = result{wanted: true, unknownFields: unknownFields, found: p.found, items: p.found == r.signal || p.found == SignalUnknown && hasItems(r.signal, p.body)}
	if r.bytesOnly != nil && r.bytesOnly(r.signal) {
		res.batch = Batch{Signal: r.signal, OTLP: p.body}
		return res
	}
	b, err := Unmarshal(r.signal, p.body)
	if err != nil {
		return result{err: r.inContent(p, r.signal, fmt.Errorf("%w: %w", ErrCorrupt, err))}
	}
	res.batch = b
	return res
}

// skip counts the items of a part of another signal.
func (r *Reader) skip(p piece) (res result) {
	bad := func(offset int, err error) result {
		p.offset += int64(offset)
		return result{err: r.inContent(p, p.found, err)}
	}
	if _, ft := check(p.found, p.body); ft != nil {
		return bad(ft.offset, ft.err)
	}
	b, err := Unmarshal(p.found, p.body)
	if err != nil {
		return bad(0, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	res.found, res.skipped[p.found] = p.found, uint64(b.Items())
	return res
}

// Skipped returns how many items of a signal were skipped, see WithOtherSignals.
func (r *Reader) Skipped(s Signal) uint64 { return r.skipped[s] }

// Unknown returns the fields of JSON messages that OTLP does not have, in the order of the file,
// and how many objects had them so far. Messages of other signals do not count. For skipped
// messages with profiles, see UnknownField.
func (r *Reader) Unknown() []UnknownField { return r.unknown }

// UnknownInProto returns the number of unknown fields in the protobuf messages so far. pdata drops
// these fields, but Batch.OTLP has them. Messages of other signals do not count.
func (r *Reader) UnknownInProto() uint64 { return r.unknownFields }

// signalOfMessage returns the signal of a message with items.
func signalOfMessage(body []byte) Signal {
	return signalOfContent(Proto, body[:min(len(body), headSize)], true)
}

// signalOfPart returns the signal of a part, which is one message in a file of format Parts. If
// signalOfMessage finds no signal, signalOfPart tries again and accepts unknown fields, which a newer
// version of OTLP may have. It may return SignalUnknown for a part without items.
func signalOfPart(body []byte) Signal {
	return GuessSignal("", Proto, body[:min(len(body), headSize)])
}

func hasItems(s Signal, body []byte) bool {
	var w walk
	w.message(body, 0, roots[s], 0, 0)
	return w.items > 0
}

// check finds an error in a message before pdata reads it, and reports its
// position. A message of another signal may be well-formed, so the signal of
// the first message with items is verified. unknown is the number of unknown fields.
func (r *Reader) check(p piece) (unknown uint64, err error) {
	unknown, ft := check(r.signal, p.body)
	if ft != nil && p.found == SignalUnknown {
		p.found = signalOfMessage(p.body)
	}
	if p.found != SignalUnknown && p.found != r.signal {
		return 0, r.holds(p, p.found)
	}
	if ft == nil {
		return unknown, nil
	}
	if p.found == SignalUnknown && holdsProfiles(p.body) {
		return 0, r.inContent(p, r.signal, errProfilesToo)
	}
	if r.format == Proto {
		p.part += entriesBefore(p.body, ft.offset)
	}
	p.offset += int64(ft.offset)
	return 0, r.inContent(p, r.signal, ft.err)
}

// checkJSON checks a message and reports whether it holds the signal of the
// reader. It counts the items of other signals in it.
func (r *Reader) checkJSON(p *piece) (wanted bool, skipped [len(signalNames)]uint64, err error) {
	if !p.checked {
		if p.signals, p.rescan, err = checkJSON(p.body); err != nil {
			return false, skipped, r.jsonError(*p, r.notRead(), err)
		}
	}
	signals := p.signals
	if signals&(1<<profiles) != 0 && !r.others {
		return false, skipped, r.inContent(*p, r.signal, errProfilesToo)
	}
	for s := Metrics; s <= Logs; s++ {
		switch {
		case signals&(1<<s) == 0 || s == r.signal:
		case !r.others:
			return false, skipped, r.holds(*p, s)
		default:
			if p.rescan {
				scanKeys(s, p.body)
			}
			b, err := r.unmarshalJSON(*p, s)
			if err != nil {
				return false, skipped, err
			}
			skipped[s] = uint64(b.Items())
		}
	}
	// An empty message counts as a message of the reader's signal.
	return signals == 0 || signals&(1<<r.signal) != 0, skipped, nil
}

// wantedJSON decodes a JSON message that has the reader's signal. It returns the batch and the
// unknown fields of the message. At first pdata looks for unknown fields while it decodes, which costs
// no extra time, but pdata stops at the first such field. From the first message with an unknown field
// on, findUnknown finds all unknown fields of each message, which costs extra time.
func (r *Reader) wantedJSON(p piece) (b Batch, found unknownFields, err error) {
	if p.rescan {
		if bad := findSecond(r.signal, p.body); bad != nil {
			return b, nil, r.jsonError(p, r.signal, bad)
		}
	}
	if !r.sawUnknown.Load() {
		if b, err = unmarshalJSON(r.signal, p.body, true); err == nil {
			return b, nil, nil
		}
	}
	if b, err = r.unmarshalJSON(p, r.signal); err != nil {
		return b, nil, err
	}
	r.sawUnknown.Store(true)
	return b, findUnknown(r.signal, p.body), nil
}

func (r *Reader) unmarshalJSON(p piece, s Signal) (Batch, error) {
	b, err := UnmarshalJSON(s, p.body)
	if err != nil {
		if bad := badID(p.body); bad != nil {
			return Batch{}, r.jsonError(p, s, bad)
		}
		return Batch{}, r.jsonError(p, s, wrongValue(p.body, err))
	}
	return b, nil
}

// notRead returns the signal of a part that cannot be read. In a file of several signals the signal
// of such a part is unknown.
func (r *Reader) notRead() Signal {
	if r.others {
		return SignalUnknown
	}
	return r.signal
}

// at adds the position to an error, and the cause if the source failed.
func (r *Reader) at(p piece, err error) error {
	cause := r.src.cause(err)
	signal := r.signal
	if p.part > 0 {
		signal = r.notRead()
	}
	e := r.inContent(p, signal, cause)
	e.Cut = errors.Is(cause, io.ErrUnexpectedEOF)
	return e
}

// ProfilesData is the message of profiles, see UnknownField.
const ProfilesData = "ProfilesData"

var (
	errOnlyProfiles = fmt.Errorf("%w: the file holds profiles, %w", ErrSignal, ErrProfiles)
	errProfilesToo  = fmt.Errorf("%w: it holds profiles, %w", ErrSignal, ErrProfiles)
)

// holds returns the error for a piece whose signal is not the signal of the reader.
func (r *Reader) holds(p piece, found Signal) error {
	e := r.inContent(p, r.signal, fmt.Errorf("%w: it holds %s", ErrSignal, found))
	e.Found = found
	return e
}

func (r *Reader) inContent(p piece, s Signal, err error) *Error {
	if r.lineless {
		p.line, p.oneLine = 0, 0
	}
	return &Error{Format: r.format, Signal: s, Part: p.part, Line: p.line, OneLine: p.oneLine, Offset: p.offset, Unpacked: r.src.unpacked, Err: err}
}

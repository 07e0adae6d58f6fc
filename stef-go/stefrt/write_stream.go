// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"errors"
	"fmt"
	"io"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
	"github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/internal/frame"
	"github.com/otelstef/stef/stef-go/schema"
)

// WriteStream converts encoded records into frames. Generated writers embed it and promote its
// methods. Operations that only generated writers need are functions, not methods. A WriteStream
// is not safe for use by several goroutines at once.
type WriteStream struct {
	config config.Writer
	dst    chunkWriter
	frame  *frame.Writer
	tree   column.WriteTree
	usage  codec.Usage
	dicts  []encoderDict
	wire   schema.WireSchema
	header frame.VarHeader
	hints  *hints
	// sendAll makes the next Write send the whole record.
	sendAll func()

	flags   stef.FrameFlags // flags of the frame being filled
	pending uint64          // records in the frame being filled
	written uint64          // records in finished frames
	bytes   int64
	frames  int

	untilCheck int // records until the next check of the frame size
	frameRoom  int // maximum of usage.Frame before that check
	err        error
}

// maxValueBytes is the maximum size in its column of a value that is not text: a varint, or a float with
// the description of its window (see codec.Float64Encoder).
const maxValueBytes = 10

// writerSchemaError returns the error of a schema that the writer of a root cannot write.
func writerSchemaError(err error, own string, roots func() *schema.Schema, wire schema.WireSchema) error {
	if other := rootOf(roots, own, wire); other != "" {
		// Omit err, as schemaError of a reader does: it names a struct of the root of this writer.
		return fmt.Errorf("stef: %sWriter cannot write the schema of its options: %w: the schema seems to be that of %s, not of %s, or newer than this code",
			own, stef.ErrSchema, other, own)
	}
	return fmt.Errorf("stef: %sWriter cannot write the schema of its options: the schema does not belong to %s, or it is newer than this code: %w", own, own, err)
}

// StartWriter begins the stream: it builds the encoders, which register themselves,
// and writes the headers. base is the schema of streams that announce no schema.
func StartWriter(s *WriteStream, w io.Writer, base schema.WireSchema, options []stef.WriterOption,
	build func(b *EncoderBuilder), sendAll func()) error {
	if w == nil {
		return errNilDestination
	}
	config, err := frame.WriterConfig(options)
	if err != nil {
		return err
	}
	b := EncoderBuilder{tree: &s.tree, usage: &s.usage, Fields: FieldCounts{wire: config.Schema}}
	s.tree.Reserve(int(writeColumns.Load()))
	build(&b)
	writeColumns.Store(int64(s.tree.Len()))
	if err := b.Fields.done(); err != nil {
		return writerSchemaError(err, s.tree.Path(0), b.Roots, config.Schema)
	}
	if err := checkSchema(&config, w, b.Fields.own); err != nil {
		return err
	}
	s.config, s.wire, s.sendAll = config, b.Fields.own, sendAll
	s.dicts = b.all
	s.header = frame.VarHeader{UserData: config.UserData}
	if config.WriteSchema || !slices.Equal(s.wire, base) {
		s.header.Schema = s.wire
	}
	s.hints = hintsFor(s.tree.Path(0), s.tree.Len())
	return s.begin(w)
}

// ResetWriter begins another stream with the same options, and reuses the memory of
// the last stream. Records of the last stream that were not flushed are lost.
func ResetWriter(s *WriteStream, w io.Writer) error {
	if w == nil {
		return errNilDestination
	}
	if err := checkSchema(&s.config, w, s.wire); err != nil {
		s.err, s.untilCheck = err, 0 // the last stream is over
		return err
	}
	s.tree.Reset()
	s.tree.Restart()
	for _, d := range s.dicts {
		d.Restart()
	}
	s.usage = codec.Usage{}
	s.flags, s.pending, s.written, s.bytes, s.frames, s.err = 0, 0, 0, 0, 0, nil
	return s.begin(w)
}

// checkSchema checks the schema of a stream with the check of the options. If the options have
// no check, it uses the check of the destination. Without both, any schema is allowed.
func checkSchema(c *config.Writer, w io.Writer, wire schema.WireSchema) error {
	check := c.CheckSchema
	if dst, ok := w.(stef.SchemaChecker); ok && check == nil {
		check = dst.CheckSchema
	}
	if check == nil {
		return nil
	}
	if err := check(slices.Clone(wire)); err != nil {
		return fmt.Errorf("stef: %w", err)
	}
	return nil
}

var errNilDestination = errors.New("stef: the destination is nil")

func (s *WriteStream) restart() stef.FrameFlags { return stef.FrameFlags(s.config.Restart) }

func (s *WriteStream) begin(w io.Writer) error {
	s.dst = chunkWriter{dst: w, stream: s}
	s.dst.records, _ = w.(stef.RecordWriter)
	var err error
	if s.frame == nil {
		s.frame, err = frame.NewWriter(&s.dst, &s.config, &s.header)
	} else {
		err = s.frame.Reset(&s.dst)
	}
	if err != nil {
		s.err = fmt.Errorf("stef: writing the headers: %w", err)
		s.untilCheck = 0
		return s.err
	}
	s.hints.expect(&s.tree)
	s.nextCheck(0)
	return nil
}

// chunkWriter counts the bytes of the chunks that are sent to the destination. A
// destination that is a stef.RecordWriter also receives the number of the last record of
// each chunk.
type chunkWriter struct {
	dst     io.Writer
	records stef.RecordWriter // dst as a stef.RecordWriter, or nil
	stream  *WriteStream
}

func (c *chunkWriter) Write(b []byte) (n int, err error) {
	if c.records != nil {
		n, err = c.records.WriteRecords(b, c.stream.written+c.stream.pending)
	} else {
		n, err = c.dst.Write(b)
	}
	c.stream.bytes += int64(n)
	return n, err
}

// Schema returns the wire schema of the stream.
func (s *WriteStream) Schema() schema.WireSchema { return slices.Clone(s.wire) }

// BufferedBytes returns the size of the frame that Flush would write, before
// compression: 0 if it has no records, otherwise at least 1.
func (s *WriteStream) BufferedBytes() int {
	if s.pending == 0 {
		return 0
	}
	return max(1, s.tree.Size())
}

// Stats returns counts of what was written.
func (s *WriteStream) Stats() stef.WriterStats {
	return stef.WriterStats{
		Records:     s.written + s.pending,
		Flushed:     s.written,
		Frames:      s.frames,
		Bytes:       s.bytes,
		Compression: stef.Compression(s.config.Compression),
		DictBytes:   s.usage.Dict,
	}
}

// CheckRecord checks a record for which Oversize is true. It returns an error if the record
// exceeds a limit. It marks the whole record as changed, unless only the size of its text must
// be checked. If the record does not fit in the current frame, it ends that frame.
func CheckRecord(s *WriteStream, top *Node, markAll func(*Check)) error {
	if s.err != nil {
		return s.err
	}
	c := Check{Shared: true, Measure: top.bit&oversize == 0}
	markAll(&c)
	if c.Pairs > stef.MaxPairs {
		return fmt.Errorf("stef: record %d: %w: a multimap %s has %d pairs, at most %d are allowed; if it holds pairs of earlier records, call Reset before Append",
			s.written+s.pending+1, stef.ErrLimit, c.Multimap, c.Pairs, stef.MaxPairs)
	}
	if c.Text > maxRecordText {
		return fmt.Errorf("stef: record %d: %w: it has %d bytes of text, at most %d are allowed",
			s.written+s.pending+1, stef.ErrLimit, c.Text, maxRecordText)
	}
	top.SetOversize(false)
	if s.pending == 0 || s.tree.Size()+c.Text <= maxRecordText {
		return nil
	}
	if err := s.endFrame(s.restart()); err != nil {
		return err
	}
	if top.Oversize() { // the record begins a frame that can be decoded without the earlier frames
		markAll(&Check{Shared: true})
		top.SetOversize(false)
	}
	return nil
}

// maxRecordText leaves space in a frame for the fields that are not text.
const maxRecordText = stef.MaxFrameBytes - 1<<20

// AtRestart makes the stream call Restart of f whenever its dictionaries restart.
func AtRestart(s *WriteStream, f interface {
	Restart()
	Release()
}) {
	s.dicts = append(s.dicts, f)
}

// RestartNext makes the frame end with the record that is being encoded. The next frame
// restarts the dictionaries, as if they had reached their limit.
func RestartNext(s *WriteStream) { s.usage.Dict = max(s.usage.Dict, s.config.DictBytes) }

// EndRecord counts an encoded record and ends the frame if it is large enough.
func EndRecord(s *WriteStream) error {
	s.pending++
	s.untilCheck--
	if s.untilCheck > 0 && s.usage.Frame < s.frameRoom && s.usage.Dict < s.config.DictBytes {
		return nil
	}
	return s.check()
}

func (s *WriteStream) check() error {
	if s.err != nil {
		s.pending--
		s.tree.Reset()
		if s.usage.Dict >= s.config.DictBytes { // programs may continue to write after an error
			s.restartDicts()
		}
		return s.err
	}
	if s.usage.Dict >= s.config.DictBytes {
		return s.endFrame(s.restart() | stef.RestartDictionaries)
	}
	size := s.tree.Size()
	if size >= s.config.FrameBytes {
		return s.endFrame(s.restart())
	}
	s.nextCheck(size)
	return nil
}

// nextCheck sets when the size of the frame is computed again: after a number of records, or after a
// number of bytes of text and elements. size is the present size. The frame cannot reach its maximum size
// before the check: half of the free bytes is for values of fixed size, of which a record has at most one
// per column. The other half is for text and elements.
func (s *WriteStream) nextCheck(size int) {
	room := max(s.config.FrameBytes-size, 0) / 2
	s.usage.Frame = 0
	s.frameRoom = room
	s.untilCheck = max(room/(maxValueBytes*s.tree.Len()), 1)
}

// Flush ends the frame, if it has records, and writes it to the destination in one
// Write. After an error the stream cannot continue.
func (s *WriteStream) Flush() error {
	if s.err != nil {
		return s.err
	}
	if s.pending == 0 {
		return nil
	}
	return s.endFrame(s.restart())
}

// endFrame writes the frame. next are the flags of the frame after it.
//
// spec: #restart
func (s *WriteStream) endFrame(next stef.FrameFlags) error {
	if _, err := s.frame.Frame(s.flags, s.pending, &s.tree); err != nil {
		s.err = fmt.Errorf("stef: frame %d, records %d to %d: %w", s.frames+1, s.written+1, s.written+s.pending, err)
		s.untilCheck = 0
		s.tree.Reset()
		return s.err
	}
	s.hints.saw(&s.tree)
	s.tree.EndFrame()
	s.written += s.pending
	s.pending = 0
	s.frames++
	s.flags = next
	if next&stef.RestartDictionaries != 0 {
		s.restartDicts()
	}
	if next&stef.RestartCodecs != 0 {
		s.tree.Restart()
	}
	if s.selfContained(next) {
		s.sendAll()
	}
	s.nextCheck(0)
	return nil
}

func (s *WriteStream) restartDicts() {
	for _, d := range s.dicts {
		d.Restart()
	}
	s.usage.Dict = 0
}

// selfContained reports whether a frame with these flags can be decoded without the frames before it,
// provided that its first record sends all fields.
func (s *WriteStream) selfContained(flags stef.FrameFlags) bool {
	need := stef.RestartDictionaries | stef.RestartCodecs
	if stef.Compression(s.config.Compression) != stef.None {
		need |= stef.RestartCompression
	}
	return flags&need == need
}

// Close flushes and releases the memory of the stream. It does not close the
// destination. Writing to a closed writer fails with ErrClosed; closing it again
// does nothing.
func (s *WriteStream) Close() error {
	if errors.Is(s.err, stef.ErrClosed) {
		return nil
	}
	err := s.Flush()
	if s.frame != nil {
		s.frame.Close()
	}
	s.tree.Release()
	for _, d := range s.dicts {
		d.Release()
	}
	s.untilCheck = 0
	s.err = fmt.Errorf("stef: %w", stef.ErrClosed)
	return err
}

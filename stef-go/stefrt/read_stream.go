// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
	"github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/internal/frame"
	"github.com/otelstef/stef/stef-go/schema"
)

// ReadStream converts frames into columns from which records are decoded. Generated readers
// embed it and promote its methods. Operations that only generated readers need are functions,
// not methods. A ReadStream is not safe for use by several goroutines at once.
type ReadStream struct {
	frame *frame.Reader
	tree  column.ReadTree
	fault *bitio.Fault
	alloc codec.Alloc
	limit codec.DictLimit
	dicts []interface{ Restart() }
	// tables are those dictionaries of dicts that have the method Spare, which returns how much of
	// the memory of a dictionary is unused.
	tables []interface{ Spare() int }
	wire   schema.WireSchema
	flags  stef.FrameFlags
	ended  bool // next to flags, so that flags, ended and older share one word
	older  bool // the stream has fewer fields than the reader

	limits stef.Limits
	// zstdDicts are the dictionaries that streams may refer to.
	zstdDicts config.ZstdDicts
	base      schema.WireSchema
	build     func(b *DecoderBuilder)
	roots     func() *schema.Schema // the schema of the package if it has several roots, or nil

	runs     [4]run // runs that Run found in the frame
	examined uint64 // number of records that Run has read ahead

	// state is the state of the compact form (see ReadState), or nil if the stream does not have this
	// form.
	state      ReadState
	stateBytes int // memory of state at the start of the frame

	// record holds the current record. Its memory is measured again when the stream may have grown it
	// by an eighth, and by at least smallRecord, since the last measurement.
	record  any
	kept    int    // memory of record when it was last measured
	grown   int    // bytes that may have been added since that measurement
	copied  int64  // value of limit.Added when it was last added to grown
	added   int64  // bytes that decoding added, except those of the current record
	left    uint64 // unread records of the frame
	records uint64 // records read of the stream
	err     error
}

// StartReader reads the headers and builds the decoders, which register themselves.
// base is the schema of streams that announce no schema.
func StartReader(s *ReadStream, r io.Reader, base schema.WireSchema, options []stef.ReaderOption,
	build func(b *DecoderBuilder)) error {
	if r == nil {
		return errNilSource
	}
	limits, dicts, err := frame.ReaderConfig(options)
	if err != nil {
		return err
	}
	s.limits, s.zstdDicts, s.base, s.build = limits, dicts, base, build
	return s.begin(r)
}

// Measure makes a stream measure the memory of record, which is a pointer to the record that
// the stream decodes. For generated code.
func Measure(s *ReadStream, record any) { s.record = record }

// Roots sets known, which returns the schema with all roots of the generated code. Errors
// then name the root that a stream seems to have. For generated code of schemas with
// several roots.
func Roots(s *ReadStream, known func() *schema.Schema) { s.roots = known }

// RootNames returns the names of the roots of the generated code that reads a stream, or nil
// if it has only one root. For tests of generated code.
func RootNames(s *ReadStream) (names []string) {
	if s.roots != nil {
		for _, root := range s.roots().Roots() {
			names = append(names, root.Name)
		}
	}
	return names
}

// ResetReader begins to read another stream with the same options, and reuses the
// memory of the last stream.
func ResetReader(s *ReadStream, r io.Reader) error {
	if r == nil {
		return errNilSource
	}
	s.Close()
	s.left, s.records, s.added, s.flags, s.err, s.ended, s.examined = 0, 0, 0, 0, nil, false, 0
	return s.begin(r)
}

var errNilSource = errors.New("stef: the source is nil")

func (s *ReadStream) begin(r io.Reader) error {
	s.ended = true // reset below if there is no error
	s.state, s.stateBytes = nil, 0
	if s.frame == nil {
		s.frame = frame.New(s.limits, s.zstdDicts[:]...)
	}
	if s.err = s.frame.Reset(r); s.err != nil {
		return s.err
	}
	s.alloc = codec.Alloc{Left: s.limits.RecordBytes, Max: s.limits.RecordBytes, Depth: s.limits.Depth}
	s.limit, s.copied = codec.DictLimit{Max: s.limits.DictBytes}, 0
	wire := s.frame.Header().Schema
	if wire == nil {
		wire = s.base
	}
	if s.wire == nil || !slices.Equal(wire, s.wire) {
		s.tree, s.wire = column.ReadTree{}, nil
		b := DecoderBuilder{tree: &s.tree, alloc: &s.alloc, limit: &s.limit, Fields: FieldCounts{wire: wire}}
		s.tree.Reserve(int(readColumns.Load()))
		s.build(&b)
		readColumns.Store(int64(s.tree.Len()))
		if err := b.Fields.done(); err != nil {
			s.err = s.frame.Error(s.schemaError(err, wire))
			return s.err
		}
		s.dicts, s.wire, s.older = b.all, wire, b.Fields.older
		s.tables = make([]interface{ Spare() int }, 0, len(b.all))
		for _, d := range s.dicts {
			if t, ok := d.(interface{ Spare() int }); ok {
				s.tables = append(s.tables, t)
			}
		}
	}
	s.tree.Attach()
	s.tree.Restart()
	for _, d := range s.dicts {
		d.Restart()
	}
	s.fault = s.tree.Fault()
	*s.fault = bitio.Fault{}
	s.ended = false
	return nil
}

// schemaError returns the error of a wire schema that the reader cannot read. If the wire schema
// fits another root of the package, the error suggests that root. It can only suggest: a stream
// does not name its root.
func (s *ReadStream) schemaError(err error, wire schema.WireSchema) error {
	own := s.tree.Path(0)
	if other := rootOf(s.roots, own, wire); other != "" {
		// Omit err: it names a struct of the root of this reader, but the count may belong to
		// another struct.
		return fmt.Errorf("%w: the records seem to be those of %s, not of %s: use %sReader. If they are those of %s, the stream is newer than the reader",
			stef.ErrSchema, other, own, other, own)
	}
	return fmt.Errorf("%w: the stream is newer than the reader, or its records are not those of %s (the reader cannot know which, because a stream does not name its root)", err, own)
}

// Schema returns the wire schema of the stream: the announced schema, or the schema
// that readers assume if the stream announces none.
func (s *ReadStream) Schema() schema.WireSchema { return slices.Clone(s.wire) }

// UserData returns a copy of the user data of the stream, or nil if it has none.
func (s *ReadStream) UserData() map[string]string { return maps.Clone(s.frame.Header().UserData) }

// BufferedRecords returns the number of records that can be read without reading from the
// source: the unread records of the frame.
func (s *ReadStream) BufferedRecords() uint64 { return s.left }

// Stats returns counts of what was read.
func (s *ReadStream) Stats() stef.ReaderStats {
	return stef.ReaderStats{
		Records:     s.records,
		Frames:      s.frame.Frame(),
		Bytes:       s.frame.Offset(),
		PlainBytes:  s.frame.Plain(),
		FrameFlags:  s.flags,
		Compression: s.frame.Compression(),
		DictBytes:   s.limit.Used,
		HeldBytes:   s.heldState() + s.StateBytes() - s.stateBytes + s.limit.Extra + s.spare() + s.frame.Held(),
		AddedBytes:  s.added + int64(s.alloc.Max-s.alloc.Left) + s.limit.Added + s.limit.Work/workPerByte,
	}
}

// spare returns the memory of the unused capacity of the dictionaries.
func (s *ReadStream) spare() (n int) {
	for _, t := range s.tables {
		n += t.Spare()
	}
	return n
}

// StateBytes returns the sum of three amounts of memory: the dictionaries, the state of the compact
// form (see ReadState) at the start of the frame, and the record if it needs more than 1 MiB. Records keep the memory
// of values that they no longer have.
func (s *ReadStream) StateBytes() int {
	if s.kept <= smallRecord {
		return s.limit.Used + s.stateBytes
	}
	return s.limit.Used + s.stateBytes + s.kept
}

func (s *ReadStream) heldState() int {
	if s.state == nil {
		return 0
	}
	return s.state.Held()
}

// smallRecord is the memory up to which StateBytes does not count a record.
const smallRecord = 1 << 20

// measure counts the memory that the last record added. It measures the record again if
// enough was added since the last measurement.
func (s *ReadStream) measure() {
	added := s.alloc.Max - s.alloc.Left
	s.alloc.Left = s.alloc.Max
	s.added += int64(added)
	s.grown += added
	if s.grown >= max(smallRecord, s.kept/8) {
		references := 0
		s.kept, references = sizeOf(s.record)
		s.grown = 0
		s.limit.Work += int64(references) * workPerReference
	}
}

// Run returns how many of the next records in the frame leave all of fields unchanged, up to the
// first record that changes one of them. It reads ahead in the column of the root. It caches the
// ends of four runs: a second call for the same fields within a run does not read ahead again. So
// for up to four sets of fields, any number of calls takes time in proportion to the records.
func Run(s *ReadStream, root *StructDecoder, fields uint64) int {
	return RunPresent(s, root, fields, 0, 0)
}

// RunPresent is like Run, but for a root with optional fields. present has the presence bits
// of the current record. watched has the presence bits of the optional fields in fields. If
// one of these bits changes in a record, the record ends the run, even without a modified bit.
func RunPresent(s *ReadStream, root *StructDecoder, fields, present, watched uint64) int {
	at := 0 // the run to replace: the run of the same fields, otherwise the run that ends first
	for i, run := range s.runs {
		if run.fields == fields && run.end > s.records {
			return int(run.end - s.records)
		}
		if run.fields == fields || s.runs[at].fields != fields && run.end < s.runs[at].end {
			at = i
		}
	}
	ahead := root.BitReader
	ahead.Attach(nil, 0)
	n := uint64(0)
	for ; n < s.left && ahead.Left() >= int(root.Fields+root.Optional); n++ {
		mask := ahead.Read(root.Fields)
		presence := ahead.Read(root.Optional)
		if mask&fields|(presence^present)&watched != 0 {
			break
		}
	}
	s.examined += n + 1
	s.runs[at] = run{fields, s.records + n}
	return int(n)
}

// run is a sequence of records that do not change the given fields.
type run struct {
	fields uint64
	end    uint64 // the number of the last record of the run in the stream, counted from 1
}

// Err returns the error that ended the stream. It is nil if the stream ended
// cleanly, between two frames, or has not ended.
func (s *ReadStream) Err() error { return s.err }

// Close releases the memory of the stream. It does not close the source. After
// Close, reading reports the end of the stream.
func (s *ReadStream) Close() {
	s.ended, s.left, s.runs = true, 0, [4]run{}
	s.tree.Release()
	if s.frame != nil {
		s.frame.Close()
	}
	for _, d := range s.dicts {
		if large, ok := d.(interface{ Release() }); ok {
			large.Release()
		} else {
			d.Restart()
		}
	}
}

// BeginRead prepares the decoding of a record, and reports whether there is one.
func BeginRead(s *ReadStream) bool {
	if s.left == 0 {
		return s.nextFrame()
	}
	s.left--
	if s.alloc.Left != s.alloc.Max {
		s.measure()
	}
	return true
}

// EndRead counts a decoded record and reports whether it is valid.
func EndRead(s *ReadStream) bool {
	s.records++
	if s.fault.Code == bitio.FaultNone && s.left > 0 {
		return true
	}
	return s.endFrame()
}

// ReadState is the state that a reader needs to restore records from a form. A form adds fields to
// a schema that hold values as differences from earlier records: for example, the compact form of
// package otelstef.
type ReadState interface {
	// Restart discards the state of the form.
	Restart()
	// Held returns the memory of the state in bytes.
	Held() int
}

// AtReadRestart registers the state of a form. From then on, the stream calls f.Restart when the
// dictionaries restart, and includes f.Held in the memory that it measures.
func AtReadRestart(s *ReadStream, f ReadState) {
	s.state = f
	if !slices.Contains(s.dicts, interface{ Restart() }(f)) {
		s.dicts = append(s.dicts, f)
	}
}

// Faulty reports whether the record being decoded is invalid.
func Faulty(s *ReadStream) bool { return s.fault.Code != bitio.FaultNone }

// Added counts memory that a record needs in addition to the memory that its decoders
// count.
func Added(s *ReadStream, n int) { s.added += int64(n) }

// Worked counts bytes that were copied, hashed or compared for a record, although the
// stream has few or no bytes for them.
func Worked(s *ReadStream, n int) { s.limit.Work += int64(n) }

// workPerByte is the number of copied, hashed or compared bytes that count as one
// allocated byte.
const workPerByte = 8

// workPerReference is the number of copied bytes that count as much as one reference
// that sizeOf follows. Following a reference usually misses the cache of the CPU.
const workPerReference = 128

// nextFrame reads frames until a frame has records. Readers of idle streams block in nextFrame,
// so it must use little stack.
func (s *ReadStream) nextFrame() bool {
	for !s.ended {
		flags, payload, err := s.frame.Next()
		if err != nil {
			s.ended = true
			if err != io.EOF {
				s.err = err
			}
			s.frame.Close()
			return false
		}
		if s.beginFrame(flags, payload) {
			return true
		}
	}
	return false
}

// beginFrame begins to read a frame and reports whether it has records. It ends the
// stream if the frame is invalid.
//
// spec: #state
func (s *ReadStream) beginFrame(flags stef.FrameFlags, payload []byte) bool {
	s.measure()
	s.grown += len(payload) // at the end of the frame, the record may hold text of this size
	s.stateBytes = s.heldState()
	records, n := bitio.Uvarint(payload)
	if n <= 0 {
		return s.fail(0, -1, fmt.Errorf("%w: the record count is cut off or too long", stef.ErrCorrupt))
	}
	if column, err := s.tree.Split(payload[n:]); err != nil {
		return s.fail(0, column, fmt.Errorf("%w: %w", stef.ErrCorrupt, err))
	}
	root := s.tree.Codec(0).(*StructDecoder)
	if records > uint64(root.Left())/uint64(root.Fields+root.Optional) {
		return s.fail(0, 0, fmt.Errorf("%w: the frame announces %d records, which do not fit into %d bits", stef.ErrCorrupt, records, root.Left()))
	}
	s.flags, s.runs = flags, [4]run{}
	if flags&stef.RestartDictionaries != 0 {
		for _, d := range s.dicts {
			d.Restart()
		}
		s.limit.Restart()
	}
	if flags&stef.RestartCodecs != 0 {
		s.tree.Restart()
	}
	if records > 0 {
		s.left = records - 1
		return true
	}
	if column, err := s.tree.Finish(); err != nil {
		return s.fail(0, column, fmt.Errorf("%w: %w", stef.ErrCorrupt, err))
	}
	return false
}

// endFrame checks the columns after the last record of a frame. It also ends the stream at a
// record with a fault. Such a record is not delivered, so it is not counted.
func (s *ReadStream) endFrame() bool {
	if s.fault.Code != bitio.FaultNone {
		s.records--
		return s.fail(s.records+1, s.fault.Column, s.faultError(s.fault.Code))
	}
	if column, err := s.tree.Finish(); err != nil {
		s.records--
		return s.fail(s.records+1, column, fmt.Errorf("%w: %w", stef.ErrCorrupt, err))
	}
	s.grown += int(s.limit.Added - s.copied) // a record may have copies of entries
	s.copied = s.limit.Added
	s.measure()
	return true
}

// fail ends the stream with an error in a record (0 means none) and a column (-1
// means none).
func (s *ReadStream) fail(record uint64, column int, err error) bool {
	s.ended, s.left, s.runs = true, 0, [4]run{}
	// A reader that assumes a wrong root or schema finds damage, usually in the first frame.
	if s.frame.Frame() == 1 && errors.Is(err, stef.ErrCorrupt) {
		err = s.explain(err)
	}
	err = s.frame.Error(err)
	var at *stef.FormatError
	if errors.As(err, &at) {
		at.Record, at.Column = record, s.tree.Path(column)
	}
	s.err = err
	s.frame.Close()
	return false
}

// explain adds a hint to an error: the stream may have another root or schema than the reader
// assumes.
func (s *ReadStream) explain(err error) error {
	own := s.tree.Path(0)
	if s.frame.Header().Schema == nil {
		return fmt.Errorf("%w; the stream announces no schema, so the reader assumes %v of %s. If its records are those of another root, "+
			"use the reader of that root; if the writer had another schema, generate the reader from the newer schema, with -base and the numbers of the writer (stefc -numbers prints them)",
			err, s.wire, own)
	}
	others := rootsOf(s.roots, own, s.wire)
	if len(others) == 1 {
		return fmt.Errorf("%w; or the records are not those of %s: the schema of the stream also fits %s, so try %sReader",
			err, own, others[0], others[0])
	}
	if s.older || len(others) > 0 {
		return fmt.Errorf("%w; if the stream is not damaged, its records are those of another root than %s (a stream does not name its root), "+
			"or fields of the schema were inserted, moved or changed after the stream was written: compare the schemas with stefc -against OLD.stef", err, own)
	}
	return err
}

// corrupt describes the faults of streams that break a rule of the format.
var corrupt = map[bitio.FaultCode]string{
	bitio.FaultEnd:      "the column ends before its last value",
	bitio.FaultBadCode:  "the bits are not a valid number code",
	bitio.FaultOverflow: "a number has more than 64 bits",
	bitio.FaultLength:   "a length is negative",
	bitio.FaultRef:      "a reference points to no entry of the dictionary",
	bitio.FaultChoice:   "a oneof has a choice that its type does not have",
	bitio.FaultFloat:    "a float has a window of more than 64 bits",
	bitio.FaultPair:     "a multimap changes a pair that does not exist",
	bitio.FaultElements: "an array is longer than its data",
	bitio.FaultForm:     "the fields of the compact form do not represent a valid record",
}

// faultError returns the error for a fault that the reader of a column has recorded. The names of
// the fields of Limits are matched by limitKey of the encoding extension.
func (s *ReadStream) faultError(code bitio.FaultCode) error {
	what := ""
	switch code {
	case bitio.FaultPairs:
		what = fmt.Sprintf("a multimap has more than %d pairs", stef.MaxPairs)
	case bitio.FaultDepth:
		what = fmt.Sprintf("a value is nested deeper than %d levels: a list or multimap in a struct or oneof counts as two levels (Limits.Depth of the reader, see stef.WithLimits)", s.limits.Depth)
	case bitio.FaultRecordSize:
		what = fmt.Sprintf("the record needs more memory than %d bytes (Limits.RecordBytes of the reader, see stef.WithLimits)", s.limits.RecordBytes)
	case bitio.FaultState:
		what = "the state of the compact form exceeds its limit"
	case bitio.FaultDictSize:
		what = fmt.Sprintf("the dictionaries need more memory than %d bytes (Limits.DictBytes of the reader, see stef.WithLimits)", s.limits.DictBytes)
	default:
		return fmt.Errorf("%w: %s", stef.ErrCorrupt, corrupt[code])
	}
	return fmt.Errorf("%w: %s", stef.ErrLimit, what)
}

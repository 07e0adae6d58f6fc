// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bufio"
	"errors"
	"io"

	"github.com/otelstef/stef/stef-go/schema"
)

// Reader reads the records of a stream. It is not safe for concurrent use.
type Reader struct {
	root    *schema.Struct
	src     *source
	header  Header
	kept    schema.Kept
	columns *columns
	decoder decoder
	zstd    *decompressor
	onFrame func(*Frame)
	trace   *tracer

	// frame is the frame that the Reader began last, and left is the number of its
	// unread records.
	frame   Frame
	left    uint64
	current *Struct
	count   uint64
	// restarts counts the frames that emptied the dictionaries.
	restarts uint64
	err      error
}

// NewReader reads the headers of the stream in src. root is the struct of the
// records; a stream does not name it. Errors of the stream are of type *Error, but
// errors of the arguments are not.
func NewReader(src io.Reader, root *schema.Struct, opts ...ReaderOption) (*Reader, error) {
	cfg := readerConfig{maxRecord: DefaultMaxRecordBytes, maxDict: DefaultMaxDictBytes, maxDepth: MaxDepth}
	if src == nil {
		return nil, errNilSource
	}
	if err := applyOptions(&cfg, opts); err != nil {
		return nil, err
	}
	if err := checkSchema(root); err != nil {
		return nil, err
	}
	r := &Reader{
		root:    root,
		src:     &source{r: bufio.NewReader(src), collect: cfg.trace != nil},
		decoder: decoder{maxBytes: cfg.maxRecord, maxDepth: cfg.maxDepth},
		onFrame: cfg.onFrame,
	}
	if cfg.trace != nil {
		r.trace = &tracer{f: cfg.trace, src: r.src, frame: -1}
		r.decoder.trace = r.trace
	}
	r.decoder.dicts = readDicts{texts: map[string][]any{}, structs: map[string]*readStructs{}, limit: cfg.maxDict}
	offset, err := r.readHeaders()
	if err == nil {
		err = r.build(root, cfg.wire)
	}
	if err != nil {
		r.trace.failed()
		return nil, withPlace(err, offset, 0, 0)
	}
	return r, nil
}

var errNilSource = errors.New("stef: the source is nil")

// ReadHeader reads the headers of the stream in src without a schema, for example to
// find out which schema the stream announces. It may consume more of src than the
// headers. Errors of the stream are of type *Error.
func ReadHeader(src io.Reader) (*Header, error) {
	if src == nil {
		return nil, errNilSource
	}
	r := &Reader{src: &source{r: bufio.NewReader(src)}}
	if offset, err := r.readHeaders(); err != nil {
		return nil, withPlace(err, offset, 0, 0)
	}
	return &r.header, nil
}

// readHeaders reads the headers, before the data frames. If it fails, offset is the start of the invalid
// header.
func (r *Reader) readHeaders() (offset int64, err error) {
	if r.header.Compression, err = readFixedHeader(r.src, r.trace); err != nil {
		return 0, err
	}
	r.trace.inFrame(0)
	if r.header.Compression == Zstd {
		r.zstd = &decompressor{}
	}
	offset = r.src.offset
	f, err := readFrameHeader(r.src, r.header.Compression, r.trace)
	if err == io.EOF {
		err = cutOff("before the variable header")
	}
	if err != nil {
		return offset, err
	}
	if f.UncompressedSize > maxVarHeader {
		return offset, fault(ErrLimit, "the variable header has %d bytes, the limit is %d", f.UncompressedSize, maxVarHeader)
	}
	content, err := r.content(f, true)
	if err != nil {
		return offset, err
	}
	r.header.Frame = f
	return offset, parseVarHeader(content, &r.header, r.trace)
}

// build makes the columns for the fields of the stream.
func (r *Reader) build(root *schema.Struct, assumed schema.WireSchema) error {
	wire := r.header.Wire
	if wire == nil {
		wire = assumed
	}
	if wire != nil {
		kept, err := schema.Keep(root, wire)
		if err != nil {
			return fault(ErrSchema, "%v: the stream is newer than the schema, or its records are of another root", err)
		}
		r.kept = kept
	}
	columns, err := newColumns(root, r.kept)
	if err != nil {
		return err
	}
	columns.trace = r.trace
	r.columns = columns
	r.current = columns.root.initial.(*Struct)
	return nil
}

// Header returns the contents of the headers. It must not be modified.
func (r *Reader) Header() *Header { return &r.header }

// Root returns the root that NewReader received: the struct of the records.
func (r *Reader) Root() *schema.Struct { return r.root }

// Kept returns the fields that the stream has, or nil if it has all of them.
func (r *Reader) Kept() schema.Kept { return r.kept }

// Frame describes the frame of the last record. It must not be modified.
func (r *Reader) Frame() *Frame { return &r.frame }

// Restarts returns how many frames restarted the dictionaries so far, including frames
// without records.
//
// spec: #restart
func (r *Reader) Restarts() uint64 { return r.restarts }

// StructDict returns how the stream used the dictionary of structs with this name, up to the
// last record.
func (r *Reader) StructDict(name string) DictUse {
	if dict := r.decoder.dicts.structs[name]; dict != nil {
		return dict.use
	}
	return DictUse{}
}

// Records returns how many records were read.
func (r *Reader) Records() uint64 { return r.count }

// Next reads the next record. It returns false after an error and at the end of the
// stream; see Err. A stream that ends within a frame is an error.
func (r *Reader) Next() bool {
	if r.err != nil {
		return false
	}
	rec, err := r.read()
	if err != nil {
		r.trace.restOfColumns(r.columns)
		r.trace.failed()
		r.stop(err)
		return false
	}
	r.current = rec
	r.count++
	return true
}

// Record returns the record that Next read last. It shares parts with other
// records and must not be modified, but can be kept.
func (r *Reader) Record() *Struct { return r.current }

// Err returns the error that ended the reading, nil at the end of the stream. It is of
// type *Error.
func (r *Reader) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

func (r *Reader) read() (*Struct, error) {
	for r.left == 0 {
		if err := r.nextFrame(); err != nil {
			return nil, err
		}
		if r.left == 0 {
			if err := r.columns.end(); err != nil {
				return nil, withPlace(err, r.frame.Offset, r.frame.Index, 0)
			}
			r.trace.restOfColumns(r.columns)
		}
	}
	r.trace.inRecord(r.count + 1)
	rec, err := r.decoder.record(r.columns.root, r.current)
	r.left--
	if err == nil && r.left == 0 {
		err = r.columns.end()
	}
	if err != nil {
		return nil, withPlace(err, r.frame.Offset, r.frame.Index, r.count+1)
	}
	if r.left == 0 {
		r.trace.restOfColumns(r.columns)
	}
	return rec, nil
}

// nextFrame reads a frame and applies its flags.
//
// spec: #frame-flags
func (r *Reader) nextFrame() error {
	r.trace.inFrame(r.frame.Index + 1)
	f, err := readFrameHeader(r.src, r.header.Compression, r.trace)
	f.Index = r.frame.Index + 1
	if err == io.EOF {
		err = r.finish()
		if err == nil {
			return io.EOF
		}
	}
	var content []byte
	if err == nil {
		content, err = r.content(f, f.Flags&RestartCompression != 0)
	}
	if err == nil {
		err = r.columns.split(content, &f)
	}
	if err != nil {
		return withPlace(err, f.Offset, f.Index, 0)
	}
	r.frame, r.left = f, f.Records
	if f.Flags&RestartDictionaries != 0 {
		r.decoder.dicts.reset()
		r.restarts++
	}
	if f.Flags&RestartCodecs != 0 {
		r.columns.restart()
	}
	if r.onFrame != nil {
		frame := f
		r.onFrame(&frame)
	}
	return nil
}

func (r *Reader) content(f Frame, restart bool) (content []byte, err error) {
	if r.zstd != nil {
		content, err = r.zstd.frame(r.src, f, restart)
	} else {
		content, err = readExactly(r.src, nil, f.UncompressedSize, frameContent)
	}
	if err == nil {
		r.trace.payload(f, r.zstd != nil)
	}
	return content, err
}

func (r *Reader) finish() error {
	if r.zstd == nil {
		return nil
	}
	return r.zstd.finish()
}

// stop ends the reading with err and releases memory that only reading needs.
func (r *Reader) stop(err error) {
	r.err = err
	if r.zstd != nil {
		r.zstd.close()
		r.zstd = nil
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/internal/config"
)

// readBuffer is the size of the read buffer. It is enough for the headers of frames and for
// small frames. Large frames bypass the buffer.
const readBuffer = 4 << 10

// readStep bounds the memory that is allocated for an announced size before the data
// arrives. A frame is read in steps, each at most as large as readStep or the data so far,
// whichever is larger. Frames of the default size need one step.
const readStep = 4 << 20

// Reader reads the headers and frames of one stream.
type Reader struct {
	src         *bufio.Reader
	source      progressReader // the source that src reads
	limits      stef.Limits
	setting     decoderSetting
	compression stef.Compression
	header      VarHeader

	zstd    *zstdDecoder // nil until the first frame with data
	ended   bool         // whether zstd read a complete zstd frame, with its checksum
	input   zstdInput
	payload []byte
	coded   []byte
	kept    []byte // the buffer for compressed frames of the last stream, for reuse
	// headerCoded is the compressed variable header, and headerSize its uncompressed size. The
	// first frame with data needs both if it continues the zstd frame of the header.
	headerCoded []byte
	headerSize  int

	offset int64 // offset of the next byte of the source
	plain  int64 // decompressed bytes of the frames that were read
	start  int64 // offset of the header or frame being read
	frame  int
}

// New returns a reader without a stream: call Reset with the stream. Streams may use the zstd
// dictionaries dicts, at most config.MaxZstdDicts of them.
func New(limits stef.Limits, dicts ...*config.ZstdDict) *Reader {
	r := &Reader{limits: limits, setting: decoderSetting{window: limits.WindowBytes}}
	copy(r.setting.dicts[:], dicts)
	r.src = bufio.NewReaderSize(&r.source, readBuffer)
	return r
}

// Reset reads the fixed header and the variable header of another stream. It reuses small
// buffers of the last stream. After an error the reader needs another Reset.
func (r *Reader) Reset(src io.Reader) error {
	r.Close()
	*r = Reader{src: r.src, source: progressReader{src: src}, limits: r.limits, setting: r.setting, coded: r.kept[:0], frame: -1}
	r.src.Reset(&r.source)
	err := r.readFixedHeader()
	if err == nil {
		err = r.readVarHeader()
	}
	if err == nil {
		return nil
	}
	err = r.Error(err)
	r.offset, r.plain, r.start, r.frame, r.header = 0, 0, 0, 0, VarHeader{}
	return err
}

// Compression returns the compression of the stream.
func (r *Reader) Compression() stef.Compression { return r.compression }

// Header returns the variable header.
func (r *Reader) Header() *VarHeader { return &r.header }

// Frame returns the number of the last frame read, 0 for the variable header.
func (r *Reader) Frame() int { return r.frame }

// Offset returns the number of bytes read so far.
func (r *Reader) Offset() int64 { return r.offset }

// Plain returns the size of the frames read so far, decompressed.
func (r *Reader) Plain() int64 { return r.plain }

// Error adds the location of the last header or frame read to err. It returns io.EOF
// unchanged.
func (r *Reader) Error(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var at *stef.FormatError
	if errors.As(err, &at) {
		return err
	}
	return &stef.FormatError{Offset: r.start, Frame: r.frame, Err: err}
}

// packed returns advice for the end of an error message. It checks whether head, the first bytes of
// a file, shows that the file is compressed as a whole. It returns "" for other files.
func packed(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return ": it is compressed with gzip, decompress it first"
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return ": it is compressed with zstd as a whole, decompress it first"
	}
	return ""
}

// readFixedHeader reads the fixed header.
//
// spec: #fixed-header
func (r *Reader) readFixedHeader() error {
	var head [len(signature)]byte
	if err := r.readFull(head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) && r.offset == 0 {
			return fmt.Errorf("%w: the stream is empty: %w", stef.ErrCorrupt, io.ErrUnexpectedEOF)
		}
		return cut(err)
	}
	if string(head[:]) != signature {
		return fmt.Errorf("%w: signature is %q, not %q%s", stef.ErrCorrupt, head[:], signature, packed(head[:]))
	}
	size, err := r.uvarint()
	if err != nil {
		return cut(err)
	}
	if size < fixedSize {
		return fmt.Errorf("%w: the size field is %d, must be at least %d", stef.ErrCorrupt, size, fixedSize)
	}
	if size > uint64(r.limits.HeaderBytes) {
		return fmt.Errorf("%w: the size field is %d, must be at most %d (Limits.HeaderBytes of the reader, see stef.WithLimits)", stef.ErrLimit, size, r.limits.HeaderBytes)
	}
	var rest [fixedSize]byte
	if err := r.readFull(rest[:]); err != nil {
		return cut(err)
	}
	// The high bits of the version and of the compression, and all later bytes, are reserved. This
	// reader ignores them.
	if v := rest[0] & 0x0f; v != version {
		return fmt.Errorf("%w: format version %d, this reader supports version %d", stef.ErrVersion, v, version)
	}
	r.compression = stef.Compression(rest[1] & 3)
	if r.compression > stef.Zstd {
		return fmt.Errorf("%w: unknown compression %d", stef.ErrVersion, r.compression)
	}
	n, err := r.src.Discard(int(size) - fixedSize)
	r.offset += int64(n)
	return cut(err)
}

// readVarHeader reads frame 0.
//
// spec: #var-header
func (r *Reader) readVarHeader() error {
	r.start, r.frame = r.offset, 0
	_, size, err := r.readFrame(r.limits.HeaderBytes)
	if err != nil {
		return cut(err)
	}
	content, raw := rawZstd(r.coded, size)
	if r.compression == stef.Zstd && !raw {
		// Release the decoder after use, because the stream may be idle from here. If the first
		// data frame continues this zstd frame, the next decoder reads these bytes again.
		d, err := r.setting.decoder(&r.input)
		if err != nil {
			return err
		}
		r.input.add(r.coded)
		d.need(r.coded, true, r.limits.WindowBytes)
		err = r.decode(d, size)
		r.setting.release(d)
		if err != nil {
			return err
		}
	}
	if !raw {
		content = r.payload
	}
	r.header, err = ParseVarHeader(content)
	r.headerCoded, r.headerSize = bytes.Clone(r.coded), size
	r.payload = nil
	if cap(r.coded) > largestKept {
		r.coded = nil
	}
	return err
}

// Next reads the next frame. The payload is valid until the next call. If the stream ends before
// the frame, which is legal, Next returns io.EOF.
//
// spec: #frame
func (r *Reader) Next() (flags stef.FrameFlags, payload []byte, err error) {
	r.start = r.offset
	if _, err := r.src.Peek(1); err == io.EOF {
		if err := r.endZstd(r.frame); err != nil {
			return 0, nil, r.Error(err)
		}
		return 0, nil, io.EOF
	} else if err != nil {
		// Return the error now, as an error of the next frame: Peek consumed the error, and the
		// source may not return it again.
		r.frame++
		return 0, nil, r.Error(err)
	}
	r.frame++
	r.input.keep()
	flags, size, err := r.readFrame(r.limits.FrameBytes)
	if err != nil {
		return 0, nil, r.Error(cut(err))
	}
	r.plain += int64(size)
	if r.compression == stef.Zstd {
		if err := r.decompress(flags, size); err != nil {
			return 0, nil, r.Error(err)
		}
	}
	return flags, r.payload, nil
}

func (r *Reader) decompress(flags stef.FrameFlags, size int) error {
	restart := flags&stef.RestartCompression != 0
	var err error
	switch {
	case r.zstd == nil:
		if r.zstd, err = r.setting.decoder(&r.input); err != nil {
			return err
		}
		r.input.reset()
		r.zstd.need(r.headerCoded, true, r.limits.WindowBytes)
		if !restart {
			r.input.add(r.headerCoded)
			if err := r.decode(r.zstd, r.headerSize); err != nil {
				return err
			}
		}
		r.headerCoded = nil
	case restart || r.ended:
		if err := r.endZstd(r.frame - 1); err != nil {
			return err
		}
		r.input.reset()
		if err := r.zstd.Reset(&r.input); err != nil {
			return err
		}
	}
	r.ended = false
	r.input.add(r.coded)
	r.zstd.need(r.input.pending, restart, r.limits.WindowBytes)
	if err := r.decode(r.zstd, size); err != nil || !restart || !checksummed(r.coded) {
		return err
	}
	r.ended = true
	return r.endZstd(r.frame)
}

// checksummed reports whether coded is a complete zstd frame with a checksum. The
// decoder can then verify it before more data arrives. RFC 8878, section 3.1.1.
func checksummed(coded []byte) bool {
	var h zstd.Header
	if h.Decode(coded) != nil || h.Skippable || !h.HasCheckSum {
		return false
	}
	const head, checksum = 3, 4
	for rest := coded[h.HeaderSize:]; len(rest) >= head; {
		block := uint(rest[0]) | uint(rest[1])<<8 | uint(rest[2])<<16
		last, kind, size := block&1 != 0, block>>1&3, int(block>>3)
		if kind == 1 { // an RLE block: one byte that repeats
			size = 1
		}
		if size > len(rest)-head {
			return false
		}
		if rest = rest[head+size:]; last {
			return len(rest) == checksum
		}
	}
	return false
}

// The memory of a zstd decoder in addition to its window: room for two blocks after the
// window, one more block, and zstdState for literals, sequences and tables.
const (
	zstdState  = 64 << 10
	zstdBlocks = 3
	zstdBlock  = 128 << 10 // or the window, if that is smaller
)

// Held returns the memory that the reader holds between two frames: its buffers,
// and the zstd decoder.
func (r *Reader) Held() int {
	n := cap(r.payload) + cap(r.coded) + len(r.headerCoded)
	if r.zstd != nil {
		n += r.zstd.window + zstdBlocks*min(r.zstd.window, zstdBlock) + zstdState
	}
	return n
}

// readFrame reads a frame: flags and sizes, then the content, into coded if it is
// compressed and into payload otherwise. It returns the uncompressed size. It
// returns io.EOF if the stream ends before the flags.
func (r *Reader) readFrame(limit int) (flags stef.FrameFlags, size int, err error) {
	b, err := r.src.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	r.offset++
	if flags = stef.FrameFlags(b); !flags.Valid() {
		return 0, 0, badFlags(b)
	}
	name := "FrameBytes"
	if r.frame == 0 {
		name = "HeaderBytes"
	}
	if size, err = r.size(limit, name); err != nil {
		return 0, 0, err
	}
	if size == 0 {
		return 0, 0, fmt.Errorf("%w: the frame has no content, so no frame begins here", stef.ErrCorrupt)
	}
	if r.payload == nil && r.frame > 0 { // no pooled buffer for frame 0: readVarHeader drops the buffer
		r.payload = takeBuffer(size)
	}
	if r.compression == stef.None {
		r.payload, err = r.content(r.payload[:0], size)
		return flags, size, err
	}
	coded, err := r.size(r.limits.FrameBytes, "FrameBytes")
	if err != nil {
		return 0, 0, err
	}
	r.coded, err = r.content(r.coded[:0], coded)
	return flags, size, err
}

// size reads a size, and returns an error if the size exceeds limit. name is the field of Limits
// that has this limit; it is matched by limitKey of the encoding extension.
func (r *Reader) size(limit int, name string) (int, error) {
	size, err := r.uvarint()
	if err != nil {
		return 0, err
	}
	if size > uint64(limit) {
		return 0, fmt.Errorf("%w: the frame has %d bytes, at most %d are allowed (Limits.%s of the reader, see stef.WithLimits)", stef.ErrLimit, size, limit, name)
	}
	return int(size), nil
}

// content appends n bytes of the source to dst.
func (r *Reader) content(dst []byte, n int) ([]byte, error) {
	for n > 0 {
		dst = room(dst, n)
		step := min(n, cap(dst)-len(dst))
		if err := r.readFull(dst[len(dst) : len(dst)+step]); err != nil {
			return dst, err
		}
		dst = dst[:len(dst)+step]
		n -= step
	}
	return dst, nil
}

// decode fills payload with exactly size bytes from d.
func (r *Reader) decode(d io.Reader, size int) error {
	p := r.payload[:0]
	coded := len(r.input.pending)
	for len(p) < size {
		p = room(p, size-len(p))
		end := min(cap(p), size)
		if len(p) == 0 {
			end = 1 // if d returns this byte without new input, the previous frame had too many bytes
		}
		n, err := io.ReadFull(d, p[len(p):end])
		p = p[:len(p)+n]
		if err != nil && len(p) < size {
			return zstdError(err, len(p), size)
		}
		if len(r.input.pending) == coded {
			return surplusError(r.frame - 1)
		}
	}
	r.payload = p
	end, ok := zstdEnd(r.input.pending)
	if !ok {
		return fmt.Errorf("%w: %d compressed bytes follow the content of the frame", stef.ErrCorrupt, len(r.input.pending))
	}
	r.input.pending = end
	return nil
}

// endZstd checks the zstd stream that ends with a frame: the zstd stream must not have more
// plain bytes or a wrong checksum.
func (r *Reader) endZstd(frame int) error {
	if r.zstd == nil {
		return nil
	}
	n, err := r.zstd.Read(make([]byte, 1))
	switch {
	case n > 0:
		return surplusError(frame)
	case errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("%w: the checksum of the zstd data up to frame %d is wrong: %w", stef.ErrCorrupt, frame, err)
	}
	return nil
}

func surplusError(frame int) error {
	return fmt.Errorf("%w: frame %d decompresses to more bytes than its size says", stef.ErrCorrupt, frame)
}

func zstdError(err error, got, want int) error {
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return fmt.Errorf("%w: the frame needs a larger window of zstd (Limits.WindowBytes of the reader, see stef.WithLimits): %w", stef.ErrLimit, err)
	}
	if errors.Is(err, zstd.ErrUnknownDictionary) {
		return fmt.Errorf("%w: pass the dictionary of the writer to the reader, with WithZstdDicts", stef.ErrZstdDict)
	}
	return fmt.Errorf("%w: zstd failed after %d of %d bytes: %w", stef.ErrCorrupt, got, want, err)
}

// room returns dst with free capacity: at least 1 byte, and at most n bytes unless dst already had
// free capacity.
func room(dst []byte, n int) []byte {
	if cap(dst) > len(dst) {
		return dst
	}
	bigger := make([]byte, len(dst), len(dst)+min(n, max(readStep, len(dst))))
	copy(bigger, dst)
	return bigger
}

func (r *Reader) readFull(b []byte) error {
	n, err := io.ReadFull(r.src, b)
	r.offset += int64(n)
	return cut(err)
}

func (r *Reader) uvarint() (uint64, error) {
	var b [10]byte
	for i := range b {
		c, err := r.src.ReadByte()
		if err != nil {
			return 0, cut(err)
		}
		r.offset++
		b[i] = c
		if c < 0x80 {
			v, n := bitio.Uvarint(b[:i+1])
			if n < 0 {
				break
			}
			return v, nil
		}
	}
	return 0, fmt.Errorf("%w: a number has more than 64 bits", stef.ErrCorrupt)
}

func badFlags(b byte) error {
	if b == signature[0] { // b may begin the signature of a stream that was appended to the file
		return fmt.Errorf("%w: unknown bits in the frame flags %#02x: a second stream may begin here, but a file holds one stream", stef.ErrCorrupt, b)
	}
	return fmt.Errorf("%w: unknown bits in the frame flags %#02x: no frame begins here", stef.ErrCorrupt, b)
}

// cut converts the end of the source inside a header or frame into an error of the kind
// ErrCorrupt. It returns other errors of the source unchanged.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the stream ends inside it: %w", stef.ErrCorrupt, io.ErrUnexpectedEOF)
	}
	return err
}

// Close returns the decoder and the buffers to their pools. The payload of the last
// frame is then invalid.
func (r *Reader) Close() {
	releaseBuffer(r.payload)
	if r.coded != nil && cap(r.coded) <= largestKept {
		r.kept = r.coded
	}
	r.payload, r.coded = nil, nil
	r.source = progressReader{src: noSource{}}
	if r.zstd != nil {
		r.setting.release(r.zstd)
		r.zstd = nil
	}
}

// maxZstdTail is the maximum number of compressed bytes of a frame after its last
// plain byte, without skippable frames: an empty last block and a checksum.
const maxZstdTail = 16

// progressReader returns an error if a source repeatedly returns neither bytes nor an error, so that no
// caller waits forever.
type progressReader struct {
	src  io.Reader
	idle int
}

// maxIdle is the number of empty reads that package bufio allows.
const maxIdle = 100

// noSource is the source of a closed reader. It replaces the last source, so that the
// garbage collector can free the last source.
type noSource struct{}

func (noSource) Read([]byte) (int, error) { return 0, io.EOF }

func (s *progressReader) Read(b []byte) (int, error) {
	n, err := s.src.Read(b)
	if n > 0 || err != nil || len(b) == 0 {
		s.idle = 0
		return n, err
	}
	if s.idle++; s.idle >= maxIdle {
		return 0, io.ErrNoProgress
	}
	return 0, nil
}

// zstdInput feeds a decoder with the contents of the frames read so far. If the
// decoder does not use all bytes of a frame, it reads the rest, up to maxZstdTail bytes,
// before the next frame.
type zstdInput struct{ pending []byte }

func (in *zstdInput) add(b []byte) {
	if len(in.pending) == 0 {
		in.pending = b
		return
	}
	in.pending = append(append([]byte(nil), in.pending...), b...)
}

// keep copies the pending bytes out of the buffer of the last frame.
func (in *zstdInput) keep() { in.pending = bytes.Clone(in.pending) }

func (in *zstdInput) reset() { in.pending = nil }

func (in *zstdInput) Read(b []byte) (int, error) {
	if len(in.pending) == 0 {
		return 0, io.EOF
	}
	n := copy(b, in.pending)
	in.pending = in.pending[n:]
	return n, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of the zstd decoder. It is the largest window
// that the zstd command uses or accepts by default.
const maxWindow = 128 << 20

// Input is a file or standard input, decompressed. Except for Taken it is not
// safe for concurrent use.
type Input struct {
	// Name is the name of the file in messages.
	Name string
	// Size is the number of bytes of the file, or -1 if it is not known.
	Size int64
	// Packed is "zstd" or "gzip" if the file is compressed, otherwise "".
	Packed string
	// Each is set if each message of the file is compressed alone.
	Each bool

	raw      source
	content  *bufio.Reader
	unpacked int64
	read     int64 // number of decompressed bytes, which Random and Keep do not change
	close    []func()
}

// source is the file without decompression. It counts the bytes and records its
// failure, because the readers above it may change the error.
type source struct {
	r     io.Reader
	taken atomic.Int64
	err   error
	seen  blocks
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.taken.Add(int64(n))
	s.seen.add(b[:n])
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Open opens a file, or stdin for the name "-".
func Open(name string, stdin io.Reader) (*Input, error) {
	in := &Input{Name: name, Size: -1}
	if name == "-" {
		in.Name, in.raw.r = "standard input", stdin
	} else {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && remote(name) {
			err = errRemote
		}
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(name, "*") {
			err = errPattern
		}
		if err != nil {
			return nil, &Error{name, err}
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, &Error{name, fmt.Errorf("is a folder; name its files: %s", patterns(name))}
		}
		in.raw.r = f
		in.close = append(in.close, func() { f.Close() })
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.Size = info.Size()
		}
	}
	if err := in.unpack(); err != nil {
		in.Close()
		return nil, in.Blame(err)
	}
	return in, nil
}

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b, 8}
)

// PackedHead returns "zstd" or "gzip" if content begins as a file of this compression, otherwise "".
func PackedHead(head []byte) string {
	switch {
	case bytes.HasPrefix(head, zstdMagic):
		return "zstd"
	case bytes.HasPrefix(head, gzipMagic):
		return "gzip"
	}
	return ""
}

// unpack detects compression by the first bytes.
func (in *Input) unpack() error {
	raw := bufio.NewReaderSize(&in.raw, 64<<10)
	head, err := raw.Peek(8)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, zstdMagic):
		in.Packed = "zstd"
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		in.close = append(in.close, z.Close)
		in.content = bufio.NewReaderSize(&unpacker{name: "zstd", r: &zstdFrames{z, raw, &in.raw.seen.zstd}, raw: &in.raw}, 64<<10)
	case bytes.HasPrefix(head, gzipMagic):
		in.Packed = "gzip"
		z, err := gzip.NewReader(raw)
		if err != nil {
			if err = unexpected(err); err == io.ErrUnexpectedEOF {
				return cutInHeader("gzip")
			}
			return fmt.Errorf("gzip: %w", err)
		}
		z.Multistream(false)
		in.content = bufio.NewReaderSize(&unpacker{name: "gzip", r: &gzipMembers{z, raw}, raw: &in.raw}, 64<<10)
	case eachPacked(head):
		in.Packed, in.Each = "zstd", true
		z, err := newEachUnpacker(raw, in.Name)
		if err != nil {
			return err
		}
		in.close = append(in.close, z.zstd.Close)
		in.content = bufio.NewReaderSize(&unpacker{r: z, raw: &in.raw}, 64<<10)
	case len(head) == 0:
		in.content = raw
	case bytes.HasPrefix(gzipMagic, head) && strings.HasSuffix(in.Name, ".gz"):
		return cutInHeader("gzip")
	case bytes.HasPrefix(zstdMagic, head) && (strings.HasSuffix(in.Name, ".zst") || strings.HasSuffix(in.Name, ".zstd")):
		return cutInHeader("zstd")
	default:
		in.content = raw
	}
	return nil
}

// cutInHeader is the error of a file that is cut inside the header of its compression.
func cutInHeader(packed string) error {
	return fmt.Errorf("%s: the file is cut inside its header, so nothing of it can be read: %w", packed, io.ErrUnexpectedEOF)
}

// UnpackError is the error of a decompressor: the file can be read, but its compression is damaged
// or cut.
type UnpackError struct{ error }

// Unwrap returns the cause.
func (e *UnpackError) Unwrap() error { return e.error }

// unpacker adds the name of the compression to the errors of a decompressor. After its
// first error, each Read returns this error again: a buffered reader above it can drop an
// error that follows bytes.
type unpacker struct {
	name string // "" if the errors already name it
	r    io.Reader
	raw  *source
	err  error
}

func (u *unpacker) Read(b []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.r.Read(b)
	if err != nil && err != io.EOF && !strings.HasPrefix(err.Error(), u.name) {
		err = fmt.Errorf("%s: %w", u.name, err)
	}
	if errors.Is(err, zstd.ErrUnknownDictionary) {
		err = fmt.Errorf("%w: the file as a whole is compressed with a dictionary: decompress it first: zstd -dc -D DICTIONARY FILE | stef convert - OUT", err)
	}
	if err != nil && err != io.EOF && u.raw.err == nil {
		err = &UnpackError{err}
	}
	u.err = err
	return n, err
}

// Damage returns the cause if err is the error of a decompressor whose input is damaged, otherwise nil.
// A file that is cut, and a file that needs a dictionary or more memory, are not damaged.
func Damage(err error) error {
	at := (*UnpackError)(nil)
	if !errors.As(err, &at) || errors.Is(at, io.ErrUnexpectedEOF) || errors.Is(at, zstd.ErrUnknownDictionary) ||
		errors.Is(at, zstd.ErrWindowSizeExceeded) || errors.Is(at, zstd.ErrDecoderSizeExceeded) {
		return nil
	}
	return at.error
}

// Rest decompresses the rest of a compressed file and returns the error of the decompressor, or nil. A
// decompressor can return wrong bytes before it finds that its input is damaged or cut.
func (in *Input) Rest() error {
	if in.Packed == "" {
		return nil
	}
	_, err := io.Copy(io.Discard, in.content)
	if at := (*UnpackError)(nil); errors.As(err, &at) {
		return at
	}
	return nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads content.
func (in *Input) Read(b []byte) (int, error) {
	n, err := in.content.Read(b)
	in.unpacked += int64(n)
	in.read += int64(n)
	return n, err
}

// Random returns the file for reads at any offset. Bytes that are read from it count as
// taken, and the whole file counts as content.
func (in *Input) Random() (*Random, error) {
	f, ok := in.raw.r.(*os.File)
	if !ok || in.Size < 0 || in.Packed != "" {
		what, advice := "from a pipe", "write it to a file first, and name that file"
		if in.Packed != "" {
			what, advice = "under "+in.Packed, "decompress it to a file first, and name that file"
		}
		return nil, fmt.Errorf("a Parquet file cannot be read %s, because its index is at the end: %s", what, advice)
	}
	in.raw.taken.Store(0)
	in.unpacked = in.Size
	return &Random{io.NewSectionReader(f, 0, in.Size), &in.raw}, nil
}

// Random reads a file at any offset.
type Random struct {
	*io.SectionReader
	raw *source
}

// ReadAt implements io.ReaderAt.
func (r *Random) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.SectionReader.ReadAt(b, at)
	r.raw.taken.Add(int64(n))
	return n, err
}

// Peek returns the next n bytes of the content without consuming them, or all remaining bytes
// near the end. n is at most 64 KiB. If decompression fails after the first byte, Peek returns
// the bytes before the failure, and a later Read reports the error.
func (in *Input) Peek(n int) ([]byte, error) {
	head, err := in.content.Peek(n)
	if err == io.EOF || len(head) > 0 && in.raw.err == nil {
		err = nil
	}
	return head, err
}

// ErrEmpty is the error of an input without content.
var ErrEmpty = errors.New("the file is empty")

var errBlank = fmt.Errorf("%w: it has only white space", ErrEmpty)

// Empty returns ErrEmpty if the content has no bytes, or only white space (less than 64 KiB).
// Otherwise it returns nil. Call Empty before the first read.
func (in *Input) Empty() error {
	head, err := in.content.Peek(64 << 10)
	switch {
	case err != io.EOF || len(bytes.TrimLeft(head, " \t\r\n")) > 0:
		return nil
	case len(head) > 0:
		return errBlank
	}
	return ErrEmpty
}

// Taken is the number of bytes of the file that were read, before
// decompression.
func (in *Input) Taken() int64 { return in.raw.taken.Load() }

// Content is the number of bytes of content that were read. After Random it is the size of
// the file. Keep can reduce it.
func (in *Input) Content() int64 { return in.unpacked }

// Keep reduces Content to n if it is larger: the bytes after the first n bytes belong to an
// incomplete part of a cut file and are not used. Call Keep after the last read.
func (in *Input) Keep(n int64) { in.unpacked = min(in.unpacked, n) }

// ContentName is the name of the file without the suffix of the compression.
// Callers use it to guess the content.
func (in *Input) ContentName() string {
	if in.Packed == "" {
		return in.Name
	}
	return UnpackedName(in.Name)
}

// Blame adds the file name to an error that occurred while reading the file,
// and says whether the file failed or its content is bad. It returns errors
// that already name a file unchanged.
func (in *Input) Blame(err error) error {
	if err == nil {
		return nil
	}
	var failed *Error
	var bad *ContentError
	if errors.As(err, &failed) || errors.As(err, &bad) {
		return err
	}
	if in.raw.err != nil {
		return &Error{in.Name, in.raw.err}
	}
	packed := in.Packed
	if in.Each {
		packed = ""
	}
	return &ContentError{in.Name, err, packed, in.read, in.WholeBlocks()}
}

// WholeBlocks reports whether the part of a compressed file that was read ends after a whole block.
// Then all of this part was decompressed, even if the end of the file is missing.
func (in *Input) WholeBlocks() bool {
	return in.Packed != "" && !in.Each && in.raw.seen.whole(in.Packed)
}

// Close closes the file.
func (in *Input) Close() {
	for i := len(in.close) - 1; i >= 0; i-- {
		in.close[i]()
	}
	in.close = nil
}

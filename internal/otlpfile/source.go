// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of the zstd decoder. It is the largest window
// that the zstd command uses or accepts by default.
const maxWindow = 128 << 20

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b}
	// byteOrderMark is what some editors write before JSON. No other format begins with it.
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// A source is the uncompressed content of a file. It knows how many bytes were consumed, and
// whether the underlying reader failed or the content is bad.
type source struct {
	*bufio.Reader
	below       failing
	compression Compression
	unpacked    bool // whether the file is compressed: the source or the caller decompresses it
	closer      func()
	offset      int64 // offset of the next byte
}

// failing records the failure of a reader.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) { // a truncated file is not a failure of the source
		f.err = err
	}
	return n, err
}

// sticky returns the first error of a reader again for each later read. A bufio.Reader returns
// an error only once: without sticky, code that only peeks at the beginning of a file would
// hide the error from later reads.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(b)
	s.err = err
	return n, err
}

func openSource(r io.Reader) (*source, error) {
	s := &source{closer: func() {}}
	s.below.r = r
	raw := bufio.NewReaderSize(&s.below, 64<<10)
	head, err := raw.Peek(4)
	if err != nil && err != io.EOF {
		return nil, s.cause(err)
	}
	var content io.Reader = raw
	switch {
	case len(head) > 0 && len(head) < len(zstdMagic) && bytes.HasPrefix(zstdMagic, head), len(head) == 1 && head[0] == gzipMagic[0]:
		return nil, fmt.Errorf("the file ends after %d bytes, inside the header of a compressed file: %w", len(head), io.ErrUnexpectedEOF)
	case bytes.HasPrefix(head, zstdMagic):
		s.compression = Zstd
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, s.cause(err)
		}
		content, s.closer = z, z.Close
	case bytes.HasPrefix(head, gzipMagic):
		s.compression = Gzip
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, s.cause(unexpected(err))
		}
		content = z
	}
	s.Reader = bufio.NewReaderSize(&sticky{r: content}, headSize)
	if head, _ := s.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		s.skip(len(byteOrderMark))
	}
	return s, nil
}

// peek returns the next n bytes of the content, or all remaining bytes near its end.
func (s *source) peek(n int) ([]byte, error) {
	head, err := s.Peek(n)
	if err == io.EOF {
		err = nil
	}
	return head, err
}

func (s *source) skip(n int) {
	n, _ = s.Discard(n)
	s.offset += int64(n)
}

// read appends n bytes to dst. The memory grows with the bytes that arrive, so a
// damaged length cannot allocate much.
func (s *source) read(dst []byte, n int) ([]byte, error) {
	const step = 1 << 20
	for n > 0 {
		m := min(n, max(step, cap(dst)-len(dst)))
		old := len(dst)
		dst = append(dst, make([]byte, m)...)
		got, err := io.ReadFull(s, dst[old:])
		s.offset += int64(got)
		if err != nil {
			return dst[:old+got], unexpected(err)
		}
		n -= m
	}
	return dst, nil
}

// cause returns err with its cause: ErrRead if the source failed, otherwise a cause about the
// content.
func (s *source) cause(err error) error {
	switch {
	case s.below.err != nil:
		return fmt.Errorf("%w: %w", ErrRead, s.below.err)
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge), errors.Is(err, ErrSignal), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%w: %s: %w", ErrTooLarge, s.compression, err)
	case s.compression != None:
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, s.compression, err)
	}
	return err
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF. Callers use it where the content must not end.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// keepAdvice returns how to keep the pieces of a truncated file before an offset.
func (s *source) keepAdvice(offset int64, pieces string) string {
	of := "file"
	if s.unpacked {
		of = "uncompressed file"
	}
	return fmt.Sprintf(" (head -c %d of the %s keeps the %s before it)", offset, of, pieces)
}

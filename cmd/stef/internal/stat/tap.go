// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// tap keeps the bytes that went through it, as long as they are of use. The
// reader of records tells where frames are; their bytes are found here.
type tap struct {
	src  io.Reader
	kept []byte
	// base is the offset in the stream of the first byte kept.
	base int64
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.src.Read(b)
	t.kept = append(t.kept, b[:n]...)
	return n, err
}

// end is the offset of what was read last.
func (t *tap) end() int64 { return t.base + int64(len(t.kept)) }

var errLost = errors.New("a frame is not where it was read")

// frame returns the head and the compressed content of a frame, and forgets all
// that is before it. It is valid until the next read.
//
// spec: #frame
func (t *tap) frame(f *dynamic.Frame, c dynamic.Compression) (head, content []byte, err error) {
	skip := f.Offset - t.base
	if skip < 0 || skip > int64(len(t.kept)) {
		return nil, nil, errLost
	}
	t.kept, t.base = t.kept[skip:], f.Offset
	numbers := 1
	if c == dynamic.CompressionZstd {
		numbers = 2
	}
	n := 1
	for range numbers {
		_, size := binary.Uvarint(t.kept[min(n, len(t.kept)):])
		if size <= 0 {
			return nil, nil, errLost
		}
		n += size
	}
	if len(t.kept)-n < f.CompressedSize {
		return nil, nil, errLost
	}
	return t.kept[:n], t.kept[n : n+f.CompressedSize], nil
}

// inflater decompresses the content of frames. It is fed a frame at a time; the
// zstd stream goes on with the next.
//
// spec: #compression
type inflater struct {
	dec *zstd.Decoder
	in  bytes.Buffer
}

func (z *inflater) content(packed []byte, size int, restart bool) ([]byte, error) {
	if restart || z.dec == nil {
		if err := z.restart(); err != nil {
			return nil, err
		}
	}
	z.in.Write(packed)
	content := make([]byte, size)
	if _, err := io.ReadFull(z.dec, content); err != nil {
		return nil, fmt.Errorf("decompressing a frame: %w", err)
	}
	return content, nil
}

func (z *inflater) restart() error {
	z.in.Reset()
	// The decoder would take a *bytes.Buffer to be complete.
	src := struct{ io.Reader }{&z.in}
	if z.dec != nil {
		return z.dec.Reset(src)
	}
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(dynamic.MaxZstdWindow))
	z.dec = dec
	return err
}

func (z *inflater) close() {
	if z.dec != nil {
		z.dec.Close()
	}
}

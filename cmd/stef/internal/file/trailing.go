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

	"github.com/klauspost/compress/zstd"
)

// TrailingError is the error of a compressed file with bytes after its end that are not compressed data, such
// as the zeros that a crash of the machine can leave. All content before them was decompressed.
type TrailingError struct {
	Packed string // as Input.Packed
	Bytes  int64
}

// Error says how many bytes follow the compressed data.
func (e *TrailingError) Error() string {
	if e.Bytes == 1 {
		return e.Packed + ": the byte after the end of the compressed data is not compressed data"
	}
	return fmt.Sprintf("%s: the %d bytes after the end of the compressed data are not compressed data", e.Packed, e.Bytes)
}

// zstdFrames reads the frames of a file. The decoder reports trailing bytes as a wrong magic number, or, if they
// are fewer than 4, as a file that is cut.
type zstdFrames struct {
	*zstd.Decoder
	raw    *bufio.Reader
	blocks *zstdBlocks
}

// Read implements io.Reader.
func (z *zstdFrames) Read(b []byte) (int, error) {
	n, err := z.Decoder.Read(b)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, zstd.ErrMagicMismatch) {
		return n, err
	}
	if _, failed := io.Copy(io.Discard, z.raw); failed != nil {
		return n, err
	}
	if trailing := z.blocks.trailing(); trailing > 0 {
		err = &TrailingError{"zstd", trailing}
	}
	return n, err
}

// gzipMembers reads the members of a file.
type gzipMembers struct {
	*gzip.Reader // of one member
	raw          *bufio.Reader
}

// Read implements io.Reader.
func (g *gzipMembers) Read(b []byte) (int, error) {
	n, err := g.Reader.Read(b)
	if err != io.EOF {
		return n, err
	}
	head, err := g.raw.Peek(len(gzipMagic))
	switch {
	case err != nil && err != io.EOF || len(head) == 0:
		return n, err
	case !bytes.HasPrefix(gzipMagic, head):
		trailing, err := io.Copy(io.Discard, g.raw)
		if err == nil {
			err = &TrailingError{"gzip", trailing}
		}
		return n, err
	}
	if err = g.Reset(g.raw); err != nil {
		return n, unexpected(err)
	}
	g.Multistream(false)
	return n, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bufio"
	"io"
)

// source reads a stream and tracks the offset.
type source struct {
	r      *bufio.Reader
	offset int64
	// empty counts consecutive reads that returned neither bytes nor an error.
	empty int
	// seen collects the bytes that were read, for a tracer.
	seen    []byte
	collect bool
}

// ReadByte implements io.ByteReader.
func (s *source) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		s.offset++
		if s.collect {
			s.seen = append(s.seen, b)
		}
	}
	return b, err
}

// maxEmpty is the number of empty reads after which a source counts as failed, the
// same as in package bufio.
const maxEmpty = 100

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.offset += int64(n)
	if s.empty++; n > 0 {
		s.empty = 0
	} else if err == nil && len(p) > 0 && s.empty >= maxEmpty {
		err = io.ErrNoProgress
	}
	if s.collect {
		s.seen = append(s.seen, p[:n]...)
	}
	return n, err
}

// readChunk is the maximum memory that is allocated for an announced size before any data
// arrives.
const readChunk = 64 << 10

// readExactly appends size bytes of r to dst. It allocates as data arrives, not by
// the announced size.
func readExactly(r io.Reader, dst []byte, size int, what string) ([]byte, error) {
	for size > 0 {
		step := min(size, max(readChunk, len(dst)))
		start := len(dst)
		dst = append(dst, make([]byte, step)...)
		n, err := io.ReadFull(r, dst[start:])
		if err != nil {
			return dst[:start+n], sourceError(err, what)
		}
		size -= step
	}
	return dst, nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bufio"
	"io"
)

// source reads a stream and knows the offset.
type source struct {
	r      *bufio.Reader
	offset int64
	// empty counts reads in a row that gave neither bytes nor an error.
	empty int
	// seen collects what is read, for a tracer.
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

// maxEmpty is how often a source may return nothing before it counts as failed:
// as often as bufio has it.
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

// readChunk is how much memory a size that was only announced is worth.
const readChunk = 64 << 10

// readExactly appends size bytes of r to dst. It allocates as data arrives,
// not as the announced size would have it.
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

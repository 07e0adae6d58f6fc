// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"encoding/binary"
	"io"

	stef "github.com/otelstef/stef/stef-go"
)

// source passes the bytes of a stream to its reader. Before the handler asks for
// admission, it calls await to wait for the first bytes of a frame. While Read waits for
// the client within a frame, the stream releases its admission.
type source struct {
	from io.Reader
	// pause is called before each read that may wait, and resume after the read.
	pause, resume func()

	delivered int64  // bytes that the reader has received
	pending   []byte // received and not yet delivered
	err       error  // error of from; returned after pending is delivered
	buffer    [512]byte
}

// await waits for bytes, and reports whether there are any. If there are none,
// Read returns the reason.
func (s *source) await() bool {
	for len(s.pending) == 0 && s.err == nil {
		var n int
		n, s.err = s.from.Read(s.buffer[:])
		s.pending = s.buffer[:n]
	}
	return len(s.pending) > 0
}

// frameSizes returns the uncompressed size that a frame states, and its minimum size on the wire.
// The pending bytes must be the start of the frame. If they do not contain a size, that size is 0.
//
// spec: #frame
func (s *source) frameSizes(compressed bool) (plain, coded int64) {
	if len(s.pending) < 2 {
		return 0, 0
	}
	size, n := binary.Uvarint(s.pending[1:])
	if n <= 0 || size > stef.MaxFrameBytes {
		return 0, 0
	}
	if !compressed {
		return int64(size), int64(size)
	}
	wire, m := binary.Uvarint(s.pending[1+n:])
	if m <= 0 || wire > stef.MaxFrameBytes {
		return int64(size), 0
	}
	return int64(size), int64(wire)
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if len(s.pending) > 0 {
		n := copy(p, s.pending)
		s.pending = s.pending[n:]
		s.delivered += int64(n)
		return n, nil
	}
	if s.err != nil {
		return 0, s.err
	}
	s.pause()
	n, err := s.from.Read(p)
	s.resume()
	s.delivered += int64(n)
	s.err = err
	return n, err
}

// end returns the error with which the stream ended. Call it after the context of the stream has
// ended.
func (s *source) end() error {
	for s.err == nil {
		_, s.err = s.from.Read(s.buffer[:])
	}
	return s.err
}

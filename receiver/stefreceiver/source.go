// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import "io"

// source is the bytes of a stream as its reader gets them. It lets the handler
// wait for the first bytes of a frame before it asks to be admitted, and makes
// it let go of what it was given whenever the client keeps it waiting.
type source struct {
	from io.Reader
	// pause is called before a read that may wait, and resume after it.
	pause, resume func()

	delivered int64  // bytes that the reader got
	pending   []byte // read and not yet delivered
	err       error  // of from, to come after pending
	buffer    [512]byte
}

// await waits until there is something to deliver, and says whether there is.
// If not, Read returns the reason.
func (s *source) await() bool {
	for len(s.pending) == 0 && s.err == nil {
		var n int
		n, s.err = s.from.Read(s.buffer[:])
		s.pending = s.buffer[:n]
	}
	return len(s.pending) > 0
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

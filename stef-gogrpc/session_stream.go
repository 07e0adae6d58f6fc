// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "math"

// sessionStream is what a session uses of a Stream.
type sessionStream interface {
	// adopt sets the function that is called with each response, in order and
	// never after Done is closed, and lifts the stream's own bounds of what is
	// unacknowledged. It is called before anything is written.
	adopt(onResponse func(Response))
	// sentAtMost returns the id of the last record that may have been sent.
	sentAtMost() uint64
	Unacked() (bytes int64, records uint64)
	CloseSend() error
	Close() error
	Done() <-chan struct{}
	Err() error
}

// sentAtMost is Sent, or all there may be where chunks were written whose
// records nobody counted.
func (s *Stream) sentAtMost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger.uncounted {
		return math.MaxUint64
	}
	return s.ledger.sent
}

// adopt makes the stream part of a session, which bounds what is unacknowledged
// by itself. f is called with each response besides the function of OnResponse.
func (s *Stream) adopt(f func(Response)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unbounded = true
	before := s.onResponse
	s.onResponse = func(r Response) {
		if before != nil {
			before(r)
		}
		f(r)
	}
}

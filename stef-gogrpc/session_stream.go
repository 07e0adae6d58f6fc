// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "math"

// sessionStream is what a session uses of a Stream.
type sessionStream interface {
	// observe sets what is called with each response, in order and never after
	// Done is closed. It is called before anything is written.
	observe(f func(Response))
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

// observe sets what is called with each response besides what OnResponse set.
func (s *Stream) observe(f func(Response)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.onResponse
	s.onResponse = func(r Response) {
		if before != nil {
			before(r)
		}
		f(r)
	}
}

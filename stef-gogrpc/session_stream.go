// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

// sessionStream is what a session uses of a Stream.
type sessionStream interface {
	// observe sets what is called with each response, in order and never after
	// Done is closed. It is called before anything is written.
	observe(f func(Response))
	Sent() uint64
	Unacked() (bytes int64, records uint64)
	CloseSend() error
	Close() error
	Done() <-chan struct{}
	Err() error
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

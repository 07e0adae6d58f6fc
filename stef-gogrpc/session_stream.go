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

// observed is a Stream.
type observed struct{ *Stream }

func (o observed) observe(f func(Response)) {}

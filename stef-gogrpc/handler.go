// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

// Handler takes the records of the streams of one root.
type Handler interface {
	// ServeSTEF is called for each stream, after the handshake, on a goroutine
	// of its own, and has the stream until it returns.
	//
	// A handler makes the reader of the root on the stream, with the stream's
	// ReaderOptions, and acknowledges what it accepted. The context of the
	// stream ends when the client is gone or the server has no more time; the
	// handler should return soon then.
	//
	// The stream ends when ServeSTEF returns. What was acknowledged and rejected
	// until then is sent first, whatever it returns. The status for the client is
	//
	//	nil                          OK
	//	an *Error, a gRPC status     that
	//	an error of the stream       the status of the stream
	//	stef.ErrLimit                RESOURCE_EXHAUSTED
	//	other errors of the format   INVALID_ARGUMENT
	//	an error of a context        CANCELLED, DEADLINE_EXCEEDED
	//	anything else                UNKNOWN
	//
	// also where one wraps another. So a handler that fails for the moment
	// returns UNAVAILABLE, and one that never can accept the records of the
	// stream INVALID_ARGUMENT. A panic ends the stream with INTERNAL, and this
	// stream only.
	ServeSTEF(s *ServerStream) error
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(s *ServerStream) error

// ServeSTEF calls f.
func (f HandlerFunc) ServeSTEF(s *ServerStream) error { return f(s) }

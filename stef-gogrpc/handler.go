// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

// Handler receives the records of the streams of one root.
type Handler interface {
	// ServeSTEF is called for each stream, after the handshake, on its own
	// goroutine. It may use the stream until it returns.
	//
	// A handler creates the reader of the root on the stream, with the stream's
	// ReaderOptions, and acknowledges the records it accepted. The context of the
	// stream ends when the client has disconnected or the time of a shutdown is
	// over. The handler should return soon after that.
	//
	// The stream ends when ServeSTEF returns. Before that, the server sends all
	// acknowledgements and rejections, also if ServeSTEF returns an error. If the client does not
	// read all of these, it gets UNAVAILABLE: after a permanent status, it could drop a batch that
	// the handler accepted. If it reads all of them, the status for the client is
	//
	//	nil                          OK
	//	an *Error, a gRPC status     that status
	//	an error of the stream       the status of the stream
	//	stef.ErrLimit                RESOURCE_EXHAUSTED
	//	other errors of the format   INVALID_ARGUMENT
	//	an error of a context        CANCELLED, DEADLINE_EXCEEDED
	//	anything else                UNAVAILABLE, with a delay of a second
	//
	// A wrapped error counts as the error inside.
	//
	// Clients send the data again after UNAVAILABLE. After INVALID_ARGUMENT and other permanent
	// codes, a Session drops the batch with the first record that is neither acknowledged nor
	// rejected, and sends the later batches again. Other clients may drop all unanswered records.
	// So a handler that stores several records at once must also store and acknowledge the records that
	// it has read before the reader returns an error.
	// To lose only bad records, reject them, and keep the limits of the reader above what clients
	// send (Limits.FrameBytes of package stef says how large frames can be).
	//
	// A handler whose database fails returns the error of the database. A handler that can never
	// accept the records of the stream returns an *Error of KindInvalid. A handler that relays
	// records must not return a status of its backend that concerns the relay, such as
	// UNIMPLEMENTED or UNAUTHENTICATED. It returns an *Error of KindUnavailable instead.
	//
	// If two streams in a row end with KindInvalid or KindRejected before a Session has sent a
	// record on them, Session.Send fails immediately with a permanent error, until a stream stays
	// open.
	//
	// Clients receive up to 1 KiB of the text of the error, and up to 1 KiB of the details of a
	// status: the largest details are omitted first. A panic, also of a method of the returned
	// error, ends the stream with INTERNAL, which is also a permanent code, and does not affect
	// other streams. A Session keeps the data that it has not sent and opens new streams, so a
	// handler that panics at its start is called repeatedly.
	ServeSTEF(s *ServerStream) error
}

// HandlerFunc adapts a function to a Handler.
type HandlerFunc func(s *ServerStream) error

// ServeSTEF calls f.
func (f HandlerFunc) ServeSTEF(s *ServerStream) error { return f(s) }

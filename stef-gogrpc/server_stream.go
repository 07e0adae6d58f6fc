// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// ServerStream is the handler's view of a stream: it reads the bytes of a STEF
// stream and acknowledges records. Only one goroutine may call Read; all other
// methods are safe for concurrent use. Use a ServerStream only until ServeSTEF
// returns.
//
// A record is finished when the server has accepted or rejected it. The client
// receives the id up to which all records are finished, and every rejected id.
//
// spec: #record-ids
type ServerStream struct {
	server *Server
	grpc   grpc.ServerStream
	ctx    context.Context
	cancel context.CancelCauseFunc
	root   *servedRoot

	inbound  chan inbound  // messages from receive to Read
	received chan struct{} // closed when receive has returned
	// receiveErr is the error with which receive returned. Use it only when received is closed.
	receiveErr error

	expired chan struct{} // closed at the end of the lifetime; nil: no limit
	idled   chan struct{} // closed when the client has sent nothing for too long
	halted  chan struct{} // closed by the method StopReading
	halt    sync.Once
	idle    sync.Once    // ensures that idled is closed only once
	parts   atomic.Int32 // number of goroutines that use the stream

	begun     bool         // the first message was received; used by the receiving goroutine
	held      atomic.Int64 // bytes of the unfinished chunk that were read
	idleSince atomic.Int64 // when the wait for the rest of a chunk, or for the budget, began, in ns since processStart; 0: no wait

	// Used by the handler's goroutine.
	current inbound
	within  bool // the current message does not end its chunk
	readErr error
	stopped stopReason

	responses responder
	sent      uint64 // the last id in a response; used by send
}

// finalResponses is the maximum time to send the last responses. Responses are small, so only a
// client that reads no responses needs so much time.
const finalResponses = 10 * time.Second

// lastMoment replaces finalResponses when the client has disconnected or the deadline of
// a shutdown has passed.
const lastMoment = cancelGrace / 4

// Context returns the context of the stream, with the peer, metadata, deadline and
// values that interceptors added. It ends when the client has disconnected, when
// the time of a shutdown is over, or when the handler has returned.
func (s *ServerStream) Context() context.Context { return s.ctx }

// Root returns the root struct of the records.
func (s *ServerStream) Root() *schema.Struct { return s.root.root }

// ReaderOptions returns the options that the reader of this stream must use. They
// enforce the announced dictionary limit, with slack: the reader allows up to twice
// the limit plus the maximum size of one record. The slack is needed, because a client detects
// the limit only after the record that reached it, and does not count the fields that it does not
// know. A later WithLimits that sets DictBytes replaces this limit.
//
// spec: #dict-limit
func (s *ServerStream) ReaderOptions() []stef.ReaderOption {
	return readerOptions(s.server.config.dictLimit)
}

func readerOptions(dictLimit int) []stef.ReaderOption {
	if dictLimit == 0 {
		return nil
	}
	return []stef.ReaderOption{stef.WithLimits(stef.Limits{
		DictBytes: 2*dictLimit + stef.DefaultLimits().RecordBytes,
	})}
}

// Read reads bytes of the STEF stream. It returns the available bytes without
// waiting for more. It returns io.EOF when the client has closed its side, or
// between two chunks when the server ends the stream. Any other error is an *Error
// and ends the stream. If the client has disconnected, the Kind of this error is
// KindCanceled.
func (s *ServerStream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if n := s.current.read(p); n > 0 {
			if len(s.current.message.Bytes) == 0 {
				s.consumed()
			}
			return n, nil
		}
		if s.readErr != nil {
			return 0, s.readErr
		}
		s.readErr = s.next()
	}
}

// StopReading makes Read return io.EOF when it would have to wait or to read
// another message, even within a chunk. Call it when another goroutine detects that
// the stream must end, for example a goroutine that processes earlier records. The reader may
// then report a truncated stream. If the handler returns this error, the stream ends with OK. The
// client sends unacknowledged records again.
func (s *ServerStream) StopReading() {
	s.halt.Do(func() { close(s.halted) })
}

func (s *ServerStream) next() error {
	if s.current.message.EndOfChunk { // the message had only the end-of-chunk flag, no bytes
		s.releaseChunk()
	}
	s.current.free(&s.server.budget)
	var stopping, expired, idled <-chan struct{}
	if !s.within {
		stopping, expired, idled = s.server.stopping, s.expired, s.idled
	}
	select { // check for the end of the stream before reading more
	case <-s.ctx.Done():
		return s.ctxError()
	case <-stopping:
		return s.stop(stopShutdown)
	case <-expired:
		return s.stop(stopLifetime)
	case <-idled:
		return s.stop(stopIdle)
	case <-s.halted:
		return s.stop(stopHalted)
	default:
	}
	select {
	case in := <-s.inbound:
		return s.setCurrent(in)
	default:
	}
	if !s.within {
		s.responses.waits(true)
		defer s.responses.waits(false)
	}
	select {
	case <-s.ctx.Done():
		return s.ctxError()
	case <-stopping:
		return s.stop(stopShutdown)
	case <-expired:
		return s.stop(stopLifetime)
	case <-idled:
		return s.stop(stopIdle)
	case <-s.halted:
		return s.stop(stopHalted)
	case in := <-s.inbound:
		return s.setCurrent(in)
	}
}

func (s *ServerStream) setCurrent(in inbound) error {
	if in.err != nil {
		return in.err
	}
	s.current = in
	if in.size > 0 || in.message.EndOfChunk {
		s.within = !in.message.EndOfChunk
	}
	return nil
}

// EndedByServer reports whether Read returned io.EOF because of the server: the stream
// reached its maximum lifetime, was idle for too long, or the server shuts down. Call it on
// the goroutine that calls Read, or after all goroutines of the handler have ended.
func (s *ServerStream) EndedByServer() bool {
	return s.stopped != stopNone && s.stopped != stopHalted
}

func (s *ServerStream) stop(reason stopReason) error {
	s.stopped = reason
	return io.EOF
}

// errKilled is the cause of contexts that Shutdown cancelled.
var errKilled = errors.New("stefgrpc: Shutdown cancelled the stream, because it did not end in time")

func (s *ServerStream) killed() bool { return context.Cause(s.ctx) == errKilled }

func (s *ServerStream) ctxError() error {
	if s.killed() {
		return FromStatus(errCutShort)
	}
	if e := s.limitOfGRPC(); e != nil {
		return e
	}
	return FromStatus(context.Cause(s.ctx))
}

// limitOfGRPC returns the error of a message that is too large for gRPC, or nil if no such
// message ended the stream. gRPC itself answers such a message, and ends the context before
// RecvMsg returns the error.
func (s *ServerStream) limitOfGRPC() *Error {
	if s.grpc.Context().Err() == nil {
		return nil // the context has not ended, so RecvMsg may wait
	}
	timeout := time.NewTimer(lastMoment)
	defer timeout.Stop()
	select {
	case <-s.received:
	case <-timeout.C:
		return nil
	}
	var e *Error
	if errors.As(s.receiveErr, &e) && e.Code == codes.ResourceExhausted {
		return e
	}
	return nil
}

// Decoded says that the handler has decoded the records up to and including id, and
// will finish them. While decoded records are unfinished, acknowledgements are merged
// for the interval of WithAckInterval. When all are finished and the client sends
// nothing, an acknowledgement is sent almost immediately. Handlers that process batches
// on other goroutines call Decoded before they pass a batch on. Other handlers do not call it.
func (s *ServerStream) Decoded(id uint64) { s.responses.decoded(id) }

// AckUpTo accepts all records up to and including id, except rejected records. A record
// with this id must have been read. The server only passes bytes to the handler's reader, so it
// cannot check the id. If the id is too high, the client ends the stream and sends its batches
// again or drops them, and the Stats of the server count records that do not exist. AckUpTo can
// wait, like Reject.
func (s *ServerStream) AckUpTo(id uint64) {
	s.responses.note(func(l *ledger.Receiver) { l.Ack(id) })
}

// Ack accepts the records with the ids from, …, to. Use it when earlier records are not finished
// yet. Like Reject, Ack can wait, and Ack panics if from is 0 or greater than to: record ids begin
// at 1.
func (s *ServerStream) Ack(from, to uint64) {
	checkRange("Ack", from, to)
	s.responses.note(func(l *ledger.Receiver) { l.Finish(IDRange{From: from, To: to}) })
}

// Reject reports the records with the ids from, …, to as bad: the server can never accept
// them, and the client must not send them again.
//
// The client receives a rejection together with the acknowledgement of all earlier records.
// Responses with many ranges are sent immediately, without the wait of WithAckInterval. If the
// client reads responses slowly and more than 16,384 ranges wait, calls of Reject, Ack and
// AckUpTo wait. So do not hold a lock that readers of the stream need. If none of these ranges
// can be sent for 10 seconds, the stream ends with UNAVAILABLE, and the context of the stream
// ends, too.
//
// Calls do not wait until the records before a range are finished, because the caller itself
// may have to finish them. A stream stores at most 1,048,576 ranges, in about 17 MiB. If there
// are more ranges, the stream ends with RESOURCE_EXHAUSTED and a retry delay, and further calls
// do nothing. So a handler that rejects many single records should also call AckUpTo within a
// frame, for example after every 1,000 records.
func (s *ServerStream) Reject(from, to uint64) {
	checkRange("Reject", from, to)
	s.responses.note(func(l *ledger.Receiver) { l.Reject(IDRange{From: from, To: to}) })
}

func checkRange(method string, from, to uint64) {
	if from == 0 {
		panic(fmt.Sprintf("stefgrpc: %s(%d, %d): records are counted from 1", method, from, to))
	}
	if from > to {
		panic(fmt.Sprintf("stefgrpc: %s(%d, %d): from is after to", method, from, to))
	}
}

// Acked returns the id up to which all records are finished.
func (s *ServerStream) Acked() uint64 { return s.responses.acked() }

// begin counts a goroutine that uses the stream.
func (s *ServerStream) begin() { s.parts.Add(1) }

// end undoes begin. When the last goroutine has called end, the stream ends.
func (s *ServerStream) end() {
	if s.parts.Add(-1) == 0 {
		s.server.gone(s)
	}
}

func (s *ServerStream) send(r Response) error {
	if err := s.grpc.SendMsg(wire.ServerMessage{Response: &r}.Proto()); err != nil {
		return err
	}
	s.server.acked.Add(r.Acked - s.sent)
	s.sent = r.Acked
	for _, bad := range r.Rejected {
		s.server.rejected.Add(bad.Len())
	}
	return nil
}

// handshake returns the root that the client requested. If the stream ends in the handshake, the
// root is nil, and the error is the status of the stream: nil if the stream ended gracefully.
//
// spec: #handshake
func (s *ServerStream) handshake() (*servedRoot, error) {
	err := s.next()
	switch {
	case s.stopped != stopNone:
		return nil, s.status(nil, true)
	case err == io.EOF:
		return nil, statusOf(invalid("the stream ends without a first message"))
	case err != nil:
		return nil, statusOf(err)
	}
	name := s.current.message.Root
	root := s.server.root(name)
	if root == nil {
		return nil, errUnknownRoot(name, s.server.rootNames())
	}
	capabilities := root.capabilities
	capabilities.WindowBytes = uint64(askedWindow(s.server.config.windows, s.server.count()))
	if err := s.grpc.SendMsg(wire.ServerMessage{Capabilities: &capabilities}.Proto()); err != nil {
		return nil, err
	}
	return root, nil
}

func (s *ServerStream) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.server.panics.Add(1)
			s.server.config.onPanic(s, v, debug.Stack()) // only this stack shows where the handler panicked
			err = errPanicked
		}
	}()
	err = returned(s.root.handler.ServeSTEF(s))
	_ = statusOf(err) // the methods of err may panic: here a panic ends only this stream
	return err
}

// finish sends the last responses, and reports whether this was possible. Nothing else may end
// the stream before finish returns: the last responses would be lost.
func (s *ServerStream) finish() (told bool) {
	ended := s.responses.close()
	timeout := time.NewTimer(finalResponses)
	defer timeout.Stop()
	select {
	case <-ended:
		return s.responses.told()
	case <-s.ctx.Done():
		timeout.Reset(lastMoment)
	case <-timeout.C:
		return s.responses.told()
	}
	// The deadline of a shutdown has passed, or the client has disconnected. A client
	// that still reads receives the acknowledgements anyway.
	select {
	case <-ended:
	case <-s.grpc.Context().Done():
	case <-timeout.C:
	}
	return s.responses.told()
}

// release returns the remaining bytes of the stream to the budget of the server, and ends receive.
func (s *ServerStream) release() {
	s.cancel(nil)
	s.current.free(&s.server.budget)
	s.releaseChunk()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// The second half of Stream: what it receives, and how it ends. One goroutine
// receives until gRPC says that the stream is over; it alone closes done.
// Whoever wants to end the stream notes the reason and cancels the call.

func (s *Stream) receive() {
	defer s.cancel()
	for {
		var m wire.Received
		if err := s.stream.RecvMsg(&m); err != nil {
			s.finish(err)
			return
		}
		if err := s.respond(&m); err != nil {
			s.end(FromStatus(err))
		}
	}
}

// respond takes a message of the server.
func (s *Stream) respond(m *wire.Received) error {
	if m.Damaged != nil {
		return errorf(KindProtocol, "what the server has sent: %w", m.Damaged)
	}
	if m.Message.Response == nil {
		return errorf(KindProtocol, "the server has sent something else than a response")
	}
	s.mu.Lock()
	if s.cause != nil {
		s.mu.Unlock()
		return nil
	}
	news, ok, err := s.ledger.Receive(*m.Message.Response)
	if ok {
		s.wakeWaiters()
		if s.hasRoom() {
			s.wakeWriters()
		}
	}
	tell, session := s.onResponse, s.adopted
	s.mu.Unlock()
	if ok && tell != nil {
		tell(news.Response)
	}
	if ok && session != nil {
		session(news)
	}
	if err != nil {
		return errorf(KindProtocol, "%w", err)
	}
	return nil
}

// finish notes that the stream is over. err is the end of it as gRPC tells it.
func (s *Stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = s.reason(err)
	close(s.done)
}

// reason returns what the stream ended with, in view of what this end did. It
// needs mu.
func (s *Stream) reason(err error) error {
	_, records, _ := s.ledger.Unacked()
	switch {
	case s.closed && records == 0 && !s.ledger.Uncounted():
		return nil
	case s.cause != nil:
		return s.where(s.cause, records)
	case !errors.Is(err, io.EOF):
		return s.where(FromStatus(err), records)
	case records > 0:
		return s.where(errorf(KindClosed, "the server ended the stream"), records)
	}
	return nil
}

// where adds to an error which stream it is about and what becomes of it.
func (s *Stream) where(e *Error, records uint64) *Error {
	to := ""
	if s.peer != nil && s.peer.Addr != nil {
		to = " to " + s.peer.Addr.String()
	}
	return e.at("stream of %s%s, records up to %d acknowledged, %d not", s.root.Name, to, s.ledger.Acked(), records)
}

// end ends the stream for a reason of this end. The first reason counts, and
// none if the stream is over already.
func (s *Stream) end(reason *Error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = reason
	}
	s.mu.Unlock()
	s.cancel()
}

// ended returns the error of what cannot be done because the stream is over.
func (s *Stream) ended() error {
	if s.err != nil {
		return s.err
	}
	return errorf(KindClosed, "the stream of %s has ended", s.root.Name)
}

// CloseSend says that nothing more will be written: the server will acknowledge
// what it has accepted and end the stream. A chunk that is being written goes
// out before; a write that waits for room fails. CloseSend waits for the former,
// at most until the stream ends.
func (s *Stream) CloseSend() error { return s.closeSend(context.Background()) }

func (s *Stream) closeSend(ctx context.Context) error {
	s.mu.Lock()
	s.halfClosed = true
	s.wakeWriters()
	s.mu.Unlock()
	err := s.acquire(ctx)
	if err == nil {
		defer s.release()
	}
	select {
	case <-s.done:
		return s.err // there is nothing left to close
	default:
	}
	if err != nil {
		return err
	}
	// gRPC keeps nothing to be closed twice.
	return s.stream.CloseSend()
}

// Drain is CloseSend, and waits until the stream has ended. It returns what Err
// returns then, so nil means that everything is acknowledged. If ctx ends before,
// the error wraps that of ctx and the stream lives on.
func (s *Stream) Drain(ctx context.Context) error {
	if err := s.closeSend(ctx); err != nil {
		return err
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("stefgrpc: waiting for the end of the stream of %s: %w", s.root.Name, ctx.Err())
	}
}

// Close ends the stream at once. Of what is not acknowledged, nobody knows
// whether it arrived. Close does not wait: Done is closed a moment later.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = errorf(KindCanceled, "closed by this end")
		s.closed = true
	}
	s.mu.Unlock()
	s.cancel()
	return nil
}

// Done is closed when the stream has ended and everything received before was
// told.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Err returns why the stream ended: nil if everything sent is acknowledged and
// the server ended the stream with OK or Close was called; else an *Error. It is
// nil before Done is closed.
func (s *Stream) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

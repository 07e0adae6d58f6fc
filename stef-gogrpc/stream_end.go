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

// This file contains the second half of Stream: receiving and ending. One goroutine receives
// until gRPC reports the end of the stream; only this goroutine closes done. To end the stream,
// other goroutines record the reason and cancel the call.

func (s *Stream) receive() {
	for {
		var m wire.Received
		if err := s.stream.RecvMsg(&m); err != nil {
			s.cancel() // ends a send that still waits for the network
			s.finish(err)
			return
		}
		if err := s.respond(&m); err != nil {
			s.end(FromStatus(err))
		}
	}
}

func (s *Stream) respond(m *wire.Received) error {
	if m.Damaged != nil {
		return errorf(KindProtocol, "invalid response from the server: %w", m.Damaged)
	}
	if m.Message.Response == nil {
		return errorf(KindProtocol, "the server sent a message that is not a response")
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

// finish records the end of the stream. err is the end as gRPC reports it.
func (s *Stream) finish(err error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = s.reason(err)
	s.byServer = s.err == nil && !s.closed && !s.halfClosed
	close(s.done)
}

// reason returns the error with which the stream ended: nil, the reason that the client recorded,
// or err. The caller must hold mu.
func (s *Stream) reason(err error) error {
	_, records, _ := s.ledger.Unacked()
	switch {
	case s.closed && records == 0 && !s.ledger.Uncounted():
		return nil
	case s.cause != nil:
		return s.describe(s.cause, records)
	case !errors.Is(err, io.EOF):
		return s.describe(FromStatus(err), records)
	case records > 0:
		return s.describe(errorf(KindClosed, "the server ended the stream"), records)
	}
	return nil
}

// describe adds context to an error: the root of the stream, the peer, and how many of the sent
// records are acknowledged. The error of a batch counts only the records of this batch, so its
// numbers can differ.
func (s *Stream) describe(e *Error, records uint64) *Error {
	to := ""
	if s.peer != nil && s.peer.Addr != nil {
		to = " to " + s.peer.Addr.String()
	}
	progress := fmt.Sprintf("records up to %d acknowledged, %d more sent, not acknowledged", s.ledger.Acked(), records)
	switch acked := s.ledger.Acked(); {
	case s.ledger.Uncounted(): // the number of sent records is unknown
		progress = fmt.Sprintf("records up to %d acknowledged", acked)
	case records == 0 && acked == 0:
		progress = "no records sent"
	case records == 0:
		progress = "all " + count(acked, "sent record") + " acknowledged"
	case acked == 0:
		progress = "none of " + count(records, "sent record") + " acknowledged"
	}
	return e.at("stream of %s%s, %s", s.root.Name, to, progress)
}

// end ends the stream locally, with a reason. Only the reason of the first call is kept.
// If the stream has already ended, end has no effect.
func (s *Stream) end(reason *Error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = reason
	}
	s.mu.Unlock()
	s.cancel()
}

func (s *Stream) ended() error {
	if s.err != nil {
		return s.err
	}
	if s.byServer {
		return errorf(KindClosed, "the server ended the stream of %s gracefully, perhaps because it was idle: open another stream or use a Session", s.root.Name)
	}
	return errorf(KindClosed, "the stream of %s has ended", s.root.Name)
}

// CloseSend closes the sending side: the server will acknowledge the accepted records
// and end the stream. If a chunk is being written, CloseSend waits until this chunk is
// sent or the stream ends. A write that waits for room fails.
func (s *Stream) CloseSend() error { return s.closeSend(context.Background()) }

func (s *Stream) closeSend(ctx context.Context) error {
	s.mu.Lock()
	s.halfClosed = true
	s.wakeWriters()
	s.mu.Unlock()
	var err error
	select {
	case s.sending <- struct{}{}: // try this first, so that it can succeed even if ctx has ended
	default:
		err = s.acquire(ctx)
	}
	if err == nil {
		defer s.release()
	}
	select {
	case <-s.done:
		return s.err // the stream has already ended
	default:
	}
	if err != nil {
		return err
	}
	// In gRPC, a second CloseSend has no effect.
	return s.stream.CloseSend()
}

// Drain calls CloseSend and waits until the stream has ended. It returns the result of
// Err, so nil means that all sent records are acknowledged. Create a writer first, even if
// there are no records: the reader of the server refuses a stream without a header, as KindInvalid.
// Call Flush or Close of the writer before Drain: data that the writer has not sent is lost. If ctx
// ends first, the error wraps the error of ctx and the stream stays open.
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

// Close ends the stream immediately. It is unknown whether unacknowledged data
// arrived. Close does not wait: Done is closed shortly after.
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

// Done is closed when the stream has ended and all received responses were
// reported.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Err returns why the stream ended. It returns nil if all sent records are acknowledged
// and either the server ended the stream with OK or Close was called. If not, it returns
// an *Error. It returns nil before Done is closed.
func (s *Stream) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

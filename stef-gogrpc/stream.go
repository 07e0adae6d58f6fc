// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// maxChunks bounds the number of unacknowledged chunks: the ledger entry of a tiny chunk needs more
// memory than the bytes that WithMaxUnackedBytes counts.
const maxChunks = 1 << 16

// Stream is one stream of records to a server. It is the destination of a STEF
// writer:
//
//	w, err := otelstef.NewMetricsWriter(s, s.WriterOptions()...)
//
// Records are identified by their ids: the n-th record of the stream has the id n.
//
// One goroutine at a time may write; all other methods are safe for concurrent
// use. A Stream must be ended by Close, or by the server after CloseSend or Drain;
// its goroutine runs until then.
type Stream struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	root   *schema.Struct
	agreed agreement
	config *clientConfig
	peer   *peer.Peer

	onResponse func(Response)
	adopted    func(ledger.News) // callback of the session that owns the stream, or nil

	// sending is a semaphore: gRPC allows one sender at a time. Its holder may use message.
	sending chan struct{}
	message stefpb.STEFClientMessage
	// busy is locked while gRPC sends a chunk. The receiving goroutine locks it before it ends the
	// stream. So if no part of a chunk was sent, send has already removed the chunk from the ledger
	// when the stream ends.
	busy sync.Mutex

	mu         sync.Mutex
	ledger     ledger.Sender
	waiters    []*ackWaiter  // in order of their ids
	room       chan struct{} // created by a goroutine that waits for room; closed when there is room
	halfClosed bool
	cause      *Error // why the client ended the stream; nil if it did not
	closed     bool   // Close was called
	byServer   bool   // the server ended the stream without an error, and the client did not ask for it

	done chan struct{} // closed after err is final
	err  error
}

type ackWaiter struct {
	id    uint64
	acked chan struct{}
}

var _ stef.RecordWriter = (*Stream)(nil)

func newStream(stream grpc.ClientStream, root *schema.Struct, agreed agreement, config *clientConfig) *Stream {
	return &Stream{
		stream:  stream,
		root:    root,
		agreed:  agreed,
		config:  config,
		sending: make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
}

func (s *Stream) start(cancel context.CancelFunc, config openConfig) {
	s.cancel = cancel
	s.onResponse = config.onResponse
	go s.receive()
}

// WriterOptions returns the options that the writer of this stream must use. They set the agreed
// schema and the dictionary limit of the server. Further options, such as compression, can be
// appended. An appended option may select a schema with fewer fields. If it selects fields that
// are not in Schema, creating the writer fails with an *Error of KindIncompatible that wraps
// stef.ErrSchema. If the server has an older schema, creating a writer without these options also
// fails with this error.
func (s *Stream) WriterOptions() []stef.WriterOption { return s.agreed.writerOptions() }

// CheckSchema returns an error if a schema has fields that Schema does not have: a writer
// of this stream must not use such a schema. Writers call CheckSchema when they are created.
func (s *Stream) CheckSchema(wire schema.WireSchema) error { return s.agreed.check(wire) }

// Schema returns the schema that is written. The server has this schema or a newer
// schema.
func (s *Stream) Schema() schema.WireSchema { return slices.Clone(s.agreed.wire) }

// Compat reports whether the server's schema is the client's schema (Exact), Newer or
// Older. If it is Older, Schema returns the server's schema, and some fields are omitted.
func (s *Stream) Compat() schema.Compat { return s.agreed.compat }

// Root returns the root of the records.
func (s *Stream) Root() *schema.Struct { return s.root }

// Peer returns the other end as gRPC reports it, or nil if gRPC does not report it.
func (s *Stream) Peer() *peer.Peer { return s.peer }

// Write sends a chunk of records with unknown ids. Writers that do not use
// stef.RecordWriter call it. Sent, Unacked and the bounds of WithMaxUnackedBytes
// do not count such records, and an acknowledgement of any id is accepted.
func (s *Stream) Write(chunk []byte) (int, error) {
	return s.write(context.Background(), chunk, func(l *ledger.Sender) error {
		l.SendUncounted()
		return nil
	})
}

// WriteRecords sends a chunk. last is the id of the last record in the chunk, or 0
// for the headers of a stream. WriteRecords waits while the bounds of WithMaxUnackedBytes are
// reached, and while gRPC's flow control blocks it. The wait ends when the stream ends or when
// Close is called. CloseSend ends the wait only before the chunk is started.
//
// After an error the stream cannot be used any more. WriteRecords then returns the
// error of Err, if Err is not nil.
func (s *Stream) WriteRecords(chunk []byte, last uint64) (int, error) {
	return s.WriteContext(context.Background(), chunk, last)
}

// WriteContext is like WriteRecords, but ctx bounds the wait. If ctx ends
// before the chunk is started, nothing is sent, the error wraps the error of ctx, and
// the stream remains usable. A STEF writer is not usable after such an error; call
// AwaitRoom first to avoid the error. If ctx ends later, a part of the chunk may be
// sent, and the stream ends.
func (s *Stream) WriteContext(ctx context.Context, chunk []byte, last uint64) (int, error) {
	return s.write(ctx, chunk, func(l *ledger.Sender) error { return l.Send(last, len(chunk)) })
}

func (s *Stream) write(ctx context.Context, chunk []byte, count func(*ledger.Sender) error) (int, error) {
	if len(chunk) == 0 {
		return 0, nil
	}
	if err := s.AwaitRoom(ctx); err != nil {
		return 0, err
	}
	if err := s.acquire(ctx); err != nil {
		return 0, err
	}
	defer s.release()

	s.mu.Lock()
	err, before := s.writable(), s.ledger.Sent()
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("stefgrpc: chunk not sent: %w", ctx.Err())
	}
	if err == nil {
		// Count the chunk before its first byte is sent, because the answer may arrive at any time.
		err = count(&s.ledger)
	}
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	sent := s.watch(ctx)
	n, err := s.send(chunk, before)
	switch given := sent(); {
	case err == nil && !given:
		return n, nil
	case err != nil && !errors.Is(err, io.EOF):
		// This is a local error, for example a message over the caller's own limit. If the error is
		// io.EOF, RecvMsg returns why the stream ended.
		s.end(FromStatus(err))
	}
	<-s.done
	return n, s.ended()
}

// send sends a chunk that was counted in the ledger. before is the id of the last record of the earlier
// chunks. If the server has ended the stream before gRPC takes the first message of the chunk, send
// removes the chunk from the ledger: the server has read no part of it, so the chunk cannot be the
// cause of the end.
func (s *Stream) send(chunk []byte, before uint64) (n int, err error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	n, err = split(chunk, s.config.maxMessageBytes, &s.message, s.stream.SendMsg)
	if n == 0 && errors.Is(err, io.EOF) {
		s.mu.Lock()
		if s.cause == nil {
			s.ledger.Unsend(before, len(chunk))
		}
		s.mu.Unlock()
	}
	return n, err
}

// watch ends the stream if ctx ends before the returned function is called. The returned function
// reports whether watch has ended the stream.
func (s *Stream) watch(ctx context.Context) (sent func() (given bool)) {
	if ctx.Done() == nil {
		return func() bool { return false }
	}
	var sending atomic.Bool
	sending.Store(true)
	stop := context.AfterFunc(ctx, func() {
		if sending.CompareAndSwap(true, false) {
			s.end(errorf(KindCanceled, "a write was cancelled inside a chunk: %w", ctx.Err()))
		}
	})
	return func() bool {
		stop()
		return !sending.CompareAndSwap(true, false)
	}
}

// acquire waits for the exclusive right to send.
func (s *Stream) acquire(ctx context.Context) error {
	select {
	case s.sending <- struct{}{}:
		return nil
	case <-s.done:
		return s.ended()
	case <-ctx.Done():
		return fmt.Errorf("stefgrpc: waiting for the previous chunk: %w", ctx.Err())
	}
}

func (s *Stream) release() { <-s.sending }

// writable returns why the stream accepts no writes, or nil if it accepts writes. The caller must
// hold mu.
func (s *Stream) writable() error {
	select {
	case <-s.done:
		return s.ended()
	default:
	}
	switch {
	case s.cause != nil:
		return s.cause
	case s.halfClosed:
		return errorf(KindClosed, "write after CloseSend")
	}
	return nil
}

// AwaitRoom waits until the bounds of WithMaxUnackedBytes allow a chunk to be
// written. After that, the next chunk of a STEF writer does not wait for
// acknowledgements.
func (s *Stream) AwaitRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		err := s.writable()
		if err != nil || s.hasRoom() {
			s.mu.Unlock()
			return err
		}
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-s.done:
			return s.ended()
		case <-ctx.Done():
			return fmt.Errorf("stefgrpc: waiting for acknowledgements before writing more: %w", ctx.Err())
		}
	}
}

// hasRoom reports whether the bounds on unacknowledged data allow another chunk. The
// caller must hold mu.
func (s *Stream) hasRoom() bool {
	bytes, records, chunks := s.ledger.Unacked()
	if s.adopted != nil { // the session of the stream bounds the unacknowledged data
		return chunks < maxChunks
	}
	return bytes < s.config.maxUnackedBytes && chunks < maxChunks &&
		(s.config.maxUnacked == 0 || records < s.config.maxUnacked)
}

// wakeWriters makes the goroutines in AwaitRoom check again. The caller must hold
// mu.
func (s *Stream) wakeWriters() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// Acked returns the id up to which all records are acknowledged: accepted by the
// server, or reported as bad.
func (s *Stream) Acked() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Acked()
}

// Sent returns the id of the last record that was sent, or is being sent.
func (s *Stream) Sent() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Sent()
}

// Unacked returns how many bytes and records were sent and are not acknowledged.
// bytes includes every chunk with at least one unacknowledged record.
func (s *Stream) Unacked() (bytes int64, records uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, records, _ = s.ledger.Unacked()
	return bytes, records
}

// Rejected returns the ids that the server reported as bad, in ascending order. These
// records must not be sent again. The ids include ids that the server acknowledged first and
// reported as bad later. If there are more than 65,536 ranges, the first ranges are dropped;
// WithOnResponse receives all ranges.
func (s *Stream) Rejected() []IDRange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ledger.Rejected())
}

// AwaitAck waits until a record is acknowledged: accepted or reported as bad. Use Rejected to
// distinguish these cases. The record need not be sent yet. If the stream ends first, AwaitAck
// returns the error of Err or, if the stream ended gracefully, an error of KindClosed. If ctx ends,
// the error wraps the error of ctx.
func (s *Stream) AwaitAck(ctx context.Context, id uint64) error {
	s.mu.Lock()
	if id <= s.ledger.Acked() {
		s.mu.Unlock()
		return nil
	}
	w := &ackWaiter{id, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(s.waiters, id, compareWaiter)
	s.waiters = slices.Insert(s.waiters, at, w)
	s.mu.Unlock()
	select {
	case <-w.acked:
		return nil
	case <-s.done:
		s.removeWaiter(w)
		if id <= s.Acked() {
			return nil
		}
		return s.ended()
	case <-ctx.Done():
		s.removeWaiter(w)
		return fmt.Errorf("stefgrpc: waiting for the acknowledgement of record %d: %w", id, ctx.Err())
	}
}

// AwaitAll waits until all records that were sent before the call are acknowledged. Call
// Flush of the writer first: Flush sends the written records, and AwaitAll does not wait
// for records that are not sent.
func (s *Stream) AwaitAll(ctx context.Context) error { return s.AwaitAck(ctx, s.Sent()) }

func compareWaiter(w *ackWaiter, id uint64) int {
	if w.id < id {
		return -1
	}
	return 1
}

func (s *Stream) removeWaiter(w *ackWaiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.waiters, w.id, compareWaiter)
	if i := slices.Index(s.waiters[at:], w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, at+i, at+i+1)
	}
}

// wakeWaiters wakes the goroutines that wait for an acknowledged id. The caller
// must hold mu.
func (s *Stream) wakeWaiters() {
	n := 0
	for n < len(s.waiters) && s.waiters[n].id <= s.ledger.Acked() {
		close(s.waiters[n].acked)
		n++
	}
	s.waiters = slices.Delete(s.waiters, 0, n)
}

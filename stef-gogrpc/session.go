// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// BatchWriter encodes batches into one stream. A session uses a BatchWriter from one
// goroutine at a time.
//
// If a BatchWriter is also an io.Closer, the session calls Close when it does not need
// the writer any more, and ignores the result. Close releases memory, so that the next
// stream can reuse it. Data that the writer writes in Close is not sent.
type BatchWriter[B any] interface {
	// WriteBatch encodes a batch and returns the id of its last record, which is
	// Stats().Records of a generated writer: ids count over the whole stream. If the batch has
	// no records, WriteBatch returns the id of the last record of earlier batches.
	//
	// Leave out a record if Write of a generated writer returns an error that wraps
	// stef.ErrLimit: the writer has not written this record and continues. Then return the id of
	// the last record and an error for the omitted items. The error is from LeftOut, of type
	// stefpdata.ItemErrors, or has a method Items() int that returns the number of omitted items.
	// Do not wrap it. Send waits for the other items as usual. If there are no other items, Send
	// returns a *BatchError immediately.
	//
	// A *BatchError is permanent for the batch and leaves the stream usable; last then includes
	// the records of the batch that were written, but Send does not wait for them. Any other
	// error ends the stream: Send returns an *UnsentError with a Cause of KindUnknown, which
	// is not retryable.
	WriteBatch(batch B) (last uint64, err error)
	// Flush ends the frame, so that all written records are sent.
	Flush() error
	// BufferedBytes returns the number of bytes that wait for Flush. The number is exact, as in
	// the generated writers, or an estimate. The session uses it to flush at FlushBytes, and to
	// compute the encoded size of a batch, which counts toward MaxUnackedBytes.
	BufferedBytes() int
}

// NewBatchWriter creates the writer of one stream. Each stream needs its own writer, because
// the dictionaries and the state of the codecs belong to the stream. The record of a new writer
// is empty. Set the fields that are equal in all batches here, and all other fields in WriteBatch,
// because any batch can be sent on any stream. If the result is neither a writer nor an error,
// Send fails immediately.
type NewBatchWriter[B any] func(stream *Stream) (BatchWriter[B], error)

// Session manages the streams of a sender: it keeps a number of streams open, replaces
// old and lost streams, distributes batches over them, and reports the result of each
// batch once. All methods are safe for concurrent use; hundreds of goroutines may wait
// in Send.
//
// # Guarantees
//
// A batch ends in exactly one way: acknowledged, rejected, or returned to its caller.
// Delivery is at least once. Only the caller sends a batch again, with one exception:
// if a stream was replaced, or its server ended it gracefully, the session sends the unanswered
// batches of this stream again. It sends one batch again at most as often as it has streams,
// because a server that shuts down may end all streams. Such a batch arrives twice if the server
// had accepted it without an acknowledgement. The session never sends a batch again if some of its
// records were acknowledged or reported as bad.
//
// # Memory
//
// Per stream, a session keeps the unanswered batches, at most MaxUnackedBatches, and
// one batch that waits to be encoded. The stream holds their encoded form, bounded by
// SessionConfig.MaxUnackedBytes, and the writer holds the current frame, bounded by its
// frame size. Everything else is a few machine words per active call of Send. The session releases
// a batch when its Send returns.
type Session[B any] struct {
	config    SessionConfig
	open      func(ctx context.Context) (sessionStream, error)
	newWriter func(sessionStream) (BatchWriter[B], error)
	slots     []*slot[B]
	jobs      sync.Pool       // of *job[B]
	opening   context.Context // ends when no more streams are to be opened
	stop      context.CancelFunc
	group     sync.WaitGroup // counts all goroutines
	finished  chan struct{}  // closed when all goroutines have returned

	lastErr  atomic.Pointer[Error]
	unopened atomic.Pointer[openFailure] // why no stream is open; nil if a stream is open or no reason is known

	mu      sync.Mutex
	machine *session.Machine
}

// NewSession starts a session. The session calls the function open immediately for
// each of its streams, and again when a stream ends. Several goroutines may call open at
// the same time. open must return when its context ends. The usual open is
//
//	func(ctx context.Context) (*Stream, error) { return client.Open(ctx, root) }
//
// If one connection is not enough, open can alternate between several clients. The
// caller must call Shutdown to end the session.
func NewSession[B any](open func(ctx context.Context) (*Stream, error), newWriter NewBatchWriter[B], config SessionConfig) (*Session[B], error) {
	switch {
	case open == nil:
		return nil, errors.New("stefgrpc: NewSession: the function that opens streams is nil")
	case newWriter == nil:
		return nil, errors.New("stefgrpc: NewSession: the function that creates batch writers is nil")
	}
	return startSession(
		func(ctx context.Context) (sessionStream, error) {
			stream, err := open(ctx)
			switch err = returned(err); {
			case err != nil:
				return nil, err
			case stream == nil:
				return nil, usageError("the function that opens streams returned neither a stream nor an error")
			}
			return stream, nil
		},
		func(stream sessionStream) (BatchWriter[B], error) {
			w, err := newWriter(stream.(*Stream))
			if err = returned(err); w == nil && err == nil {
				err = usageError("the function that creates batch writers returned neither a writer nor an error")
			}
			return w, err
		},
		config)
}

func startSession[B any](
	open func(ctx context.Context) (sessionStream, error),
	newWriter func(sessionStream) (BatchWriter[B], error),
	config SessionConfig,
) (*Session[B], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Session[B]{config: config.withDefaults(), open: open, newWriter: newWriter, finished: make(chan struct{})}
	s.opening, s.stop = context.WithCancel(context.Background())
	s.jobs.New = func() any { return newJob[B]() }
	c := &s.config
	s.machine = session.New(session.Config{
		Streams:           c.Streams,
		Senders:           c.Senders,
		MaxUnackedBatches: c.MaxUnackedBatches,
		MaxUnackedBytes:   c.MaxUnackedBytes,
		FlushInterval:     c.FlushInterval,
		FlushBytes:        c.FlushBytes,
		EarlyFrames:       c.EarlyFrames,
		AckTimeout:        c.AckTimeout,
		DrainTimeout:      c.DrainTimeout,
		IdleTimeout:       c.IdleTimeout,
	})
	for i := range s.config.Streams {
		s.slots = append(s.slots, newSlot(s, i))
	}
	s.group.Add(len(s.slots))
	for _, o := range s.slots {
		go o.run()
	}
	go func() {
		s.group.Wait()
		close(s.finished)
	}()
	return s, nil
}

// Send sends a batch and waits for its result. It returns nil if the destination
// has acknowledged the whole batch. If not, the error is
//
//   - *RejectedError: all records were accepted, except permanently bad records;
//   - *BatchError: the batch can never be encoded; if Delivered is set, only the items
//     that Err names were omitted, and all other items were delivered. Delivered is not set
//     if WriteBatch left out all items;
//   - *UnsentError: the batch is returned to the caller, with the reason.
//
// Without a live stream, or while all streams are at their bounds, Send waits until ctx ends. It
// fails immediately while the destination refuses streams for one of these reasons: it does not
// implement STEF; no schema suits both ends; the credentials are bad; the headers are too large; or
// two streams in a row ended with KindInvalid or KindRejected before records were sent on them.
// Send also fails immediately while no stream can be opened because of a mistake in the program,
// such as a nil root.
//
// The session uses the batch until Send returns. One goroutine at a time reads the batch. If the
// session sends the batch again, it also reads the batch again. If ctx ends during encoding, Send
// waits for the end of the encoding: AckTimeout at most, if the destination has stopped reading
// data.
func (s *Session[B]) Send(ctx context.Context, batch B) error {
	j := s.jobs.Get().(*job[B])
	j.batch, j.ctx = batch, ctx
	var out session.Decisions
	s.mu.Lock()
	now := time.Now()
	s.machine.Submit(&j.Batch, ctx.Err() != nil, now, &out)
	s.mu.Unlock()
	s.carryOut(&out)

	select {
	case err := <-j.result:
		j.reset()
		s.jobs.Put(j)
		return err
	case <-ctx.Done():
	}
	var more session.Decisions
	s.mu.Lock()
	s.machine.GiveUp(&j.Batch, time.Now(), &more)
	s.mu.Unlock()
	s.carryOut(&more)
	return <-j.result
}

// Probe makes the session immediately retry to open streams that wait for a retry.
// Call it when the destination probably accepts streams again.
func (s *Session[B]) Probe() {
	for _, o := range s.slots {
		signal(o.probe)
	}
}

// Stats returns the counts at this moment.
func (s *Session[B]) Stats() SessionStats {
	s.mu.Lock()
	st := s.machine.Status()
	s.mu.Unlock()
	stats := SessionStats{
		Live:           st.Live,
		Draining:       st.Draining,
		Waiting:        st.Waiting,
		UnackedBatches: st.UnackedBatches,
		UnackedBytes:   st.UnackedBytes,
		LastError:      s.lastErr.Load(),

		Opened:       st.Opened,
		Closed:       CloseCounts(st.Closed),
		Acknowledged: st.Acknowledged,
		Rejected:     st.Rejected,
		BatchErrors:  st.Unencodable,
		HandedBack:   st.HandedBack,
		Redispatched: st.Redispatched,

		RejectedRecords:     st.RejectedRecords,
		LateRejectedRecords: st.LateRecords,
	}
	if st.Refused != nil {
		stats.Refused = FromStatus(st.Refused.Err)
	}
	if !st.Closing {
		for _, o := range s.slots {
			if o.sleeping.Load() {
				stats.Idle++
			}
		}
		stats.Connecting = max(0, s.config.Streams-st.Live-stats.Idle)
	}
	return stats
}

// closeGrace is the part of the time of Shutdown that is reserved for closing
// streams. Shutdown waits for this time even if its context has already ended.
const closeGrace = 100 * time.Millisecond

// Shutdown ends the session. Send accepts no more batches. If a stream is live,
// Shutdown sends the accepted batches and waits for their acknowledgements until ctx
// ends, or for DrainTimeout if ctx has no deadline. Then it returns the remaining batches
// to their callers and closes all streams. Shutdown returns an error if batches were returned,
// or if a writer has not returned in time. Shutdown may be called more than once; the earliest
// deadline of all calls applies.
func (s *Session[B]) Shutdown(ctx context.Context) error {
	before := s.beginShutdown()
	patience := s.config.DrainTimeout
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline)
		patience -= min(closeGrace, patience/10)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.finished:
	case <-timer.C:
		s.force()
	case <-ctx.Done():
		s.force()
	}
	grace := closeGrace
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) > 0 {
		grace = min(grace, time.Until(deadline))
	}
	timer.Reset(grace)
	select {
	case <-s.finished:
	case <-timer.C:
		return fmt.Errorf("stefgrpc: session: a writer or a stream did not return in time: %w", context.DeadlineExceeded)
	}
	if n := s.Stats().HandedBack - before; n > 0 {
		return fmt.Errorf("stefgrpc: session: shutdown handed back %d batches that were not acknowledged", n)
	}
	return nil
}

// beginShutdown makes the session accept no more batches. It returns how many batches had been
// handed back before.
func (s *Session[B]) beginShutdown() uint64 {
	s.stop()
	var out session.Decisions
	s.mu.Lock()
	before := s.machine.Status().HandedBack
	s.machine.Shutdown(time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return before
}

func (s *Session[B]) force() {
	var out session.Decisions
	s.mu.Lock()
	streams := s.machine.Force(time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	for _, stream := range streams {
		_ = stream.Owner.(*sender[B]).stream.Close() // watch handles the result
	}
}

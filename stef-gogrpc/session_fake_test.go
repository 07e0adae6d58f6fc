// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// load is a batch of the tests. Its fields say how many records it has, and what the writer does
// when it encodes them.
type load struct {
	id      int
	index   uint64 // index of its first record, for the rest of a split batch
	records uint64
	bytes   int
	err     error
	written uint64 // records written before the error
	last    uint64 // the id that WriteBatch returns, if not 0
	slow    time.Duration
	cut     bool // a frame ends within the batch
}

// frame is the content of one write to a fake stream.
type frame struct {
	last    uint64
	bytes   int64
	batches []load
}

// fakeStream is a stream whose peer is controlled by the test.
type fakeStream struct {
	number int
	writer *fakeWriter

	mu        sync.Mutex
	observer  func(ledger.News)
	ledger    ledger.Sender
	frames    []frame // all frames that were sent
	sent      uint64
	acked     uint64
	unacked   int64
	closeSent bool
	closed    bool // Close was called
	ended     bool
	err       error
	blocked   chan struct{} // writes block until this channel is closed
	deaf      bool          // the stream does not end after CloseSend
	done      chan struct{}

	onFrame func(frame)
}

func newFakeStream(number int) *fakeStream {
	return &fakeStream{number: number, done: make(chan struct{})}
}

func (s *fakeStream) adopt(f func(ledger.News)) {
	s.observer = f
	s.ledger.Hold()
}

func (s *fakeStream) answers() session.Answers { return s }

func (s *fakeStream) AnsweredUpTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.AnsweredUpTo()
}

func (s *fakeStream) Answer(first, last uint64) ledger.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Answer(first, last)
}

func (s *fakeStream) Settle(first, last uint64) ledger.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Settle(first, last)
}

func (s *fakeStream) Sent() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func (s *fakeStream) sentAtMost() uint64 { return s.Sent() }

func (s *fakeStream) tooLarge(error) IDRange { return IDRange{} }

func (s *fakeStream) Unacked() (int64, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unacked, s.sent - s.acked
}

func (s *fakeStream) Done() <-chan struct{} { return s.done }

func (s *fakeStream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *fakeStream) CloseSend() error {
	s.mu.Lock()
	s.closeSent = true
	s.mu.Unlock()
	s.settled()
	return nil
}

func (s *fakeStream) Close() error {
	s.mu.Lock()
	s.closed = true
	owes := s.acked < s.sent
	s.mu.Unlock()
	if owes {
		s.end(errorf(KindCanceled, "closed"))
	} else {
		s.end(nil)
	}
	return nil
}

func (s *fakeStream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.err = true, err
		close(s.done)
	}
}

// settled ends the stream if the session has half-closed it and all its records are acknowledged, like
// a real server.
func (s *fakeStream) settled() {
	s.mu.Lock()
	over := s.closeSent && !s.deaf && s.acked >= s.sent
	s.mu.Unlock()
	if over {
		s.end(nil)
	}
}

// respond sends a response of the server. It reports whether the stream was still
// open.
func (s *fakeStream) respond(acked uint64, rejected ...IDRange) bool {
	s.mu.Lock()
	ended := s.ended
	if acked > s.acked {
		s.acked = acked
		s.unacked = 0
		for _, f := range s.frames {
			if f.last > acked {
				s.unacked += f.bytes
			}
		}
	}
	if ended {
		s.mu.Unlock()
		return false
	}
	news, ok, err := s.ledger.Receive(Response{Acked: acked, Rejected: rejected})
	s.mu.Unlock()
	if err != nil {
		panic(err)
	}
	if ok {
		s.observer(news)
	}
	s.settled()
	return true
}

func (s *fakeStream) ackAll() bool { return s.respond(s.Sent()) }

// block makes writes block until unblock is called or the stream ends.
func (s *fakeStream) block() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = make(chan struct{})
}

func (s *fakeStream) unblock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.blocked)
	s.blocked = nil
}

// deafen makes the server ignore CloseSend: the stream stays open.
func (s *fakeStream) deafen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = true
}

func (s *fakeStream) tell(f func(frame)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onFrame = f
}

func (s *fakeStream) halfClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeSent
}

func (s *fakeStream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *fakeStream) frameList() []frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

func (s *fakeStream) send(f frame) error {
	s.mu.Lock()
	blocked := s.blocked
	s.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-s.done:
		}
	}
	s.mu.Lock()
	switch {
	case s.ended:
		s.mu.Unlock()
		return errorf(KindClosed, "the stream has ended")
	case s.closeSent:
		s.mu.Unlock()
		panic("a frame after CloseSend")
	}
	s.frames = append(s.frames, f)
	s.sent = max(s.sent, f.last)
	if err := s.ledger.Send(s.sent, int(f.bytes)); err != nil {
		panic(err)
	}
	s.unacked += f.bytes
	tell := s.onFrame
	s.mu.Unlock()
	if tell != nil {
		tell(f)
	}
	return nil
}

type fakeWriter struct {
	stream  *fakeStream
	last    uint64
	next    frame
	using   sync.Mutex // held while a method runs, to check that only the owner calls methods
	flushed error
	fails   error // error that WriteBatch returns after the first frame of a split batch
	closed  bool
}

func (w *fakeWriter) enter() {
	if !w.using.TryLock() {
		panic("a batch writer used by two goroutines")
	}
	if w.closed {
		panic("a batch writer used after Close")
	}
}

func (w *fakeWriter) Close() error {
	w.enter()
	defer w.using.Unlock()
	w.closed = true
	return errors.New("Close failed, which nobody reports")
}

func (w *fakeWriter) WriteBatch(b load) (uint64, error) {
	w.enter()
	defer w.using.Unlock()
	time.Sleep(b.slow)
	if b.err != nil {
		w.add(load{id: b.id, records: b.written, bytes: int(b.written)})
		return w.last, b.err
	}
	if b.cut {
		if err := w.flush(); err != nil {
			return w.last, err
		}
		w.add(load{id: b.id, records: 1, bytes: 1})
		if err := w.flush(); err != nil {
			return w.last, err
		}
		if w.fails != nil {
			return 0, w.fails
		}
		b.index++
		b.records--
	}
	w.add(b)
	if b.last != 0 {
		return b.last, nil
	}
	return w.last, nil
}

func (w *fakeWriter) add(b load) {
	if b.records > 0 {
		w.last += b.records
		w.next.last = w.last
		w.next.bytes += int64(b.bytes)
		w.next.batches = append(w.next.batches, b)
	}
}

func (w *fakeWriter) Flush() error {
	w.enter()
	defer w.using.Unlock()
	if w.flushed != nil {
		return w.flushed
	}
	return w.flush()
}

func (w *fakeWriter) flush() error {
	f := w.next
	w.next = frame{last: w.last}
	if f.bytes == 0 {
		return nil
	}
	return w.stream.send(f)
}

func (w *fakeWriter) BufferedBytes() int {
	w.enter()
	defer w.using.Unlock()
	return int(w.next.bytes)
}

// rig is a session for tests: the test controls the servers, the clock and the random numbers.
type rig struct {
	t       *testing.T
	session *Session[load]

	mu       sync.Mutex
	streams  []*fakeStream
	attempts []time.Duration // times of the attempts to open a stream, since the start
	began    time.Time
	events   []event

	// Set these fields before calling start.
	config SessionConfig
	// onOpen decides attempt n, counted from 0: it returns an error or configures the
	// stream. If onOpen is nil, all attempts succeed.
	onOpen   func(ctx context.Context, n int, s *fakeStream) error
	onWriter func(n int, s *fakeStream) error
}

// newRig returns a rig whose session has no random behavior.
func newRig(t *testing.T) *rig {
	r := &rig{t: t, config: SessionConfig{}.withDefaults(), began: time.Now()}
	r.config.LifetimeJitter, r.config.Backoff.Jitter = -1, -1
	r.config.IdleTimeout = -1
	r.config.EarlyFrames = -1
	r.config.Rand = func() float64 { return 0.5 }
	r.config.Events = record(func(e event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
	return r
}

func (r *rig) open(ctx context.Context) (sessionStream, error) {
	r.mu.Lock()
	n := len(r.attempts)
	r.attempts = append(r.attempts, time.Since(r.began))
	s := newFakeStream(n)
	r.mu.Unlock()
	if r.onOpen != nil {
		if err := r.onOpen(ctx, n, s); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = append(r.streams, s)
	return s, nil
}

func (r *rig) newWriter(stream sessionStream) (BatchWriter[load], error) {
	s := stream.(*fakeStream)
	if r.onWriter != nil {
		if err := r.onWriter(s.number, s); err != nil {
			return nil, err
		}
	}
	s.writer = &fakeWriter{stream: s}
	return s.writer, nil
}

// start starts the session and waits until it is idle.
func (r *rig) start() *rig {
	r.t.Helper()
	session, err := startSession(r.open, r.newWriter, r.config)
	require.NoError(r.t, err)
	r.session = session
	r.t.Cleanup(func() { // for tests that fail before they call stop
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = session.Shutdown(ctx)
		time.Sleep(time.Hour)
	})
	synctest.Wait()
	return r
}

// stop shuts the session down and checks that it released everything.
func (r *rig) stop() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	_ = r.session.Shutdown(ctx)
	r.clean()
}

func (r *rig) clean() {
	r.t.Helper()
	synctest.Wait()
	state := r.session.Stats()
	require.Zero(r.t, state.Live+state.Draining+state.Connecting+state.Waiting+state.UnackedBatches, "%+v", state)
	require.Zero(r.t, state.UnackedBytes)
	opened, closed := 0, 0
	for _, s := range r.streamList() {
		require.True(r.t, s.over(), "stream %d was left open", s.number)
		require.True(r.t, s.writer == nil || s.writer.closed, "the writer of stream %d was not closed", s.number)
	}
	for _, e := range r.eventList() {
		switch e.kind {
		case eventOpened:
			opened++
		case eventClosed:
			closed++
		}
	}
	require.Equal(r.t, opened, closed, "every stream that was opened is closed")
}

// stream returns stream n, from 0, in the order in which the streams were opened.
func (r *rig) stream(n int) *fakeStream {
	r.t.Helper()
	list := r.streamList()
	require.Greater(r.t, len(list), n, "streams opened")
	return list[n]
}

func (r *rig) streamList() []*fakeStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.streams)
}

func (r *rig) eventList() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *rig) attemptList() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.attempts)
}

func (r *rig) count(t eventKind) (n int) {
	for _, e := range r.eventList() {
		if e.kind == t {
			n++
		}
	}
	return n
}

// call is a Send in progress or its result.
type call struct {
	t      *testing.T
	done   chan struct{}
	err    error
	at     time.Time
	cancel context.CancelFunc
}

// send sends a batch in the background, and waits until all goroutines block. The
// clock does not advance.
func (r *rig) send(b load) *call {
	r.t.Helper()
	synctest.Wait()
	c := r.sendSoon(b)
	synctest.Wait()
	return c
}

func (r *rig) sendSoon(b load) *call {
	if b.records == 0 && b.err == nil && b.last == 0 && b.id >= 0 {
		b.records = 10
	}
	if b.bytes == 0 {
		b.bytes = 100
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{t: r.t, done: make(chan struct{}), cancel: cancel}
	go func() {
		c.err = r.session.Send(ctx, b)
		c.at = time.Now()
		close(c.done)
	}()
	return c
}

func (c *call) returned() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *call) waits() {
	c.t.Helper()
	if c.returned() {
		require.NoError(c.t, c.err, "Send has returned")
		require.Fail(c.t, "Send has returned nil")
	}
}

func (c *call) ok() {
	c.t.Helper()
	require.True(c.t, c.returned(), "Send has not returned")
	require.NoError(c.t, c.err)
}

func (c *call) unsent(kind Kind) *UnsentError {
	c.t.Helper()
	require.True(c.t, c.returned(), "Send has not returned")
	var e *UnsentError
	require.ErrorAs(c.t, c.err, &e)
	require.Equal(c.t, kind, e.Cause.Kind, "%v", e)
	return e
}

func unavailable() error {
	return &Error{Kind: KindUnavailable, Code: codes.Unavailable, Err: errors.New("the connection broke")}
}

func retryAfter(d time.Duration) error {
	e := FromStatus(unavailable())
	return &Error{Kind: e.Kind, Code: e.Code, RetryDelay: d, HasRetryInfo: true, Err: e.Err}
}

func bubble(t *testing.T, name string, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
	})
}

func frames(s *fakeStream) (text []string) {
	for _, f := range s.frameList() {
		line := fmt.Sprintf("to %d:", f.last)
		for _, b := range f.batches {
			line += fmt.Sprintf(" %d", b.id)
		}
		text = append(text, line)
	}
	return text
}

type eventKind uint8

const (
	eventOpened eventKind = iota + 1
	eventOpenFailed
	eventDraining
	eventClosed
	eventAcknowledged
	eventRejected
	eventBatchError
	eventRedispatched
	eventHandedBack
	eventLateRejection
)

// event is a call of a function of SessionEvents.
type event struct {
	kind     eventKind
	stream   int
	reason   CloseReason
	err      error
	duration time.Duration
	records  uint64
	bytes    int64
}

// record returns events whose functions all call f.
func record(f func(event)) SessionEvents {
	batch := func(kind eventKind, stream int, b BatchInfo, err error) {
		f(event{kind: kind, stream: stream, records: b.Records, bytes: b.Bytes, duration: b.Latency, err: err})
	}
	return SessionEvents{
		StreamOpened: func(stream int, took time.Duration) {
			f(event{kind: eventOpened, stream: stream, duration: took})
		},
		OpenFailed: func(stream int, err *Error, retryIn time.Duration) {
			f(event{kind: eventOpenFailed, stream: stream, err: err, duration: retryIn})
		},
		StreamDraining: func(stream int, reason CloseReason) {
			f(event{kind: eventDraining, stream: stream, reason: reason})
		},
		StreamClosed: func(stream int, reason CloseReason, age time.Duration, err *Error) {
			e := event{kind: eventClosed, stream: stream, reason: reason, duration: age}
			if err != nil {
				e.err = err
			}
			f(e)
		},
		BatchAcknowledged: func(stream int, b BatchInfo) { batch(eventAcknowledged, stream, b, nil) },
		BatchRejected: func(stream int, b BatchInfo, err *RejectedError) {
			batch(eventRejected, stream, b, err)
		},
		BatchUnencodable:  func(stream int, err *BatchError) { f(event{kind: eventBatchError, stream: stream, err: err}) },
		BatchRedispatched: func(stream int, bytes int64) { f(event{kind: eventRedispatched, stream: stream, bytes: bytes}) },
		BatchHandedBack:   func(stream int, err *UnsentError) { f(event{kind: eventHandedBack, stream: stream, err: err}) },
		LateRejection: func(stream int, records uint64) {
			f(event{kind: eventLateRejection, stream: stream, records: records})
		},
	}
}

var eventNames = [...]string{
	eventOpened:        "opened",
	eventOpenFailed:    "open failed",
	eventDraining:      "draining",
	eventClosed:        "closed",
	eventAcknowledged:  "acknowledged",
	eventRejected:      "rejected",
	eventBatchError:    "batch error",
	eventRedispatched:  "redispatched",
	eventHandedBack:    "handed back",
	eventLateRejection: "late rejection",
}

func (k eventKind) String() string { return eventNames[k] }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"io"
	"time"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// sender drives one stream of a session. Only one goroutine uses the writer and
// writes to the stream (send). A second goroutine waits for the end of the stream
// and for overdue answers (watch). Responses arrive on the stream's own goroutine
// (answered).
type sender[B any] struct {
	session *Session[B]
	state   *session.Stream
	stream  sessionStream
	writer  BatchWriter[B]
	began   time.Time     // when the opening of the stream began
	wake    chan struct{} // tells send that there is work
	check   chan struct{} // tells watch to check its deadline again
	replace chan struct{} // closed when a new stream must replace this stream
}

func newSender[B any](s *Session[B], slot int, stream sessionStream, began time.Time) *sender[B] {
	x := &sender[B]{
		session: s,
		stream:  stream,
		began:   began,
		wake:    make(chan struct{}, 1),
		check:   make(chan struct{}, 1),
		replace: make(chan struct{}),
	}
	x.state = session.NewStream(x, slot, stream.answers())
	return x
}

func (x *sender[B]) answered(news ledger.News) {
	s := x.session
	var out session.Decisions
	s.mu.Lock()
	s.machine.Answered(x.state, news, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
}

// send encodes batches and ends frames, until the stream accepts no more batches.
func (x *sender[B]) send() {
	defer x.session.group.Done()
	defer x.release()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		b, state := x.nextBatch()
		if b == nil && state != session.Live {
			x.closeSend(state)
			return
		}
		if b != nil && !x.encode(b) {
			return
		}
		wait, due := x.flushIn(b == nil)
		switch {
		case due:
			if !x.flush() {
				return
			}
		case b == nil:
			timer.Reset(wait)
			select {
			case <-x.wake:
			case <-timer.C:
			}
		}
	}
}

// release closes the writer if it is an io.Closer. Call it when the stream accepts no more batches.
func (x *sender[B]) release() {
	if w, ok := x.writer.(io.Closer); ok {
		_ = w.Close()
	}
}

func (x *sender[B]) nextBatch() (*session.Batch, session.State) {
	s := x.session
	var out session.Decisions
	s.mu.Lock()
	b, state := s.machine.Take(x.state, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return b, state
}

// encode encodes a batch and reports whether send can continue.
func (x *sender[B]) encode(b *session.Batch) bool {
	s := x.session
	j := b.Owner.(*job[B])
	e, left, err := x.write(j.batch)
	j.left = left
	e.Lost, e.Broken, e.Unencodable = encodingFault(err)
	e.SentTo = x.stream.sentAtMost()
	var out session.Decisions
	s.mu.Lock()
	s.machine.Encoded(x.state, b, e, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return x.canContinue(e)
}

// write encodes a batch and estimates its size. If a frame ends during the encoding, the bytes of
// the frame leave the buffer compressed, and may already be acknowledged. So the estimate is the
// larger of two numbers: the growth of the buffer, and the growth of the sum of buffered and
// unacknowledged bytes. left is the error for the omitted items, or nil if no item was omitted.
func (x *sender[B]) write(batch B) (e session.Encoding, left, err error) {
	unacked, _ := x.stream.Unacked()
	buffered := int64(x.writer.BufferedBytes())
	e.Last, err = x.writer.WriteBatch(batch)
	err = returned(err)
	e.Buffered = x.writer.BufferedBytes()
	if left = leftOut(err); left != nil {
		err = nil
	}
	switch before := x.state.Last(); {
	case err != nil:
	case e.Last < before:
		err = fmt.Errorf("the record ids of the writer decreased from %d to %d", before, e.Last)
	case e.Last == before && int64(e.Buffered) > buffered:
		err = fmt.Errorf("WriteBatch wrote records but returned %d, the id of the last record before them: "+
			"return the id of the last record of the stream, which is Stats().Records of the writer", before)
	case e.Last == before && left != nil:
		err = &BatchError{Err: left}
	}
	if e.Buffered == 0 && e.Last > x.stream.sentAtMost() {
		e.Buffered = 1 // the writer reports 0 bytes: without this, its records would never be flushed
	}
	after := int64(e.Buffered)
	later, _ := x.stream.Unacked()
	e.Bytes = max(0, after-buffered, later+after-unacked-buffered)
	return e, left, err
}

// canContinue reports whether a stream can still be written to after an encoding. If
// the encoder failed, it half-closes the stream, because complete data that was sent
// before can still be acknowledged.
func (x *sender[B]) canContinue(e session.Encoding) bool {
	if e.Broken != nil {
		_ = x.stream.CloseSend() // watch handles the result
	}
	return e.Broken == nil && e.Lost == nil
}

func (x *sender[B]) flushIn(idle bool) (wait time.Duration, due bool) {
	s := x.session
	var out session.Decisions
	buffered := x.writer.BufferedBytes()
	s.mu.Lock()
	wait, due = s.machine.FlushIn(x.state, idle, buffered, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return wait, due
}

// flush ends the frame and reports whether send can continue.
func (x *sender[B]) flush() bool {
	s := x.session
	var e session.Encoding
	err := returned(x.writer.Flush())
	if sent, last := x.stream.sentAtMost(), x.state.Last(); err == nil && sent < last {
		e.Miscounted = true
		err = fmt.Errorf("WriteBatch returned %d, but Flush sent only the records up to %d: "+
			"return the id of the last record of the stream, which is Stats().Records of the writer, "+
			"and create the writer with the *Stream as its destination", last, sent)
	}
	if e.Lost, e.Broken, e.Unencodable = encodingFault(err); e.Unencodable != nil {
		e.Broken = faultOf(FromStatus(err)) // an error of Flush concerns no single batch
	}
	var out session.Decisions
	s.mu.Lock()
	s.machine.Flushed(x.state, e, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return x.canContinue(e)
}

// closeSend ends the current frame and closes the sending side of the stream.
func (x *sender[B]) closeSend(state session.State) {
	if state == session.Ended || x.state.Dirty() && !x.flush() {
		return
	}
	_ = x.stream.CloseSend() // watch handles the result
}

// watch waits for the end of the stream, and closes the stream when its answers
// are overdue.
func (x *sender[B]) watch() {
	s := x.session
	defer s.group.Done()
	timer := time.NewTimer(x.overdue())
	defer timer.Stop()
	for {
		select {
		case <-x.stream.Done():
			sent := x.stream.sentAtMost()
			err := x.stream.Err()
			end := session.Over{Cause: endOf(FromStatus(err), sent > 0), SentTo: sent, TooLarge: x.stream.tooLarge(err)}
			var out session.Decisions
			s.mu.Lock()
			s.machine.Ended(x.state, end, time.Now(), &out)
			s.mu.Unlock()
			s.carryOut(&out)
			return
		case <-x.check:
		case <-timer.C:
		}
		wait := x.overdue()
		if wait <= 0 {
			_ = x.stream.Close() // this also closes the channel Done
			wait = time.Hour
		}
		timer.Reset(wait)
	}
}

func (x *sender[B]) overdue() time.Duration {
	s := x.session
	var out session.Decisions
	s.mu.Lock()
	wait := s.machine.Overdue(x.state, time.Now(), &out)
	s.mu.Unlock()
	s.carryOut(&out)
	return wait
}

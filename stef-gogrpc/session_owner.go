// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// own is the owner.
func (l *lane[B]) own() {
	defer l.session.group.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		j, state := l.take()
		if j == nil && state != laneLive {
			l.leave(state)
			return
		}
		if j != nil && !l.encode(j) {
			return
		}
		wait, due := l.untilFlush(j == nil)
		switch {
		case due:
			if !l.flush() {
				return
			}
		case j == nil:
			timer.Reset(wait)
			select {
			case <-l.wake:
			case <-timer.C:
			}
		}
	}
}

// untilFlush says whether to flush now, and how long the owner may sleep
// otherwise. idle is when no batch waits.
func (l *lane[B]) untilFlush(idle bool) (wait time.Duration, due bool) {
	c := &l.session.config
	if !l.dirty {
		return time.Hour, false
	}
	if l.full || c.FlushBytes > 0 && l.writer.Buffered() >= c.FlushBytes {
		return 0, true
	}
	if c.FlushInterval < 0 {
		return time.Hour, idle
	}
	if idle && l.alone() {
		return 0, true
	}
	wait = c.FlushInterval - time.Since(l.since)
	return wait, wait <= 0
}

// take moves the batch in the inbox to the owner.
func (l *lane[B]) take() (*job[B], laneState) {
	s := l.session
	var out outbox[B]
	s.mu.Lock()
	j := l.inbox
	if j != nil {
		l.inbox = nil
		j.place = inEncoder
		j.since = time.Now()
		j.first, j.last = l.last+1, 0
		l.pending.pushBack(j)
		s.fill(&out)
	}
	state := l.state
	s.mu.Unlock()
	out.deliver(s)
	return j, state
}

// encode writes a batch and reports whether the owner can go on.
func (l *lane[B]) encode(j *job[B]) bool {
	s := l.session
	last, size, err := l.write(j.batch)
	permanent := err != nil && isBatchError(err)
	left := l.stream.sentAtMost()
	sent := left > l.last

	var out outbox[B]
	s.mu.Lock()
	l.left = left
	switch {
	case permanent:
		l.drop(j)
		l.last = max(l.last, last)
		s.settle(j, l, err, event{kind: eventBatchError, err: err}, &out)
	case err != nil:
		l.broken(j, err, sent, &out)
	case last == l.last:
		l.drop(j)
		s.acknowledge(j, l, ledger.Answer{}, &out)
	default:
		l.last = last
		j.last, j.bytes, j.place = last, size, inPending
		l.bytes += size
		l.encoded(j, &out)
	}
	l.full = l.inbox == nil && !l.roomy()
	s.fill(&out)
	s.mu.Unlock()
	out.deliver(s)
	if err != nil && !permanent {
		l.abort(err)
		return false
	}
	return true
}

// write has a batch encoded, and guesses its size. A frame that was cut in
// between has left the buffer, compressed, and may be acknowledged by now: so
// the greater of two counts is the better guess.
func (l *lane[B]) write(batch B) (last uint64, size int64, err error) {
	unacked, _ := l.stream.Unacked()
	buffered := int64(l.writer.Buffered())
	if last, err = l.writer.WriteBatch(batch); err == nil && last < l.last {
		err = fmt.Errorf("record ids went back from %d to %d", l.last, last)
	}
	after := int64(l.writer.Buffered())
	later, _ := l.stream.Unacked()
	if !l.dirty && after > 0 {
		l.since = time.Now()
	}
	l.dirty = after > 0
	return last, max(0, after-buffered, later+after-unacked-buffered), err
}

func isBatchError(err error) bool {
	var bad *BatchError
	return errors.As(err, &bad)
}

// encoded settles what happened to a batch while it was being read.
func (l *lane[B]) encoded(j *job[B], out *outbox[B]) {
	s := l.session
	if l.state == laneEnded {
		l.pending.remove(j)
		s.orphan(l, j, out)
		return
	}
	l.resolve(out) // the server may have been faster
	if j.gaveUp && !j.settled {
		s.takeBack(j, l, gaveUp(j.ctx), true, out)
	}
}

// drop forgets a batch of which nothing is to be answered.
func (l *lane[B]) drop(j *job[B]) {
	l.pending.remove(j)
	l.bytes -= j.bytes
}

// broken deals with the batch, if there is one, that the writer failed in with
// something else than a BatchError.
func (l *lane[B]) broken(j *job[B], err error, sent bool, out *outbox[B]) {
	s := l.session
	var lost *Error
	if errors.As(err, &lost) {
		// The stream has failed. Its end is about to be known; the batch, of
		// which a part may be sent, shares the fate of the others.
		if j != nil && l.state == laneEnded {
			l.pending.remove(j)
			s.orphan(l, j, out)
		} else if j != nil {
			j.place = inPending
			if j.gaveUp {
				s.takeBack(j, l, gaveUp(j.ctx), sent || j.sent, out)
			}
		}
		l.fail(lost)
		return
	}
	if j != nil {
		l.drop(j)
		cause := &Error{Kind: KindUnknown, Code: codes.Internal, Err: fmt.Errorf("batch writer: %w", err)}
		s.takeBack(j, l, cause, sent || j.sent, out)
	}
	l.retire(CloseEncoder, out)
	l.letGo()
}

// abort ends the owner's part after the writer failed. What was sent in good
// order can still be acknowledged.
func (l *lane[B]) abort(err error) {
	var lost *Error
	if !errors.As(err, &lost) {
		_ = l.stream.CloseSend() // the watcher sees what comes of it
	}
}

// flush ends the frame and reports whether the owner can go on.
func (l *lane[B]) flush() bool {
	err := l.writer.Flush()
	l.dirty, l.full = false, false
	if err == nil {
		l.flushed()
		return true
	}
	s := l.session
	var out outbox[B]
	s.mu.Lock()
	l.broken(nil, err, false, &out)
	s.fill(&out)
	s.mu.Unlock()
	out.deliver(s)
	l.abort(err)
	return false
}

// leave ends the owner's part of a stream in good order.
func (l *lane[B]) leave(state laneState) {
	if state == laneEnded || l.dirty && !l.flush() {
		return
	}
	_ = l.stream.CloseSend() // the watcher sees what comes of it
}

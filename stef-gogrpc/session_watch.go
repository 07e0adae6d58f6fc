// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
)

// watch is the watcher.
func (l *lane[B]) watch() {
	defer l.session.group.Done()
	timer := time.NewTimer(l.session.config.AckTimeout)
	defer timer.Stop()
	for {
		select {
		case <-l.stream.Done():
			l.end()
			return
		case <-l.poke:
		case <-timer.C:
		}
		wait := l.untilOverdue()
		if wait <= 0 {
			_ = l.stream.Close() // Done follows
			wait = time.Hour
		}
		timer.Reset(wait)
	}
}

// untilOverdue returns how long the watcher may sleep; nothing if the stream
// has to be closed.
func (l *lane[B]) untilOverdue() time.Duration {
	c := &l.session.config
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	switch head := l.pending.head; {
	case head != nil && !l.failed:
		waits := head.since
		if l.answered.After(waits) {
			waits = l.answered // slow is not stuck
		}
		if last := l.pending.tail; last.gaveUp && last.place == inEncoder && last.since.Before(waits) {
			waits = last.since // nobody but the end of the stream gets it out of there
		}
		wait := c.AckTimeout - time.Since(waits)
		if wait <= 0 && l.fault == nil {
			l.reason = CloseAckTimeout
			l.fault = &Error{Kind: KindUnavailable, Code: codes.DeadlineExceeded,
				Err: fmt.Errorf("no acknowledgement for %v", c.AckTimeout)}
		}
		return wait
	case l.state == laneDraining:
		return c.DrainTimeout - time.Since(l.quiet)
	}
	return c.AckTimeout
}

// end settles all that the stream still owes.
func (l *lane[B]) end() {
	s := l.session
	cause, sent := FromStatus(l.stream.Err()), l.stream.sentAtMost()
	var out outbox[B]
	s.mu.Lock()
	s.ended(l, cause, sent, &out)
	s.fill(&out)
	s.mu.Unlock()
	out.deliver(s)
}

// endedInOrder reports whether a stream ended because the server wanted it to,
// and not because of what it was sent.
func endedInOrder(err *Error) bool { return err == nil || err.Kind == KindClosed }

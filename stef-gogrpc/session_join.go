// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

// joined counts the callers that wait for frames of the lane that have not
// ended. The lock is held.
func (l *lane[B]) joined() (n int) {
	for j := l.pending.tail; j != nil && (j.last == 0 || j.last > l.left); j = j.prev {
		if !j.settled {
			n++
		}
	}
	return n
}

// alone says whether nobody is left who could join the frame, because all who
// call Send wait for this one, or for those of the other lanes, which then need
// not wait either. It is the owner's to ask, when it has nothing to encode.
func (l *lane[B]) alone() bool {
	s := l.session
	if s.config.Senders == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.rush {
		return true
	}
	n := 0
	for _, o := range s.lanes {
		n += o.joined()
	}
	if n < s.config.Senders {
		return false
	}
	for _, o := range s.lanes {
		o.rush = o.joined() > 0
		signal(o.wake)
	}
	return true
}

// flushed notes that the frame has ended.
func (l *lane[B]) flushed() {
	l.session.mu.Lock()
	defer l.session.mu.Unlock()
	l.left, l.rush = l.last, false
}

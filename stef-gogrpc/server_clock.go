// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
)

// processStart is the origin of times that are stored as numbers. Such times are monotonic:
// setting the clock of the machine does not change them.
var processStart = time.Now()

// A clock limits how long a stream may wait for its client. It measures only the
// time in which the server waits, so the time of a slow handler does not count. Only
// the receiving goroutine uses the clock.
type clock struct {
	stream *ServerStream
	timer  *time.Timer // fires when the limit is reached; nil: no timer
	limit  clockLimit
	began  time.Time
	spent  time.Duration // part of the limit that earlier waits used
	silent time.Time     // when the first wait after the last data began
}

// clockLimit identifies the limit that applies to a wait.
type clockLimit uint8

const (
	limitNone clockLimit = iota
	limitFirstMessage
	limitHeader
	limitChunk
	limitIdle
)

func newClock(s *ServerStream) *clock { return &clock{stream: s} }

// limitOf returns the limit that applies to the wait for the next message.
func limitOf(r *inboundRules) clockLimit {
	switch {
	case !r.begun:
		return limitFirstMessage
	case !r.header:
		return limitHeader
	case r.within:
		return limitChunk
	}
	return limitIdle
}

// start starts the clock before the wait for a message.
func (c *clock) start(rules *inboundRules) {
	limit := limitOf(rules)
	if limit != c.limit {
		c.timer = nil
	}
	// Messages without data do not keep a stream alive.
	if limit != c.limit || limit == limitIdle && rules.data {
		c.limit, c.spent = limit, 0
	}
	c.began = time.Now()
	if rules.data || c.silent.IsZero() {
		c.silent = c.began
	}
	if rules.within {
		c.stream.idleSince.Store(int64(c.silent.Sub(processStart)))
	}
	most := c.stream.server.config.timeouts[limit]
	if most == 0 {
		return
	}
	// Earlier waits may have used more than the limit, so the difference may be negative.
	wait := max(0, most-c.spent)
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, func() { c.stream.overdue(limit) })
		return
	}
	c.timer.Reset(wait)
}

// pause stops the clock after a wait.
func (c *clock) pause() {
	c.stream.idleSince.Store(0)
	if c.timer != nil {
		c.timer.Stop()
	}
	c.spent += time.Since(c.began)
}

func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// overdue ends a stream whose client has exceeded a limit: gracefully between two chunks, and
// with an error before the first chunk and within a chunk.
func (s *ServerStream) overdue(limit clockLimit) {
	if s.ctx.Err() != nil {
		return // the stream ends for another reason, and its handler has not returned
	}
	if limit == limitIdle {
		s.idle.Do(func() {
			s.server.timeouts[limit].Add(1)
			close(s.idled)
		})
		return
	}
	s.server.timeouts[limit].Add(1)
	most := s.server.config.timeouts[limit]
	e := &Error{Kind: KindLimit, Code: codes.DeadlineExceeded}
	switch limit {
	case limitFirstMessage:
		e.Err = fmt.Errorf("the client sent no first message within %v", most)
	case limitHeader:
		e.Err = fmt.Errorf("the client did not complete the STEF header within %v", most)
	case limitChunk:
		e.Err = fmt.Errorf("the client left a chunk unfinished for %v", most)
	}
	s.cancel(e)
}

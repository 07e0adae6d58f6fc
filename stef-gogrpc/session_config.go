// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// SessionConfig says how a session keeps its streams. Start from
// DefaultSessionConfig and change what differs: zero often means without.
type SessionConfig struct {
	// Streams is how many streams are kept open side by side. A load balancer
	// chooses a destination per stream, so traffic is even only where there are
	// as many streams as destinations, or streams are replaced now and then.
	// Each has dictionaries of its own: more streams mean more bytes.
	Streams int

	// MaxLifetime is the age at which a stream is replaced: the new one is open
	// before the old one takes no more. It should be well inside the life of
	// tokens and below the maximum connection age of servers, since a stream
	// keeps the credentials and the connection it was opened with. 0 keeps
	// streams for as long as they last.
	MaxLifetime time.Duration
	// Jitter shortens every life by a random part of up to so much, 0 to 1.
	Jitter float64

	// FlushInterval is how long encoded batches may wait for more to join their
	// frame. 0 flushes as soon as no batch waits to be encoded.
	FlushInterval time.Duration
	// FlushBytes ends the wait when so many bytes are buffered. 0 leaves it to
	// FlushInterval and the frame size of the writer.
	FlushBytes int
	// Senders is how many calls of Send there are at a time, at most. When so
	// many wait for the same frame, nobody is left to join it, and it is flushed:
	// few callers with small batches are not held up. 0 is not known.
	Senders int

	// MaxUnackedBatches and MaxUnackedBytes bound what one stream has taken and
	// the destination has not answered; Send waits at the bound. The bytes are
	// counted as encoded, and one batch may exceed them. 0 bytes is no bound.
	MaxUnackedBatches int
	MaxUnackedBytes   int64

	// AckTimeout is how long a stream that has unanswered batches may go without
	// an acknowledgement, counted from the oldest of them at the earliest. Then
	// it is replaced and its batches are handed back. A destination that is slow
	// and goes on is given time; how long a batch waits for it is for the context
	// of Send to say. AckTimeout also bounds how much longer than its context a
	// Send can take.
	AckTimeout time.Duration
	// DrainTimeout bounds Shutdown if its context does not, and how long a
	// stream that owes nothing may take to end after it was half-closed.
	DrainTimeout time.Duration

	// Backoff is the wait between attempts to open a stream. What a server asks
	// for (RetryInfo) is waited for, too, up to five minutes.
	Backoff Backoff
	// Probe is how long a session waits after a refusal that waiting seldom
	// cures (unimplemented, incompatible, bad credentials) until it asks again;
	// Send fails at once meanwhile. 0 asks only when the method Probe is called.
	Probe time.Duration

	// Rand returns numbers in [0,1) and is safe for concurrent use. nil is the
	// generator of math/rand/v2; tests that must repeat set their own.
	Rand func() float64
	// Events is called with everything that happens, from several goroutines
	// at a time and never with a lock held. It must be quick: streams wait. nil
	// is nobody.
	Events func(Event)
}

// Backoff is an exponential wait: Initial after the first failure, Multiplier
// times as long after each further one, at most Max. Jitter changes each by a
// random part of up to so much in both directions, 0 to 1.
type Backoff struct {
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64
	Jitter     float64
}

// DefaultSessionConfig returns the defaults: one stream that lives five minutes
// less up to a tenth, frames of 50 ms or 1 MiB, 128 batches and 64 MiB
// unacknowledged, 15 s for an acknowledgement, 5 s to drain, 100 ms to 10 s
// between attempts, and a minute after a refusal.
func DefaultSessionConfig() SessionConfig {
	return SessionConfig{
		Streams:           1,
		MaxLifetime:       5 * time.Minute,
		Jitter:            0.1,
		FlushInterval:     50 * time.Millisecond,
		FlushBytes:        1 << 20,
		MaxUnackedBatches: 128,
		MaxUnackedBytes:   64 << 20,
		AckTimeout:        15 * time.Second,
		DrainTimeout:      5 * time.Second,
		Backoff:           Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 1.6, Jitter: 0.2},
		Probe:             time.Minute,
	}
}

// The greatest number of streams of a session, a guard against slips.
const maxSessionStreams = 1024

// Validate reports the first setting that makes no sense.
func (c *SessionConfig) Validate() error {
	durations := []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"MaxLifetime", c.MaxLifetime, 0},
		{"FlushInterval", c.FlushInterval, 0},
		{"AckTimeout", c.AckTimeout, 1},
		{"DrainTimeout", c.DrainTimeout, 1},
		{"Probe", c.Probe, 0},
		{"Backoff.Initial", c.Backoff.Initial, 1},
		{"Backoff.Max", c.Backoff.Max, c.Backoff.Initial},
	}
	for _, d := range durations {
		if d.value < d.least {
			return fmt.Errorf("stefgrpc: session: %s is %v, at least %v", d.name, d.value, d.least)
		}
	}
	fractions := []struct {
		name               string
		value, least, most float64
	}{
		{"Jitter", c.Jitter, 0, 1},
		{"Backoff.Jitter", c.Backoff.Jitter, 0, 1},
		{"Backoff.Multiplier", c.Backoff.Multiplier, 1, 1000},
		{"Streams", float64(c.Streams), 1, maxSessionStreams},
		{"Senders", float64(c.Senders), 0, math.MaxInt},
		{"MaxUnackedBatches", float64(c.MaxUnackedBatches), 1, math.MaxInt32},
		{"MaxUnackedBytes", float64(c.MaxUnackedBytes), 0, math.MaxInt64},
		{"FlushBytes", float64(c.FlushBytes), 0, math.MaxInt64},
	}
	for _, f := range fractions {
		if !(f.value >= f.least && f.value <= f.most) {
			return fmt.Errorf("stefgrpc: session: %s is %v, not from %v to %v", f.name, f.value, f.least, f.most)
		}
	}
	return nil
}

func (c *SessionConfig) random() float64 {
	if c.Rand == nil {
		return rand.Float64()
	}
	return c.Rand()
}

// lifetime returns how long a stream is to live, 0 without end. A stream that
// was opened in the regular course of things lives the whole of MaxLifetime.
// Streams that were opened at the same time, at the start or after their
// destination was lost, would all be replaced at the same time for ever:
// so those live the shorter the lower the number of their slot.
func (c *SessionConfig) lifetime(slot int, regular bool) time.Duration {
	if c.MaxLifetime == 0 {
		return 0
	}
	life := float64(c.MaxLifetime)
	if !regular {
		life *= float64(slot+1) / float64(c.Streams)
	}
	return max(1, time.Duration(life*(1-c.Jitter*c.random())))
}

// The most that is waited because a server asked for it.
const maxRetryDelay = 5 * time.Minute

// retries counts the failures of one slot.
type retries struct {
	config   *SessionConfig
	failures int
	delay    time.Duration // the last one
}

// next returns the wait after a failure.
func (r *retries) next(cause *Error) time.Duration {
	b := &r.config.Backoff
	delay := min(float64(b.Max), float64(b.Initial)*math.Pow(b.Multiplier, float64(r.failures)))
	delay *= 1 + b.Jitter*(2*r.config.random()-1)
	r.failures++
	r.delay = max(1, time.Duration(min(delay, float64(b.Max))))
	if cause != nil && cause.HasRetryInfo && cause.RetryDelay > 0 {
		asked := min(cause.RetryDelay, maxRetryDelay)
		r.delay = max(r.delay, asked+time.Duration(float64(asked)*b.Jitter*r.config.random()))
	}
	return r.delay
}

// lived notes the age of a stream that has ended, and reports whether it was
// one. A stream that lasted no longer than the wait for it is a failure like
// others: servers that take streams and end them at once are not to be asked in
// a tight loop.
func (r *retries) lived(age time.Duration) bool {
	if age <= max(r.delay, r.config.Backoff.Initial) {
		return false
	}
	r.failures, r.delay = 0, 0
	return true
}

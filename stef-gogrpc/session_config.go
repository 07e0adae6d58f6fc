// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// SessionConfig says how a session keeps its streams. The zero value of every
// field means its default. Where a field can be switched off, a negative value
// does that.
type SessionConfig struct {
	// Streams is how many streams are kept open side by side. A load balancer
	// chooses a destination per stream, so traffic is even only where there are
	// as many streams as destinations, or streams are replaced now and then.
	// Each has dictionaries of its own: more streams mean more bytes. Default 1.
	Streams int

	// MaxLifetime is the age at which a stream is replaced: the new one is open
	// before the old one takes no more batches. It should be well inside the
	// life of tokens and below the maximum connection age of servers, since a
	// stream keeps the credentials and the connection it was opened with.
	// Default 5 minutes; negative: streams are not replaced for their age.
	MaxLifetime time.Duration
	// Jitter shortens every life by a random part of up to this fraction, 0 to
	// 1. Default 0.1; negative: none.
	Jitter float64

	// FlushInterval is how long encoded batches may wait for more to join their
	// frame. Default 50 ms; negative: a frame ends as soon as no batch waits to
	// be encoded.
	FlushInterval time.Duration
	// FlushBytes ends the wait when so many bytes are buffered. Default 1 MiB;
	// negative: only FlushInterval and the frame size of the writer end it.
	FlushBytes int
	// Senders is the greatest number of calls of Send at a time. When so many
	// wait for the same frame, no further batch can join it, and it is flushed:
	// few callers with small batches are not held up. Default 0, which is not
	// known.
	Senders int

	// MaxUnackedBatches and MaxUnackedBytes bound what one stream has taken and
	// the destination has not answered; Send waits at the bound. The bytes are
	// counted as encoded, and one batch may exceed them. They replace the bounds
	// of WithMaxUnackedBytes and WithMaxUnackedRecords, which a session's streams
	// do not have. Defaults 128 and 64 MiB; negative bytes: no bound.
	MaxUnackedBatches int
	MaxUnackedBytes   int64

	// AckTimeout is how long a stream that has unanswered batches may go without
	// an acknowledgement, counted from the oldest of them at the earliest. Then
	// it is replaced and its batches are handed back. A slow destination that
	// makes progress is not cut off; the context of Send bounds how long a batch
	// waits for it. AckTimeout also bounds how much longer than its context a
	// Send can take. Default 15 s.
	AckTimeout time.Duration
	// DrainTimeout bounds Shutdown if its context does not, and how long a
	// stream without unanswered batches may take to end after it was
	// half-closed. Default 5 s.
	DrainTimeout time.Duration

	// IdleTimeout ends a stream in order when nothing was sent on it for that
	// long, which releases its dictionaries and the state of its compression at
	// both ends. The next batch opens a stream. Default 30 s; negative: streams
	// stay open.
	IdleTimeout time.Duration

	// Backoff is the wait between attempts to open a stream. A wait that the
	// server asks for (RetryInfo) is honoured, too, up to five minutes.
	Backoff Backoff
	// Probe is how long a session waits after a refusal that waiting seldom
	// cures (unimplemented, incompatible, bad credentials) until it tries again;
	// Send fails at once meanwhile. Default 1 minute; negative: it tries again
	// only when the method Probe is called.
	Probe time.Duration

	// Rand returns numbers in [0,1) and is safe for concurrent use. Default the
	// generator of math/rand/v2; tests that must repeat set their own.
	Rand func() float64
	// Events are called with what happens.
	Events SessionEvents
}

// Backoff is an exponential wait: Initial after the first failure (default 100
// ms), Multiplier times as long after each further one (default 1.6), at most
// Max (default 10 s). Jitter changes each by a random part of up to this
// fraction in both directions, 0 to 1 (default 0.2; negative: none).
type Backoff struct {
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64
	Jitter     float64
}

// withDefaults returns c with a default for every field that is zero.
func (c SessionConfig) withDefaults() SessionConfig {
	c.Streams = cmp.Or(c.Streams, 1)
	c.MaxLifetime = cmp.Or(c.MaxLifetime, 5*time.Minute)
	c.Jitter = cmp.Or(c.Jitter, 0.1)
	c.FlushInterval = cmp.Or(c.FlushInterval, 50*time.Millisecond)
	c.FlushBytes = cmp.Or(c.FlushBytes, 1<<20)
	c.MaxUnackedBatches = cmp.Or(c.MaxUnackedBatches, 128)
	c.MaxUnackedBytes = cmp.Or(c.MaxUnackedBytes, 64<<20)
	c.AckTimeout = cmp.Or(c.AckTimeout, 15*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 30*time.Second)
	c.Backoff.Initial = cmp.Or(c.Backoff.Initial, 100*time.Millisecond)
	c.Backoff.Max = cmp.Or(c.Backoff.Max, max(c.Backoff.Initial, 10*time.Second))
	c.Backoff.Multiplier = cmp.Or(c.Backoff.Multiplier, 1.6)
	c.Backoff.Jitter = cmp.Or(c.Backoff.Jitter, 0.2)
	c.Probe = cmp.Or(c.Probe, time.Minute)
	return c
}

// The greatest number of streams of a session, a guard against slips.
const maxSessionStreams = 1024

// Validate reports the first setting that makes no sense.
func (c SessionConfig) Validate() error {
	c = c.withDefaults()
	durations := []struct {
		name         string
		value, least time.Duration
	}{
		{"AckTimeout", c.AckTimeout, 1},
		{"DrainTimeout", c.DrainTimeout, 1},
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
		{"Jitter", c.Jitter, math.Inf(-1), 1},
		{"Backoff.Jitter", c.Backoff.Jitter, math.Inf(-1), 1},
		{"Backoff.Multiplier", c.Backoff.Multiplier, 1, 1000},
		{"Streams", float64(c.Streams), 1, maxSessionStreams},
		{"Senders", float64(c.Senders), 0, math.MaxInt},
		{"MaxUnackedBatches", float64(c.MaxUnackedBatches), 1, math.MaxInt32},
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
	if c.MaxLifetime < 0 {
		return 0
	}
	life := float64(c.MaxLifetime)
	if !regular {
		life *= float64(slot+1) / float64(c.Streams)
	}
	return max(1, time.Duration(life*(1-max(0, c.Jitter)*c.random())))
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
	jitter := max(0, b.Jitter)
	delay *= 1 + jitter*(2*r.config.random()-1)
	r.failures++
	r.delay = max(1, time.Duration(min(delay, float64(b.Max))))
	if cause != nil && cause.HasRetryInfo && cause.RetryDelay > 0 {
		asked := min(cause.RetryDelay, maxRetryDelay)
		r.delay = max(r.delay, asked+time.Duration(float64(asked)*jitter*r.config.random()))
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

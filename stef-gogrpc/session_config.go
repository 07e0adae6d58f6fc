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

// SessionConfig configures the streams of a session. The zero value of every field
// means its default. If a field can be switched off, a negative value switches it off.
type SessionConfig struct {
	// Streams is the number of streams that are open at the same time. A load
	// balancer chooses a destination per stream, so traffic is even only if there
	// are as many streams as destinations, or if streams are replaced from time to
	// time. Each stream has its own dictionaries: more streams mean more bytes.
	// Default 1.
	Streams int

	// MaxLifetime is the age at which a stream is replaced: the new stream is open
	// before the old stream stops accepting batches. It should be well below the
	// lifetime of tokens and the maximum connection age of servers, because a stream
	// keeps the credentials and the connection with which it was opened. The default is
	// 5 minutes. With a negative value, streams are not replaced because of their age. With
	// several streams, the first lifetime of stream n of N is n/N of MaxLifetime, so that they are
	// not all replaced at the same time.
	MaxLifetime time.Duration
	// LifetimeJitter is a fraction from 0 to 1: every lifetime gets shorter by a random part
	// of up to this fraction. The default is 0.1. A negative value switches it off.
	LifetimeJitter float64

	// FlushInterval is how long encoded batches may wait for more batches in their frame. A frame
	// waits for this time while batches are sent one after another. At the end of a burst, the
	// session ends the frame earlier. A burst is over when no batch was sent for ten times the mean
	// time between two batches, and for at least FlushInterval/250. If ten times the mean
	// exceeds FlushInterval/4, frames wait for the whole interval. The default is 50 ms. With a
	// negative value, a frame ends as soon as no batch waits to be encoded. Set FlushInterval to at
	// most half of AckTimeout, and to at most half of the timeouts of the contexts of Send: these
	// times include the wait.
	FlushInterval time.Duration
	// FlushBytes is the number of buffered bytes at which a frame ends before FlushInterval is
	// over. The default is 1 MiB. With a negative value, only FlushInterval and the frame size of
	// the writer end frames.
	FlushBytes int
	// EarlyFrames is how many frames after a pause are sent without waiting for FlushInterval. A
	// pause is four times FlushInterval without a batch. If batches are rare, waiting only delays
	// them. A frame still waits while earlier batches of its stream are unanswered, so that the
	// batches of a burst share a frame. Once a frame holds several batches, every further frame
	// before the next pause waits. The default is 4. With a negative value, all frames wait.
	EarlyFrames int
	// Senders is the maximum number of concurrent calls of Send. When so many calls wait
	// for the same frame, no further batch can join the frame, and the session flushes
	// it. So a few callers with small batches do not wait for the whole interval. The
	// default is 0, which means unknown. If fewer callers send, and each caller sends its
	// next batch as soon as its previous batch is answered, the session detects the
	// number of callers after three frames.
	Senders int

	// MaxUnackedBatches and MaxUnackedBytes bound the batches that one stream has
	// accepted and the destination has not answered; Send waits at the bound. The bytes
	// are those of the encoded batches, and one batch may exceed MaxUnackedBytes. Both
	// settings replace the bounds of WithMaxUnackedBytes and WithMaxUnackedRecords, which
	// do not apply to the streams of a session. The defaults are 128 and 64 MiB. A
	// negative MaxUnackedBytes means no bound.
	MaxUnackedBatches int
	MaxUnackedBytes   int64

	// AckTimeout is how long a stream with unanswered batches may wait for an
	// acknowledgement. The time counts from the last acknowledgement or from the encoding
	// of the oldest unanswered batch, whichever is later. After this time, the stream is
	// replaced and its batches are returned. If a caller gives up after most of this time without an
	// acknowledgement, the stream is replaced at once, so that no further batches are sent on it.
	// The stream of a slow destination that makes progress is not replaced; the context of Send
	// bounds how long a batch waits for its answer. AckTimeout also bounds how long a Send may
	// continue after its context has ended. The default is 15 s.
	AckTimeout time.Duration
	// DrainTimeout bounds Shutdown if its context has no deadline. It also bounds the time
	// until a draining stream without unanswered batches ends. This time counts from the start
	// of the draining or from the last answer, whichever is later. The default is 5 s.
	DrainTimeout time.Duration

	// IdleTimeout is how long a stream may be idle. If nothing was sent for this time, the
	// session ends the stream gracefully. This releases its dictionaries and the state of its
	// compression at both ends. The next batch opens a new stream. The default is 2 minutes:
	// metrics that are sent once a minute share a stream. The session also waits for the next batch
	// if the server ends a stream with OK that was idle for 5 s or was never used. With a negative
	// value, streams stay open, and the session immediately replaces a stream that the server ends.
	IdleTimeout time.Duration

	// Backoff is the wait between attempts to open a stream. The session also waits
	// as long as the server requests (RetryInfo), up to five minutes.
	Backoff Backoff
	// ProbeInterval is how long a session waits until it retries after a refusal for a
	// reason that rarely changes (unimplemented, incompatible, bad credentials, headers that are too
	// large, a mistake in the program). During this time, Send fails immediately. The default is 1 minute. With a
	// negative value, the session retries only when the method Probe is called.
	ProbeInterval time.Duration

	// Rand returns numbers in [0,1) and must be safe for concurrent use. The default
	// is the generator of math/rand/v2. Reproducible tests set their own function.
	Rand func() float64
	// Events are functions that the session calls when something happens.
	Events SessionEvents
}

// Backoff is an exponential wait: Initial after the first failure (default 100
// ms), multiplied by Multiplier after each further failure (default 1.6), at most
// Max (default 10 s). Jitter is a fraction from 0 to 1: each wait gets longer or
// shorter by a random part of up to this fraction (default 0.2; negative: none).
type Backoff struct {
	Initial    time.Duration
	Max        time.Duration
	Multiplier float64
	Jitter     float64
}

func (c SessionConfig) withDefaults() SessionConfig {
	c.Streams = cmp.Or(c.Streams, 1)
	c.MaxLifetime = cmp.Or(c.MaxLifetime, 5*time.Minute)
	c.LifetimeJitter = cmp.Or(c.LifetimeJitter, 0.1)
	c.FlushInterval = cmp.Or(c.FlushInterval, 50*time.Millisecond)
	c.FlushBytes = cmp.Or(c.FlushBytes, 1<<20)
	c.EarlyFrames = cmp.Or(c.EarlyFrames, 4)
	c.MaxUnackedBatches = cmp.Or(c.MaxUnackedBatches, 128)
	c.MaxUnackedBytes = cmp.Or(c.MaxUnackedBytes, 64<<20)
	c.AckTimeout = cmp.Or(c.AckTimeout, 15*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 2*time.Minute)
	c.Backoff.Initial = cmp.Or(c.Backoff.Initial, 100*time.Millisecond)
	c.Backoff.Max = cmp.Or(c.Backoff.Max, max(c.Backoff.Initial, 10*time.Second))
	c.Backoff.Multiplier = cmp.Or(c.Backoff.Multiplier, 1.6)
	c.Backoff.Jitter = cmp.Or(c.Backoff.Jitter, 0.2)
	c.ProbeInterval = cmp.Or(c.ProbeInterval, time.Minute)
	return c
}

// maxSessionStreams is the maximum number of streams of a session. A larger number is probably a
// mistake.
const maxSessionStreams = 1024

// Validate reports the first invalid setting.
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
		if d.value < 0 {
			return fmt.Errorf("stefgrpc: session: %s is %v: must not be negative", d.name, d.value)
		}
		if d.value < d.least {
			return fmt.Errorf("stefgrpc: session: %s is %v: must be at least %v, or 0 for the default", d.name, d.value, d.least)
		}
	}
	fractions := []struct {
		name               string
		value, least, most float64
	}{
		{"LifetimeJitter", c.LifetimeJitter, math.Inf(-1), 1},
		{"Backoff.Jitter", c.Backoff.Jitter, math.Inf(-1), 1},
		{"Backoff.Multiplier", c.Backoff.Multiplier, 1, 1000},
		{"Streams", float64(c.Streams), 1, maxSessionStreams},
		{"Senders", float64(c.Senders), 0, math.MaxInt},
		{"MaxUnackedBatches", float64(c.MaxUnackedBatches), 1, math.MaxInt32},
	}
	for _, f := range fractions {
		if !(f.value >= f.least && f.value <= f.most) {
			bound := fmt.Sprintf("at least %.0f", f.least)
			switch {
			case f.value > f.most || math.IsInf(f.least, -1):
				bound = fmt.Sprintf("at most %.0f", f.most)
			case f.least > 0:
				bound += ", or 0 for the default"
			}
			return fmt.Errorf("stefgrpc: session: %s is %v: must be %s", f.name, f.value, bound)
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

// lifetime returns how long a stream lives, or 0 if there is no limit: MaxLifetime, minus jitter.
// regular says that the stream replaces a live stream. Other streams are often opened at the same
// time: at the start, or after their destination was lost. Then the stream of slot n
// has only (n+1)/Streams of this lifetime, so that the streams are not replaced at the same time.
func (c *SessionConfig) lifetime(slot int, regular bool) time.Duration {
	if c.MaxLifetime < 0 {
		return 0
	}
	life := float64(c.MaxLifetime)
	if !regular {
		life *= float64(slot+1) / float64(c.Streams)
	}
	return max(1, duration(life*(1-max(0, c.LifetimeJitter)*c.random())))
}

// duration returns the duration of ns nanoseconds. The float64 of the longest Duration is one more
// than this Duration, so the conversion of this float64 would overflow.
func duration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// The longest wait that a server can request.
const maxRetryDelay = 5 * time.Minute

// retries counts the failures of one slot.
type retries struct {
	config   *SessionConfig
	failures int
	delay    time.Duration // the last wait
}

func (r *retries) next(cause *Error) time.Duration {
	b := &r.config.Backoff
	delay := min(float64(b.Max), float64(b.Initial)*math.Pow(b.Multiplier, float64(r.failures)))
	jitter := max(0, b.Jitter)
	delay *= 1 + jitter*(2*r.config.random()-1)
	r.failures++
	r.delay = max(1, duration(min(delay, float64(b.Max))))
	if cause != nil && cause.RetryDelay > 0 {
		asked := min(cause.RetryDelay, maxRetryDelay)
		r.delay = max(r.delay, asked+time.Duration(float64(asked)*jitter*r.config.random()))
	}
	return r.delay
}

// lived reports whether a stream that ended at the given age counts as a success. A stream that
// lived no longer than the backoff before it counts as a failure: a server that accepts streams
// and ends them immediately must not be retried in a tight loop.
func (r *retries) lived(age time.Duration) bool {
	if age <= max(r.delay, r.config.Backoff.Initial) {
		return false
	}
	r.failures, r.delay = 0, 0
	return true
}

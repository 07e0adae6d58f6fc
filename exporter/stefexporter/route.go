// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/streamerr"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const (
	// minRefusalPause and maxRefusalPause are the first and the longest pause between a
	// refusal and the next attempt to open a stream, if batches cannot be sent by OTLP.
	// The pauses are short because a token may be renewed or a pipeline added at any time.
	minRefusalPause = time.Second
	maxRefusalPause = 5 * time.Second
	// connectionPause is the minimum time from a change of a connection to the next attempt
	// to open a stream. The pause is needed because another attempt may be running.
	connectionPause = 100 * time.Millisecond
	// refusalGrace is how long a refusal applies to batches that arrive after the refusal.
	refusalGrace = time.Second
	// lastResortPause is the interval between attempts to use STEF with a peer that no
	// longer accepts OTLP.
	lastResortPause = time.Second
)

// route sends the batches of one identity, by STEF or by OTLP.
//
// With protocol auto it starts with STEF. If the peer answers that it has no STEF, or
// no STEF for this signal, batches are sent by OTLP from then on. Timeouts, refusals
// and broken connections do not cause this change. The session continues and retries
// from time to time. The first stream that opens switches the route back to STEF.
type route[B any] struct {
	*routeShared[B]
	stef      *stefSender[B] // nil with protocol otlp
	otlp      *otlpSender[B] // nil with protocol stef
	id        identity
	usingOTLP atomic.Bool  // batches are sent by OTLP
	accepted  atomic.Bool  // the last attempt to open a stream succeeded
	failed    atomic.Bool  // an attempt to open a stream failed
	opening   atomic.Int64 // attempts to open a stream whose result is not known yet; decreased with mu held
	resort    throttle
	served    atomic.Pointer[time.Time] // when the peer accepted the last OTLP request; nil if it failed
	active    atomic.Int64              // when the peer last accepted a stream or acknowledged a batch, in ns since processStart; 0: never

	mu      sync.Mutex
	ended   bool
	timer   *time.Timer   // makes the next attempt to open streams; nil if none is planned
	silence *time.Timer   // fires when the log should say that the peer does not answer
	attempt chan struct{} // closed after the next attempt to open a stream
	since   []time.Time   // for each slot, from 0 to num_streams-1: when its last stream was opened

	soon    bool          // the peer refused, and is tried again after pause
	early   bool          // timer was set by a change of a connection
	away    bool          // a stream was lost, or the last attempt failed without a refusal; the peer sent no retry delay
	pause   time.Duration // the last pause after a refusal; 0 after a stream was opened
	tried   time.Time     // when the last attempt failed
	failure error         // why the last attempt failed
	// connected is the last time when a connection became ready.
	connected time.Time
	changed   time.Time // when a connection was made or lost while the peer refused
}

// routeShared contains what all routes to a backend share.
type routeShared[B any] struct {
	config    *Config
	signal    *signal.Descriptor[B]
	conns     *connections
	telemetry *telemetry
	estimate  *estimate[B]
	logger    *zap.Logger
	health    *health
	pauses    pauses
	stopped   <-chan struct{} // closed when the exporter begins to stop; nil if a shutdown makes several attempts

	// servesOthers reports whether the peer accepts other identities, hasOthers whether
	// streams of other identities are open. activeOthers reports whether the peer accepted streams or data
	// of other identities lately.
	servesOthers, hasOthers, activeOthers func(than *route[B]) bool

	// reachable and unreachable are nil unless the exporter routes between several backends.
	reachable   func()          // a stream is open, or the peer has answered that it has no STEF
	unreachable func(err error) // no stream is open and none can be opened
}

// delivered counts the items of a batch that the peer accepted.
func (s *routeShared[B]) delivered(ctx context.Context, protocol Protocol, items int) {
	s.telemetry.delivered(ctx, protocol, items)
	if s.config.RoutingKey != "" && items > 0 {
		s.telemetry.backendItems(s.config.ClientConfig.Endpoint, items)
	}
}

func (s *routeShared[B]) open(id identity) (*route[B], error) {
	x := &route[B]{routeShared: s, id: id, attempt: make(chan struct{}), resort: throttle{period: lastResortPause}}
	if s.config.Protocol != ProtocolSTEF {
		x.otlp = newOTLPSender(x)
	}
	if s.config.Protocol == ProtocolOTLP {
		return x, nil
	}
	// Events can arrive as soon as the session starts. The lock delays them until x.stef is set.
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	x.stef, err = newSTEFSender(s, id, streamWatcher{opening: func() { x.opening.Add(1) }, opened: x.opened, openFailed: x.openFailed, lost: x.lost, delivered: x.noteActive, handedBack: x.handedBack, next: x.next, outdated: x.outdated})
	if err != nil {
		return nil, err
	}
	x.silence = time.AfterFunc(answerTimeout, s.health.stalled)
	return x, nil
}

func (x *route[B]) send(ctx context.Context, b B, items int) *failure {
	if x.stef == nil {
		return x.otlp.send(ctx, b, items, x.id.headers)
	}
	if !x.usingOTLP.Load() {
		f := x.stef.send(ctx, b, items)
		if f == nil || x.otlp == nil || !streamerr.WithoutSTEF(f.err) {
			return f
		}
		x.fallBack(f.err)
	}
	f := x.otlp.send(ctx, b, items, x.id.headers)
	if f == nil || f.code != codes.Unimplemented {
		return f
	}
	works, refused := x.trySTEFNow(ctx)
	if !works {
		f.retry = f.retry || !refused
		return f
	}
	if f = x.stef.send(ctx, b, items); f != nil && streamerr.WithoutSTEF(f.err) {
		f.retry = true // the peer has just accepted a stream, so it may accept the next one
	}
	return f
}

// fallBack switches to OTLP, unless a stream has been opened in the meantime.
func (x *route[B]) fallBack(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.stef.session.Stats().Live > 0 || !x.usingOTLP.CompareAndSwap(false, true) {
		return
	}
	x.telemetry.builder.ExporterStefDowngrades.Add(context.Background(), 1, x.telemetry.plain)
	var cause *stefgrpc.Error
	if errors.As(why, &cause) {
		why = cause
	}
	x.logger.Warn(fmt.Sprintf("%s has no STEF for %s. Sending OTLP; STEF is tried again every %s, and on each new connection.",
		x.config.ClientConfig.Endpoint, x.signal.Name, x.config.Fallback.ProbeInterval), zap.Error(plain(why)))
}

// trySTEFNow tries to open a stream immediately, for a batch that the peer does not accept by
// OTLP. works reports whether STEF works. refused reports whether the peer has answered that it
// has no STEF. If both are false, the batch must not be dropped: for example, the attempt may
// have begun before the peer was replaced.
func (x *route[B]) trySTEFNow(ctx context.Context) (works, refused bool) {
	x.mu.Lock()
	began, attempt := time.Now(), x.attempt
	running := x.opening.Load() > 0 // such an attempt may end with the answer of a peer that has been replaced
	x.mu.Unlock()
	if !x.usingOTLP.Load() {
		return true, false // a stream was opened in the meantime, so no attempt may follow
	}
	_, ok := x.resort.pass()
	if ok {
		x.stef.session.Probe()
		select {
		case <-attempt:
		case <-ctx.Done():
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	valid := x.tried.After(began) && !running
	if !ok { // the attempt for another batch applies to this batch, too
		valid = time.Since(x.tried) < lastResortPause && x.tried.After(x.connected)
	}
	return !x.usingOTLP.Load(), valid && streamerr.WithoutSTEF(x.failure)
}

func (x *route[B]) opened(slot int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.opening.Add(-1)
	for slot >= len(x.since) {
		x.since = append(x.since, time.Time{})
	}
	x.since[slot] = time.Now()
	x.soon, x.early, x.away, x.pause = false, false, false, 0
	x.accepted.Store(true)
	x.noteActive()
	x.wakeWaiters()
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	if x.usingOTLP.CompareAndSwap(true, false) {
		x.telemetry.builder.ExporterStefUpgrades.Add(context.Background(), 1, x.telemetry.plain)
		x.logger.Info(fmt.Sprintf("%s has STEF for %s now. Sending STEF again.", x.config.ClientConfig.Endpoint, x.signal.Name))
	}
	if x.reachable != nil {
		x.reachable()
	}
	x.health.opened()
}

// openFailed handles a failed attempt to open a stream. If retryIn is 0, the
// session retries only when Probe is called.
func (x *route[B]) openFailed(err *stefgrpc.Error, retryIn time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.opening.Add(-1)
	x.wakeWaiters()
	if x.ended {
		return
	}
	x.tried, x.failure = time.Now(), err
	x.accepted.Store(false)
	x.failed.Store(true)
	x.away = retryIn != 0 && !asksToWait(err)
	if retryIn == 0 && x.silence != nil {
		x.silence.Stop() // the peer has answered
	}
	if retryIn == 0 {
		x.planProbe(err)
	}
	switch {
	case x.stef.session.Stats().Live > 0:
	case err.Kind == stefgrpc.KindIncompatible && x.otlp == nil && x.unreachable == nil:
		x.health.failedPermanently(err)
	case streamerr.WithoutSTEF(err) && x.otlp != nil:
		// The peer answers. OTLP requests will show whether it accepts data.
		if x.reachable != nil {
			x.reachable()
		}
	case x.usingOTLP.Load():
		// OTLP requests will show whether the peer accepts data.
	case retryIn == 0 && x.servesOthers(x), x.hasOthers(x):
		// The peer is not down: it refuses only this identity, for example its token, or has no room
		// for more streams. But if the other identities are idle, the peer may refuse all: then nothing
		// is delivered.
		if !x.activeOthers(x) {
			x.report(err, retryIn)
		}
	default:
		if x.unreachable != nil {
			x.unreachable(err) // logs the error
		}
		x.report(err, retryIn)
	}
}

func (x *route[B]) report(err *stefgrpc.Error, retryIn time.Duration) {
	if retryIn == 0 {
		x.health.refused(err)
	} else {
		x.health.streamFailed(err)
	}
}

// noteActive records that the peer accepts the identity.
func (x *route[B]) noteActive() { x.active.Store(max(1, int64(time.Since(processStart)))) }

// isActive reports whether the peer accepts the identity, and did so lately.
func (x *route[B]) isActive() bool {
	at := x.active.Load()
	accepts := x.accepted.Load() || x.served.Load() != nil || x.stef != nil && x.stef.session.Stats().Live > 0
	return accepts && at > 0 && time.Since(processStart)-time.Duration(at) < repeatPeriod
}

func (x *route[B]) lost(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.away = !asksToWait(err)
	if x.unreachable != nil {
		return // the next attempt to open a stream tells whether the backend is down
	}
	if !x.ended && x.stef.session.Stats().Live == 0 && !x.hasOthers(x) {
		x.health.streamFailed(err)
	}
}

func (x *route[B]) handedBack(slot int, err *stefgrpc.UnsentError) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended && slot < len(x.since) {
		x.health.handedBack(x.since[slot], err.Cause)
	}
}

// wakeWaiters wakes the goroutines that wait for the result of an attempt. The
// caller must hold the lock.
func (x *route[B]) wakeWaiters() {
	close(x.attempt)
	x.attempt = make(chan struct{})
}

// next returns a channel that is closed after the next attempt to open a stream.
func (x *route[B]) next() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.attempt
}

// needSTEF reports whether batches must wait for STEF after the peer refused streams with err:
// there is no OTLP fallback, or err does not mean that the peer lacks STEF.
func (x *route[B]) needSTEF(err error) bool { return x.otlp == nil || !streamerr.WithoutSTEF(err) }

// outdated reports whether err is too old to drop a batch: the peer refused a stream before the
// batch arrived, and may accept the batch now. A refusal is valid for refusalGrace, but no longer
// than until a connection is made or lost.
func (x *route[B]) outdated(err error, arrived time.Time) bool {
	var unsent *stefgrpc.UnsentError
	if !errors.As(err, &unsent) || unsent.Refused.IsZero() || unsent.Refused.After(arrived) || !x.needSTEF(err) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return arrived.Sub(unsent.Refused) > refusalGrace || x.changed.After(unsent.Refused)
}

// planProbe sets the time of the next attempt after a refusal. The caller must hold the
// lock.
func (x *route[B]) planProbe(err *stefgrpc.Error) {
	if x.timer != nil {
		if !x.early {
			return
		}
		x.timer.Stop()
	}
	pause := x.config.Fallback.ProbeInterval
	if x.soon = x.needSTEF(err); x.soon {
		x.pause = min(max(2*x.pause, minRefusalPause), x.config.refusalPause())
		pause = x.pause
	}
	x.early = false
	x.timer = time.AfterFunc(pause, x.probe)
}

// refusalPause returns the longest pause after a refusal. The pause is shorter than the
// timeout of a batch, if the timeout is above minRefusalPause. So a peer that still refuses
// does so at least once while a batch waits. This refusal drops the batch.
func (c *Config) refusalPause() time.Duration {
	pause := max(minRefusalPause, min(maxRefusalPause, c.TimeoutConfig.Timeout/2))
	return min(pause, c.Fallback.ProbeInterval)
}

// connectionChanged makes the next attempt soon if the peer refused streams, because another
// server may answer on the new connection. A peer that refuses and closes connections is tried
// at most once per minRefusalPause.
func (x *route[B]) connectionChanged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || !x.soon {
		return
	}
	x.changed = time.Now()
	x.tryEarly(connectionPause)
}

// connectionReady opens a stream soon in two cases. If the peer was away, the session may be in a
// long pause. If the peer had no STEF, it may have been restarted with STEF.
func (x *route[B]) connectionReady() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.connected = time.Now()
	if !x.ended && (x.away || x.usingOTLP.Load()) {
		x.tryEarly(0)
	}
}

// asksToWait reports whether err is an answer of the peer that contains a retry delay.
func asksToWait(err error) bool {
	e := stefgrpc.FromStatus(err)
	return e.HasRetryInfo || e.RetryDelay > 0
}

// tryEarly plans the next attempt after the given pause, but at least minRefusalPause after
// the last failed attempt. The caller must hold the lock.
func (x *route[B]) tryEarly(pause time.Duration) {
	if x.timer != nil {
		x.timer.Stop()
	}
	x.early = true
	x.timer = time.AfterFunc(max(pause, minRefusalPause-time.Since(x.tried)), x.probe)
}

// probe is called by the timer. It makes the session try to open its streams now.
func (x *route[B]) probe() {
	x.mu.Lock()
	x.timer = nil
	ended := x.ended
	x.mu.Unlock()
	if !ended {
		x.stef.session.Probe()
	}
}

// shutdown ends the streams, gracefully if ctx allows enough time.
func (x *route[B]) shutdown(ctx context.Context) error {
	x.mu.Lock()
	x.ended = true
	if x.silence != nil {
		x.silence.Stop()
	}
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	x.mu.Unlock()
	if x.stef == nil {
		return nil
	}
	err := x.stef.session.Shutdown(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		return nil // The pushes report the batches that were returned to them.
	}
	return err
}

func (x *route[B]) gauges(g *gauges) {
	if x.otlp != nil {
		g.otlpInFlight += int(x.otlp.pending.Load())
	}
	if x.stef == nil {
		return
	}
	s := x.stef.session.Stats()
	g.live += s.Live
	g.connecting += s.Connecting
	g.draining += s.Draining
	g.unackedBatches += s.UnackedBatches
	g.unackedBytes += s.UnackedBytes
}

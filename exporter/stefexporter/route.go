// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/signal"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const (
	// credentialsPause is how long streams are not asked for after credentials
	// were refused. Tokens are renewed at any time.
	credentialsPause = 10 * time.Second
	// lastResortPause is how often a peer that takes OTLP no more is asked
	// whether it takes STEF now.
	lastResortPause = time.Second
)

// route takes the batches of one identity, by STEF or by OTLP.
//
// With protocol auto it begins with STEF. A peer that answers that it has no
// STEF, or not for this signal, has said what it cannot do, and from then on
// batches go by OTLP; silence, refusals and broken connections say nothing of
// the sort. The session stays, asks again from time to time, and the first
// stream that it gets is the way back.
type route[B any] struct {
	*site[B]
	stef   *stefSender[B] // nil with protocol otlp
	otlp   *otlpSender[B] // nil with protocol stef
	who    identity
	fallen atomic.Bool // batches go by OTLP
	resort seldom

	mu      sync.Mutex
	ended   bool
	timer   *time.Timer   // until streams are asked for, nil if none
	silence *time.Timer   // until the log says that the peer does not answer
	attempt chan struct{} // closed after the next attempt to open a stream
}

// site is what the routes of an exporter have in common.
type site[B any] struct {
	config    *Config
	signal    *signal.Descriptor[B]
	conns     *connections
	telemetry *telemetry
	logger    *zap.Logger
	health    *health
}

// open opens a route.
func (s *site[B]) open(who identity) (*route[B], error) {
	x := &route[B]{site: s, who: who, attempt: make(chan struct{}), resort: seldom{period: lastResortPause}}
	if s.config.Protocol != ProtocolSTEF {
		x.otlp = newOTLPSender(s)
	}
	if s.config.Protocol == ProtocolOTLP {
		return x, nil
	}
	// Events come as soon as the session begins, and wait here.
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	x.stef, err = newSTEFSender(s, who, streamWatcher{opened: x.opened, openFailed: x.openFailed, lost: x.lost})
	x.silence = time.AfterFunc(firstWord, s.health.slow)
	return x, err
}

// send sends a batch.
func (x *route[B]) send(ctx context.Context, b B, items int) *failure {
	if x.stef == nil {
		return x.otlp.send(ctx, b, items, x.who.headers)
	}
	if !x.fallen.Load() {
		f := x.stef.send(ctx, b, items)
		if f == nil || x.otlp == nil || !withoutSTEF(f.err) {
			return f
		}
		x.fallBack(f.err)
	}
	f := x.otlp.send(ctx, b, items, x.who.headers)
	if f != nil && f.code == codes.Unimplemented && x.lastResort(ctx) {
		return x.stef.send(ctx, b, items)
	}
	return f
}

// fallBack turns to OTLP, unless a stream has been opened in the meantime.
func (x *route[B]) fallBack(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.stef.session.State().Live > 0 || !x.fallen.CompareAndSwap(false, true) {
		return
	}
	x.telemetry.builder.ExporterStefDowngrades.Add(context.Background(), 1, x.telemetry.plain)
	x.logger.Warn("The peer has no STEF for this signal. Sending OTLP until it has.",
		zap.Error(why), zap.Duration("asked_again_in", x.config.Fallback.ProbeInterval))
}

// lastResort asks for a stream at once, for a batch that OTLP is no way for
// either, and reports whether STEF is one.
func (x *route[B]) lastResort(ctx context.Context) bool {
	x.mu.Lock()
	attempt := x.attempt
	x.mu.Unlock()
	if _, ok := x.resort.pass(); ok {
		x.stef.session.Probe()
		select {
		case <-attempt:
		case <-ctx.Done():
		}
	}
	return !x.fallen.Load()
}

func (x *route[B]) opened() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.attempted()
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	if x.fallen.CompareAndSwap(true, false) {
		x.telemetry.builder.ExporterStefUpgrades.Add(context.Background(), 1, x.telemetry.plain)
		x.logger.Info("The peer has STEF for this signal now. Sending STEF again.")
	}
	x.health.good("A STEF stream is open.")
}

// openFailed follows a failed attempt. retryIn is 0 if the session waits to be
// asked.
func (x *route[B]) openFailed(err *stefgrpc.Error, retryIn time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.attempted()
	if x.ended {
		return
	}
	if retryIn == 0 && x.timer == nil {
		pause := x.config.Fallback.ProbeInterval
		if err.Kind == stefgrpc.KindAuth {
			pause = credentialsPause
		}
		x.timer = time.AfterFunc(pause, x.ask)
	}
	switch {
	case x.stef.session.State().Live > 0:
	case err.Kind == stefgrpc.KindIncompatible && x.otlp == nil:
		x.health.broken(err)
	case withoutSTEF(err) && x.otlp != nil, x.fallen.Load():
		// OTLP will tell how things are.
	default:
		x.health.bad(err)
	}
}

func (x *route[B]) lost(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended && x.stef.session.State().Live == 0 {
		x.health.bad(err)
	}
}

// attempted wakes who waits for the outcome of an attempt. The lock is held.
func (x *route[B]) attempted() {
	close(x.attempt)
	x.attempt = make(chan struct{})
}

// ask makes the session try to open streams that it waits with.
func (x *route[B]) ask() {
	x.mu.Lock()
	x.timer = nil
	ended := x.ended
	x.mu.Unlock()
	if !ended {
		x.stef.session.Probe()
	}
}

// shutdown ends the streams, in order if there is time.
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
		return nil // Batches that were handed back are their pushes' to report.
	}
	return err
}

// gauges adds what the route has under way.
func (x *route[B]) gauges(g *gauges) {
	if x.otlp != nil {
		g.otlpInFlight += int(x.otlp.pending.Load())
	}
	if x.stef == nil {
		return
	}
	s := x.stef.session.State()
	g.live += s.Live
	g.connecting += s.Connecting
	g.draining += s.Draining
	g.unackedBatches += s.UnackedBatches
	g.unackedBytes += s.UnackedBytes
}

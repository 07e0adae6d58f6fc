// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/signal"
)

// errShutdown is the error of batches that are pending when the exporter is shut down.
var errShutdown = errors.New("the exporter was shut down before the peer answered")

type stefExporter[B any] struct {
	config    *Config
	signal    *signal.Descriptor[B]
	settings  exporter.Settings
	telemetry *telemetry
	estimate  *estimate[B]
	splitter  splitter[B]
	only      *backend[B]  // nil before start, and with routing
	balancer  *balancer[B] // nil before start, and without routing

	// lookup replaces the resolver in tests.
	lookup func(ctx context.Context, host string) ([]string, error)
	pauses pauses // shorter in tests

	// life ends when all pushes must return, including waiting pushes.
	life context.Context
	end  context.CancelCauseFunc

	stopping sync.Once
	stopped  chan struct{} // closed when stopping begins
	until    time.Time     // the deadline of the shutdown; set before stopped is closed
	deadline *time.Timer   // ends life at the deadline of the shutdown; nil until stopping begins
	unhook   func() bool   // removes the callback from the context of Shutdown
	group    *signalGroup  // nil before start
	began    time.Time     // when stopping began
}

func newExporter[B any](c *Config, s *signal.Descriptor[B], split func(RoutingKey) splitter[B], settings exporter.Settings) (*stefExporter[B], error) {
	if err := c.checkHeaderNames(); err != nil {
		return nil, err
	}
	t, err := newTelemetry(settings.TelemetrySettings, settings.ID, s.Name)
	if err != nil {
		return nil, err
	}
	x := &stefExporter[B]{config: c, signal: s, settings: settings, telemetry: t, estimate: newEstimate(c, s), splitter: split(c.RoutingKey), pauses: defaultPauses(), stopped: make(chan struct{})}
	x.life, x.end = context.WithCancelCause(context.Background())
	return x, nil
}

// start connects to the backends. Its context ends when the Collector has started, so
// connections must not depend on the context.
func (x *stefExporter[B]) start(ctx context.Context, host component.Host) error {
	ctx = context.WithoutCancel(ctx)
	if err := x.config.checkStorage(host); err != nil {
		return err
	}
	if x.config.sizerUnset && x.config.QueueConfig.HasValue() {
		x.settings.Logger.Info("The sending queue counts requests, because sending_queue::queue_size is set without sending_queue::sizer. Set the sizer to items, bytes or requests.",
			zap.Int64("queue_size", x.config.QueueConfig.Get().QueueSize))
	}
	x.telemetry.publish(x.config.Protocol)
	x.group = joinSignalGroup(x.config)
	var err error
	if x.config.RoutingKey == "" {
		x.only, err = x.newBackend(ctx, host, x.config, nil)
	} else {
		x.balancer, err = x.startBalancer(ctx, host)
	}
	if err != nil {
		x.only, x.balancer = nil, nil
		return err
	}
	if err := x.telemetry.observe(x.gauges); err != nil {
		return errors.Join(err, x.shutdown(ctx))
	}
	return nil
}

// push sends a batch and waits for the answer of the peer. It returns nil if the peer has accepted
// the batch. If the error is not permanent, exporterhelper may send the batch again.
func (x *stefExporter[B]) push(ctx context.Context, b B) error {
	if x.signal.Items(b) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.life, func() { cancel(context.Cause(x.life)) })()

	if x.config.retriesItself() {
		return x.pushAgain(ctx, b)
	}
	rest, err := x.try(ctx, b)
	if rest == nil {
		return err
	}
	return rest.asError(x.config, x.splitter)
}

// try sends a batch once. If again is nil, no part of the batch may be sent again, and err says
// whether the peer accepted the batch.
func (x *stefExporter[B]) try(ctx context.Context, b B) (again *unsent[B], err error) {
	if x.balancer != nil {
		return x.balancer.send(ctx, b)
	}
	items := x.signal.Items(b)
	f := x.only.send(ctx, b, items)
	if f == nil {
		return nil, nil
	}
	x.telemetry.dropped(ctx, x.dropReason(f), items)
	if f.retry {
		return &unsent[B]{batch: b, whole: true, err: x.config.explain(f.err), delay: f.delay}, nil
	}
	return nil, f.permanent(x.config)
}

// dropReason returns why the batch will not be sent again, or "" if it may be sent
// again.
func (x *stefExporter[B]) dropReason(f *failure) string {
	queue := &x.config.QueueConfig
	switch {
	case !f.retry:
		return f.reason
	case x.config.retriesItself():
		return "" // pushAgain counts the items that a shutdown does not deliver
	case !queue.HasValue() || queue.Get().WaitForResult:
		return "" // The caller receives the error.
	case x.isStopping() && queue.Get().StorageID != nil && x.config.RetryConfig.Enabled:
		return "" // The storage keeps the batch, because the retry sender returns a shutdown error.
	case x.isStopping():
		return dropShutdown
	case !x.config.RetryConfig.Enabled:
		return dropRetriesOff
	}
	return ""
}

func (x *stefExporter[B]) isStopping() bool {
	select {
	case <-x.stopped:
		return true
	default:
		return false
	}
}

// beginStop is called before exporterhelper stops: exporterhelper drains its queue with
// pushes, and these must end before the deadline of Shutdown.
func (x *stefExporter[B]) beginStop(ctx context.Context) {
	x.stopping.Do(func() {
		x.began = time.Now()
		drainTime := x.config.Stef.ShutdownDrainTimeout
		if x.group != nil {
			drainTime = x.group.share()
		}
		if at, ok := ctx.Deadline(); ok {
			drainTime = min(drainTime, time.Until(at))
		}
		if !x.config.Fallback.WaitForPending && x.onlyOTLP() {
			drainTime = 0
		}
		x.until = x.began.Add(drainTime)
		close(x.stopped)
		x.deadline = time.AfterFunc(drainTime, func() { x.end(errShutdown) })
		x.unhook = context.AfterFunc(ctx, func() { x.end(errShutdown) })
	})
}

// onlyOTLP reports whether all routes send OTLP.
func (x *stefExporter[B]) onlyOTLP() bool {
	if x.config.Protocol == ProtocolOTLP {
		return true
	}
	any := false
	for _, one := range x.backends() {
		for _, r := range one.routes.all() {
			if r.stef != nil && !r.usingOTLP.Load() {
				return false
			}
			any = true
		}
	}
	return any // without routes, the first batch would be sent by STEF
}

func (x *stefExporter[B]) backends() []*backend[B] {
	switch {
	case x.balancer != nil:
		return x.balancer.list()
	case x.only != nil:
		return []*backend[B]{x.only}
	}
	return nil
}

// shutdown is called after the last push of exporterhelper.
func (x *stefExporter[B]) shutdown(ctx context.Context) error {
	x.beginStop(ctx)
	if x.group != nil {
		defer func() {
			x.group.leave(time.Since(x.began))
			x.group = nil
		}()
	}
	defer x.telemetry.shutdown()
	defer x.end(errShutdown)
	defer x.deadline.Stop()
	defer x.unhook()
	switch {
	case x.balancer != nil:
		return x.balancer.shutdown(x.life)
	case x.only != nil:
		return x.only.shutdown(x.life)
	}
	return nil
}

func (x *stefExporter[B]) gauges() gauges {
	var g gauges
	list := x.backends()
	if x.balancer != nil {
		g.backends = map[string]bool{}
		for _, one := range list {
			g.backends[one.address] = one.answers()
		}
	}
	for _, one := range list {
		for _, r := range one.routes.all() {
			r.gauges(&g)
		}
	}
	return g
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// backend is one address to which batches are sent, with its connections and its
// streams. Without routing there is one backend.
type backend[B any] struct {
	address string
	seed    uint64
	conns   *connections
	routes  *routes[B]
	logger  *zap.Logger
	health  *health
	// changed is called without mu when the backend goes down or up. It calls tell, unless tell is
	// nil. The argument others says whether other backends answer. Without routing, changed is nil.
	changed func(tell func(others bool))

	host    *backendHost   // with routing: has the reported status of the backend
	sending sync.WaitGroup // with routing: counts the batches being sent
	unhook  func() bool    // undoes the AfterFunc that ends the streams when the exporter's life ends

	mu     sync.Mutex
	isDown bool
	// refusing is set if the backend is down because it refuses the credentials of an identity. The
	// backend may accept other identities.
	refusing bool
	closed   bool
	up       context.Context // ends when the backend goes down, unless refusing is set
	cancel   context.CancelFunc
	probe    *time.Timer // tries to open streams again after a pause
	pause    time.Duration
}

// errBackendDown cancels attempts to send to a backend that is down: no stream is open
// and none can be opened.
var errBackendDown = errors.New("the backend does not answer")

const (
	minProbePause = 250 * time.Millisecond
	maxProbePause = 5 * time.Second
)

func (x *stefExporter[B]) newBackend(ctx context.Context, host component.Host, config *Config, changed func(tell func(bool))) (*backend[B], error) {
	conns, err := connect(ctx, config, host, x.settings, x.telemetry, x.pauses)
	if err != nil {
		return nil, err
	}
	address := config.ClientConfig.Endpoint
	b := &backend[B]{address: address, seed: seedOf(address), conns: conns, logger: x.settings.Logger, changed: changed, pause: minProbePause}
	b.renew()
	here := &routeShared[B]{
		config:    config,
		signal:    x.signal,
		conns:     conns,
		telemetry: x.telemetry,
		estimate:  x.estimate,
		logger:    x.settings.Logger,
		health:    newHealth(config, x.signal.Name, host, x.settings.Logger),
		pauses:    x.pauses,

		servesOthers: b.servesOthers,
		hasOthers:    b.hasOthers,
		activeOthers: b.activeOthers,
	}
	if !config.retriesItself() {
		here.stopped = x.stopped
	}
	if changed != nil {
		here.logger = here.logger.With(zap.String("backend", address))
		here.health.logger = here.logger
		here.reachable, here.unreachable = b.markUp, b.markDown
	}
	here.health.warnings = &x.group.warnings
	b.health = here.health
	b.routes = &routes[B]{
		identities: newIdentities(config.MetadataKeys),
		limit:      int(config.MetadataCardinalityLimit),
		open:       here.open,
		byName:     map[string]*route[B]{},
	}
	connected := b.connectionChanged
	conns.changed.Store(&connected)
	ready := b.connectionReady
	conns.ready.Store(&ready)
	if len(config.MetadataKeys) == 0 {
		// There is only one identity. Open its stream now, so that the first batch does
		// not wait for the stream.
		if _, f := b.routes.of(ctx); f != nil {
			return nil, errors.Join(f.err, conns.close())
		}
	}
	// A push cannot return while its batch is encoded. If the peer reads nothing, encoding blocks
	// until the stream ends. So end the streams at the end of the exporter's life.
	b.unhook = context.AfterFunc(x.life, func() { _ = shutdownAll(x.life, b.routes.all()) })
	return b, nil
}

func (b *backend[B]) send(ctx context.Context, data B, items int) *failure {
	to, f := b.routes.of(ctx)
	if f == nil {
		f = to.send(ctx, data, items)
	}
	if f != nil && f.err != nil {
		f.err = b.health.explain(f.err)
	}
	return f
}

func (b *backend[B]) servesOthers(than *route[B]) bool {
	return slices.ContainsFunc(b.routes.all(), func(r *route[B]) bool {
		// Routes are never closed before the exporter is, so a request that was accepted long ago
		// does not show that the peer still accepts the identity of the route.
		served := r.served.Load()
		return r != than && (r.accepted.Load() || served != nil && time.Since(*served) < repeatPeriod)
	})
}

func (b *backend[B]) hasOthers(than *route[B]) bool {
	return slices.ContainsFunc(b.routes.all(), func(r *route[B]) bool { return r != than && r.stef.session.Stats().Live > 0 })
}

func (b *backend[B]) activeOthers(than *route[B]) bool {
	return slices.ContainsFunc(b.routes.all(), func(r *route[B]) bool { return r != than && r.isActive() })
}

func (b *backend[B]) sendWhileUp(ctx context.Context, data B, items int) *failure {
	b.mu.Lock()
	up := b.up
	b.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(up, func() { cancel(errBackendDown) })()
	return b.send(ctx, data, items)
}

// answers reports whether the backend is up and, as far as is known, answers.
func (b *backend[B]) answers() bool { return !b.down() && b.health.answered() }

func (b *backend[B]) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isDown
}

// mayAccept reports whether to send a batch to the backend. It returns true if the backend is up.
// It also returns true if the backend is down because it refuses other identities, but has not yet
// refused the identity of ctx.
func (b *backend[B]) mayAccept(ctx context.Context) bool {
	b.mu.Lock()
	down, refusing := b.isDown, b.refusing
	b.mu.Unlock()
	return !down || refusing && b.routes.untried(ctx)
}

// markDown notes that no stream is open and that none can be opened.
func (b *backend[B]) markDown(err error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	first := !b.isDown
	b.isDown = true
	b.refusing = len(b.routes.identities.keys) > 0 && refusesCredentials(stefgrpc.FromStatus(err).Code)
	if b.refusing {
		b.renew()
	} else {
		b.cancel()
	}
	if b.probe != nil {
		b.probe.Stop()
	}
	b.probe = time.AfterFunc(max(b.pause, stefgrpc.FromStatus(err).RetryDelay), b.ask)
	b.pause = min(2*b.pause, maxProbePause)
	b.mu.Unlock()
	if first {
		log := b.health.known(plain(err))
		line := b.logger.With(zap.String("backend", b.address), zap.Error(plain(err)))
		text := fmt.Sprintf("Backend %s does not answer.", b.address) // the Collector's sampling drops equal texts
		b.changed(func(others bool) {
			if others {
				text += " Its telemetry is sent to the other backends until it answers again."
			}
			if log {
				line.Warn(text)
			}
		})
	}
}

// markUp marks the backend as up. Either a stream is open, or the backend has answered that it
// has no STEF, so OTLP requests can be sent.
func (b *backend[B]) markUp() {
	b.mu.Lock()
	if !b.isDown || b.closed {
		b.mu.Unlock()
		return
	}
	b.isDown, b.pause = false, minProbePause
	b.renew()
	b.probe.Stop()
	b.mu.Unlock()
	if b.health.known(nil) {
		b.logger.Info(fmt.Sprintf("Backend %s answers again.", b.address), zap.String("backend", b.address))
	}
	b.changed(nil)
}

// renew sets the field up to a new context if its context has ended. The caller must hold mu.
func (b *backend[B]) renew() {
	if b.up == nil || b.up.Err() != nil {
		b.up, b.cancel = context.WithCancel(context.Background())
	}
}

// ask lets all sessions try to open a stream.
func (b *backend[B]) ask() {
	for _, r := range b.routes.all() {
		if r.stef != nil {
			r.stef.session.Probe()
		}
	}
}

func (b *backend[B]) connectionChanged() {
	for _, r := range b.routes.all() {
		r.connectionChanged()
	}
}

func (b *backend[B]) connectionReady() {
	for _, r := range b.routes.all() {
		r.connectionReady()
	}
}

// shutdown ends the streams, and waits for acknowledgements until the context ends.
func (b *backend[B]) shutdown(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	if b.probe != nil {
		b.probe.Stop()
	}
	b.mu.Unlock()
	b.routes.close()
	err := shutdownAll(ctx, b.routes.all())
	b.unhook()
	b.cancel()
	b.health.warnings.end(b.health)
	return errors.Join(err, b.conns.close())
}

// shutdownAll shuts down all routes of a backend, or all backends, at the same time.
func shutdownAll[T interface{ shutdown(context.Context) error }](ctx context.Context, list []T) error {
	errs := make([]error, len(list))
	var group sync.WaitGroup
	for i, one := range list {
		group.Go(func() { errs[i] = one.shutdown(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

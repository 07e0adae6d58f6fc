// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
)

// balancer splits batches by the routing key and sends each part to its backend.
type balancer[B any] struct {
	exporter *stefExporter[B]
	splitter splitter[B]
	host     component.Host
	lookup   func(ctx context.Context, host string) ([]string, error)
	lost     throttle // log lines about parts that are dropped
	warnings *warnings

	stop    context.CancelFunc // stops resolving
	working sync.WaitGroup

	mu       sync.Mutex
	backends []*backend[B] // in the order of their addresses
	changes  sync.Mutex    // held while the addresses change
	unknown  outage        // of the resolver; only the goroutine that resolves uses it
	closed   bool          // guarded by changes
	status   componentstatus.Status
	allDown  bool
	missing  error // why no backend is known, after the second attempt to find one
}

var errNothingDelivered = errors.New("no backend answers, or none accepts data: the log has the cause of each")

func (x *stefExporter[B]) startBalancer(ctx context.Context, host component.Host) (*balancer[B], error) {
	b := &balancer[B]{exporter: x, splitter: x.splitter, host: host, lookup: net.DefaultResolver.LookupHost, lost: throttle{period: logPeriod}, warnings: &x.group.warnings}
	if x.lookup != nil {
		b.lookup = x.lookup
	}
	resolving, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	if len(x.config.Endpoints) > 0 {
		if err := b.set(resolving, x.config.Endpoints); err != nil {
			return b, errors.Join(err, b.shutdown(ctx))
		}
		return b, nil
	}
	if err := b.resolve(resolving); err != nil {
		// As with any gRPC client, the addresses may become available later.
		b.unknown.begin(x.settings.Logger, notYetResolved, err)
	}
	b.working.Go(func() {
		ticker := time.NewTicker(x.config.ResolveInterval)
		defer ticker.Stop()
		for {
			select {
			case <-resolving.Done():
				return
			case <-ticker.C:
			}
			switch err := b.resolve(resolving); {
			case err == nil:
				b.unknown.end(x.settings.Logger)
			case resolving.Err() == nil:
				b.unresolved(err)
			}
		}
	})
	return b, nil
}

// unresolved logs that the addresses could not be looked up again. If no backend is known, it also
// reports that nothing is delivered.
func (b *balancer[B]) unresolved(err error) {
	b.mu.Lock()
	none := len(b.backends) == 0
	if none {
		b.missing = err
	}
	b.mu.Unlock()
	text := "The backends cannot be resolved. The last known backends remain in use."
	if none {
		text = notYetResolved
		b.changed(nil)
	}
	b.unknown.begin(b.exporter.settings.Logger, text, err)
}

const notYetResolved = "The backends cannot be resolved yet."

func (b *balancer[B]) resolve(ctx context.Context) error {
	host, port, err := net.SplitHostPort(strings.TrimPrefix(b.exporter.config.ClientConfig.Endpoint, "dns:///"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.exporter.config.ResolveInterval)
	defer cancel()
	found, err := b.lookup(ctx, host)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	if err != nil {
		return err
	}
	addresses := make([]string, len(found))
	for i, a := range found {
		addresses[i] = net.JoinHostPort(a, port)
	}
	return b.set(context.WithoutCancel(ctx), addresses)
}

// set adds and removes backends so that there is one backend for each address.
func (b *balancer[B]) set(ctx context.Context, addresses []string) error {
	b.changes.Lock()
	defer b.changes.Unlock()
	if b.closed {
		return nil
	}
	var errs []error
	var list, gone []*backend[B]
	addresses = slices.Compact(slices.Sorted(slices.Values(addresses)))
	have := map[string]*backend[B]{}
	for _, one := range b.list() {
		have[one.address] = one
		if !slices.Contains(addresses, one.address) {
			gone = append(gone, one)
		}
	}
	for _, address := range addresses {
		one := have[address]
		if one == nil {
			var err error
			if one, err = b.connect(ctx, address); err != nil {
				errs = append(errs, err)
				continue
			}
			b.exporter.settings.Logger.Info("A backend was added.", zap.String("backend", address))
		}
		list = append(list, one)
	}
	b.mu.Lock()
	b.backends = list
	b.mu.Unlock()
	for _, one := range gone {
		b.exporter.settings.Logger.Info("A backend was removed.", zap.String("backend", one.address))
		b.working.Go(func() {
			one.sending.Wait() // new batches use other backends
			ctx, cancel := context.WithTimeout(b.exporter.life, b.exporter.config.Stef.ShutdownDrainTimeout)
			defer cancel()
			if err := one.shutdown(ctx); err != nil {
				b.exporter.settings.Logger.Warn("A backend that was removed did not acknowledge all batches in time.", zap.String("backend", one.address), zap.Error(err))
			}
		})
	}
	b.changed(nil)
	return errors.Join(errs...)
}

// connect connects to one address. If the address was resolved from a name, TLS verifies
// that the certificate is valid for the name, or for tls::server_name_override if that is set.
func (b *balancer[B]) connect(ctx context.Context, address string) (*backend[B], error) {
	config := *b.exporter.config
	named := config.ClientConfig.TLS.ServerName != "" && !config.withoutTLS() // gRPC refuses an authority that differs from this name
	if len(config.Endpoints) == 0 && config.ClientConfig.Authority == "" && !named {
		config.ClientConfig.Authority = strings.TrimPrefix(config.ClientConfig.Endpoint, "dns:///")
	}
	config.ClientConfig.Endpoint = address
	host := &backendHost{Host: b.host, changed: func() { b.changed(nil) }}
	one, err := b.exporter.newBackend(ctx, host, &config, b.changed)
	if err == nil {
		one.host = host
	}
	return one, err
}

// backendHost is the host of one backend. It receives the status of the backend, which is not the
// status of the exporter.
type backendHost struct {
	component.Host
	bad     atomic.Bool // the last reported status is an error
	changed func()
}

// Report implements componentstatus.Reporter.
func (h *backendHost) Report(e *componentstatus.Event) {
	h.bad.Store(e.Status() != componentstatus.StatusOK)
	h.changed()
}

func (b *balancer[B]) list() []*backend[B] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.backends
}

// changed reports an error status to the host when nothing can be delivered to any backend, and
// StatusOK when that has ended. It logs when all backends are down. Then it calls tell, unless tell
// is nil. The argument others says whether any backend is not down.
func (b *balancer[B]) changed(tell func(others bool)) {
	b.mu.Lock() // held to the end: otherwise a slow call could report an old status after a newer one
	defer b.mu.Unlock()
	none := len(b.backends) == 0
	up, delivers, cause := none, none && b.missing == nil, errNothingDelivered
	if none && b.missing != nil {
		cause = b.missing
	}
	for _, one := range b.backends {
		if !one.down() {
			up = true
			delivers = delivers || !one.host.bad.Load()
		}
	}
	before := b.allDown
	if up {
		b.warnings.end(b)
	}
	if b.allDown = !up; b.allDown && !before && b.warnings.first("", b) {
		b.exporter.settings.Logger.Warn("No backend answers. Nothing can be sent at present: telemetry waits until one answers.", zap.Int("backends", len(b.backends)))
	}
	status, event := componentstatus.StatusOK, componentstatus.NewEvent(componentstatus.StatusOK)
	if !delivers {
		status, event = componentstatus.StatusRecoverableError, componentstatus.NewRecoverableErrorEvent(cause)
	}
	if b.status != status {
		b.status = status
		componentstatus.ReportStatus(b.host, event)
	}
	if tell != nil {
		tell(up && len(b.backends) > 0) // backends can fail before set adds them
	}
}

// candidates returns the backends that may accept a batch, and up is true. If no backend may accept
// it, candidates returns all backends, and up is false. The caller must call sending.Done for each
// returned backend.
func (b *balancer[B]) candidates(ctx context.Context) (list []*backend[B], seeds []uint64, up bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.backends {
		if one.mayAccept(ctx) {
			list = append(list, one)
		}
	}
	if up = len(list) > 0; !up {
		list = b.backends
	}
	for _, one := range list {
		seeds = append(seeds, one.seed)
		one.sending.Add(1) // the backend is not removed before this batch is sent
	}
	return list, seeds, up
}

var errNoBackend = errors.New("no backend is known: the endpoint is not resolved to an address yet; check its DNS name")

// send sends a batch once. It returns the items that may be sent again, or nil. If all items were
// refused for good, it returns the error instead, which is permanent.
func (b *balancer[B]) send(ctx context.Context, batch B) (again *unsent[B], err error) {
	var result outcome[B]
	b.spread(ctx, batch, 0, &result)
	switch whole := len(result.retry) == 0 && result.delivered == 0; {
	case result.dropped == nil:
	case whole:
		return nil, consumererror.NewPermanent(result.dropped)
	default: // the Collector does not learn of the dropped items, so log them here
		if skipped, ok := b.lost.pass(); ok {
			b.exporter.settings.Logger.Warn("A backend refuses its part of a batch for good. These items are dropped; the other items were delivered, or are sent again.",
				zap.Int("items", result.lost), zap.Error(result.dropped), zap.Int64("not_logged", skipped))
		}
	}
	if len(result.retry) == 0 {
		return nil, nil
	}
	// If there is only one part, it may be the batch of the caller, which must not change.
	// Several parts are copies, so the first part can receive the items of the other parts.
	rest := result.retry[0]
	for _, part := range result.retry[1:] {
		b.exporter.signal.MoveTo(part, rest)
	}
	return &unsent[B]{batch: rest, err: errors.Join(result.errs...), delay: result.delay}, nil
}

type outcome[B any] struct {
	mu        sync.Mutex
	delivered int
	retry     []B
	errs      []error // reasons for the parts in retry
	delay     time.Duration
	dropped   error // the last permanent failure
	lost      int   // items of all parts with a permanent failure, except delivered items
}

// spread sends the parts of a batch to their backends concurrently. If a backend goes
// down meanwhile, its parts are spread over the other backends.
func (b *balancer[B]) spread(ctx context.Context, batch B, tries int, result *outcome[B]) {
	list, seeds, up := b.candidates(ctx)
	defer func() {
		for _, one := range list {
			one.sending.Done()
		}
	}()
	if len(list) == 0 {
		b.failed(ctx, batch, &failure{retryDecision: retryDecision{retry: true, code: codes.Unavailable}, err: errNoBackend}, result)
		return
	}
	parts := b.splitter.split(batch, func(key uint64) int { return choose(seeds, key) })
	var group sync.WaitGroup
	for i, part := range parts {
		group.Go(func() { b.deliver(ctx, list[i], up, part, tries+1, result) })
	}
	group.Wait()
}

// maxTries is the maximum number of attempts to send a part, to one backend or to several
// backends. After that many attempts the part is returned to the queue.
const maxTries = 4

// deliver sends a part to a backend. If up is true, the attempt ends when the backend goes down.
// If up is false, all backends are down, and the part waits.
func (b *balancer[B]) deliver(ctx context.Context, to *backend[B], up bool, part B, tries int, result *outcome[B]) {
	items := b.exporter.signal.Items(part)
	if items == 0 {
		return // a resource without items
	}
	var f *failure
	if up {
		f = to.sendWhileUp(ctx, part, items)
	} else {
		f = to.send(ctx, part, items)
	}
	switch {
	case f == nil:
		result.mu.Lock()
		defer result.mu.Unlock()
		result.delivered += items
	case tries < maxTries && ctx.Err() == nil && b.movable(f, to):
		if to.down() {
			b.exporter.telemetry.rerouted(to.address, items)
		}
		b.spread(ctx, part, tries, result)
	default:
		b.failed(ctx, part, f, result)
	}
}

// movable reports whether to retry a failed part immediately. If its stream was lost, the
// next attempt waits until a stream is open or the backend counts as down. Failed OTLP requests and
// refused credentials are not retried while the backend is up: nothing would delay the next request,
// and the backend would refuse the credentials again.
func (b *balancer[B]) movable(f *failure, from *backend[B]) bool {
	if !f.retry || f.delay > 0 || (f.byOTLP || refusesCredentials(f.code)) && !from.down() {
		return false
	}
	return !from.down() || slices.ContainsFunc(b.list(), func(one *backend[B]) bool { return !one.down() })
}

func (b *balancer[B]) failed(ctx context.Context, part B, f *failure, result *outcome[B]) {
	items := b.exporter.signal.Items(part)
	b.exporter.telemetry.dropped(ctx, b.exporter.dropReason(f), items)
	result.mu.Lock()
	defer result.mu.Unlock()
	if !f.retry {
		result.dropped = f.permanent(b.exporter.config)
		result.lost += items - f.delivered
		return
	}
	result.retry = append(result.retry, part)
	result.errs = append(result.errs, f.err)
	result.delay = max(result.delay, f.delay)
}

func (b *balancer[B]) shutdown(ctx context.Context) error {
	b.stop()
	b.warnings.end(b)
	b.changes.Lock()
	b.closed = true // the resolver changes nothing any more
	b.changes.Unlock()
	err := shutdownAll(ctx, b.list())
	b.working.Wait()
	return err
}

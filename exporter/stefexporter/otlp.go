// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/internal/signal"
)

// logPeriod is the minimum time between two log lines about the same problem.
const logPeriod = 10 * time.Second

type otlpSender[B any] struct {
	*routeShared[B]
	route   *route[B]
	export  signal.Export[B]
	options []grpc.CallOption
	slots   chan struct{} // one for each pending request
	partial throttle
	pending atomic.Int64
}

func newOTLPSender[B any](x *route[B]) *otlpSender[B] {
	c := x.config
	o := &otlpSender[B]{
		routeShared: x.routeShared,
		route:       x,
		export:      x.signal.OTLP.NewClient(x.conns.otlp),
		slots:       make(chan struct{}, c.Fallback.MaxConcurrentRequests),
		partial:     throttle{period: logPeriod},
	}
	if c.Fallback.Compression.IsCompressed() {
		// configgrpc registers the compressors under the names that the configuration uses.
		o.options = append(o.options, grpc.UseCompressor(string(c.Fallback.Compression)))
	}
	return o
}

// send sends one request. It returns nil if the peer has accepted the batch, even
// if the peer rejected some items.
func (o *otlpSender[B]) send(ctx context.Context, b B, items int, headers metadata.MD) *failure {
	size := o.signal.Size(b)
	if most := o.config.Fallback.MaxRequestSizeMiB << 20; size > most {
		return &failure{reason: dropTooLarge, err: fmt.Errorf("the OTLP request has %d bytes, but the maximum is %d: "+
			"lower sending_queue::batch::max_size, or raise otlp_fallback::max_request_size_mib if the peer accepts more", size, most)}
	}
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return o.failed(ctx, fmt.Errorf("the request waited for one of the %d concurrent OTLP requests to end (otlp_fallback::max_concurrent_requests): %w", cap(o.slots), ctx.Err()))
	}
	o.pending.Add(1)
	defer o.pending.Add(-1)

	partial, err := o.export(outgoing(ctx, headers), b, o.options...)
	if err != nil {
		return o.failed(ctx, err)
	}
	now := time.Now()
	o.route.served.Store(&now)
	o.route.noteActive()
	o.health.accepted()
	o.accepted(ctx, partial, items)
	return nil
}

func (o *otlpSender[B]) failed(ctx context.Context, err error) *failure {
	v := decideRetry(err, o.config.Stef.alsoRetried())
	o.telemetry.failed(ctx, ProtocolOTLP, v.code)
	err = fmt.Errorf(otlpFailed+"%w", plain(err))
	o.route.served.Store(nil)
	onlyThis := refusesCredentials(v.code) && o.activeOthers(o.route) // the peer accepts other identities, so it refuses this one, for example its token
	if !onlyThis && (ctx.Err() == nil || v.code == codes.DeadlineExceeded) {
		o.health.requestFailed(err, v.code)
	}
	return &failure{retryDecision: v, reason: dropPermanent, err: err, byOTLP: true}
}

// accepted counts the items of a request that the peer accepted. In a partial success, the
// peer rejected some items, which must not be sent again.
func (o *otlpSender[B]) accepted(ctx context.Context, p signal.PartialSuccess, items int) {
	rejected := int(min(max(p.Rejected, 0), int64(items)))
	o.telemetry.dropped(ctx, dropPartial, rejected)
	o.delivered(ctx, ProtocolOTLP, items-rejected)
	if rejected == 0 && p.Message == "" {
		return
	}
	skipped, ok := o.partial.pass()
	if !ok {
		return
	}
	text := "The peer accepted an OTLP request with a warning."
	if rejected > 0 {
		text = "The peer rejected part of an OTLP request. The rejected items are not sent again."
	}
	o.logger.Warn(text, zap.Int("rejected_items", rejected), zap.Int("items", items),
		zap.String("message", p.Message), zap.Int64("not_logged", skipped))
}

func outgoing(ctx context.Context, headers metadata.MD) context.Context {
	if len(headers) == 0 {
		return ctx
	}
	own, _ := metadata.FromOutgoingContext(ctx)
	return metadata.NewOutgoingContext(ctx, metadata.Join(own, headers))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/streamerr"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

type stefSender[B any] struct {
	*routeShared[B]
	session *stefgrpc.Session[*batch[B]]
	watch   streamWatcher
	writer  []stef.WriterOption
	bad     throttle
	late    throttle // log lines about late rejections
}

type streamWatcher struct {
	opening    func() // an attempt to open a stream begins; opened or openFailed ends it
	opened     func(slot int)
	openFailed func(err *stefgrpc.Error, retryIn time.Duration)
	lost       func(err error)
	delivered  func() // a batch is acknowledged
	handedBack func(slot int, err *stefgrpc.UnsentError)
	next       func() <-chan struct{} // the channel is closed after the next attempt to open a stream
	// outdated reports whether an error is a refusal from before a batch arrived.
	outdated func(err error, arrived time.Time) bool
}

// newSTEFSender starts a session. Every stream is opened with the headers of the
// identity who.
func newSTEFSender[B any](s *routeShared[B], id identity, watch streamWatcher) (*stefSender[B], error) {
	x := &stefSender[B]{
		routeShared: s,
		watch:       watch,
		bad:         throttle{period: logPeriod},
		late:        throttle{period: logPeriod},
		writer: []stef.WriterOption{
			stef.WithCompression(s.config.streamCompression()),
			stef.WithFrameBytes(s.config.Stef.MaxFrameSizeKiB << 10),
		},
	}
	if s.config.Stef.Checksums {
		x.writer = append(x.writer, stef.WithChecksums())
	}
	open, err := s.opener(id, watch.opening)
	if err != nil {
		return nil, err
	}
	x.session, err = stefgrpc.NewSession(open, x.newWriter, sessionConfig(s.config, s.pauses.stream, x.events()))
	return x, err
}

// sessionConfig converts the configuration. After a refusal, the session tries the
// peer again only when Probe is called.
func sessionConfig(c *Config, backoff stefgrpc.Backoff, events stefgrpc.SessionEvents) stefgrpc.SessionConfig {
	s := stefgrpc.SessionConfig{
		Streams:           c.Stef.NumStreams,
		MaxLifetime:       orOff(c.Stef.MaxStreamLifetime),
		IdleTimeout:       orOff(c.Stef.IdleTimeout),
		FlushInterval:     orOff(c.Stef.FlushInterval),
		FlushBytes:        -1, // The writer ends frames that are large enough.
		MaxUnackedBatches: c.Stef.MaxUnackedBatches,
		MaxUnackedBytes:   int64(c.Stef.MaxUnackedMiB) << 20,
		AckTimeout:        c.TimeoutConfig.Timeout,
		DrainTimeout:      c.Stef.ShutdownDrainTimeout,
		Backoff:           backoff,
		ProbeInterval:     -1,
		Events:            events,
	}
	if c.QueueConfig.HasValue() {
		s.Senders = c.QueueConfig.Get().NumConsumers
	}
	return s
}

// orOff converts 0, which switches a setting off, to the negative value that a session
// expects.
func orOff(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// opener returns the function that opens streams. It alternates between the
// connections.
func (s *routeShared[B]) opener(id identity, opening func()) (func(context.Context) (*stefgrpc.Stream, error), error) {
	c := s.config
	clients := make([]*stefgrpc.Client, len(s.conns.stef))
	for i, conn := range s.conns.stef {
		var err error
		clients[i], err = stefgrpc.NewClient(conn,
			stefgrpc.WithMaxMessageBytes(c.Stef.MaxMessageSizeKiB<<10),
			stefgrpc.WithDictBytes(c.Stef.MaxDictMiB<<20),
			stefgrpc.WithHandshakeTimeout(c.TimeoutConfig.Timeout))
		if err != nil {
			return nil, err
		}
	}
	var turn atomic.Uint32
	return func(ctx context.Context) (*stefgrpc.Stream, error) {
		opening()
		n := turn.Add(1) - 1
		return clients[int(n)%len(clients)].Open(id.context(ctx), s.signal.RootIn(c.Stef.Schema))
	}, nil
}

func (x *stefSender[B]) newWriter(stream *stefgrpc.Stream) (stefgrpc.BatchWriter[*batch[B]], error) {
	meter := newFrameMeter(stream, x.telemetry)
	level := x.signal.AutoLevel(stream.Schema())
	if name := x.config.Stef.CompressionLevel; name != levelAuto {
		var err error
		if level, err = stef.ParseLevel(name); err != nil {
			return nil, err
		}
	}
	options := append(stream.WriterOptions(), stef.WithCompressionLevel(level))
	e, err := x.signal.NewEncoder(meter, x.config.Stef.EncoderOptions(x.signal.Name), append(options, x.writer...)...)
	if err != nil {
		return nil, err
	}
	return &batchWriter[B]{encoder: e, meter: meter, telemetry: x.telemetry}, nil
}

// send returns nil when the batch is acknowledged, even if the peer rejected some
// of its records.
func (x *stefSender[B]) send(ctx context.Context, data B, items int) *failure {
	b := &batch[B]{data: data, items: items}
	waited, err := x.sendFresh(ctx, b)
	var rejected *stefgrpc.RejectedError
	var unencodable *stefgrpc.BatchError
	var panicked *panicError
	switch {
	case err == nil:
		return x.arrived(ctx, b, 0, nil)
	case errors.As(err, &rejected):
		return x.arrived(ctx, b, int(min(rejected.Records, uint64(items))), err)
	case errors.As(err, &unencodable):
		return &failure{reason: dropUnencodable, err: err}
	case errors.As(err, &panicked) && panicked.data == any(b):
		x.logger.Error("A batch made the encoder panic. It is dropped.", zap.Error(panicked), zap.ByteString("stack", panicked.stack))
		return &failure{reason: dropUnencodable, err: panicked}
	}
	v := decideStreamRetry(err, x.config.Stef.alsoRetried())
	if panicked != nil {
		v = retryDecision{retry: true, code: codes.Unavailable} // another batch caused the failure
	}
	var unsent *stefgrpc.UnsentError
	without := (*stefgrpc.Error)(nil) // why no stream was open
	switch {
	case waited:
		without, v = stefgrpc.FromStatus(err), retryDecision{retry: true, code: codes.Unavailable}
	case (ctx.Err() != nil || errors.Is(err, stefgrpc.ErrSessionClosed)) && errors.As(err, &unsent):
		errors.As(unsent.Cause.Err, &without)
	}
	code := v.code
	if without != nil && code == codes.DeadlineExceeded {
		code = codes.Unavailable // the batch waited for a stream, not for an acknowledgement
	}
	x.telemetry.failed(ctx, ProtocolSTEF, code)
	otlp := x.config.Protocol == ProtocolAuto && streamerr.WithoutSTEF(err) // the whole batch is sent by OTLP
	if !v.retry && errors.As(err, &unsent) && !otlp && (unsent.Acknowledged > 0 || len(unsent.Rejected) > 0) {
		delivered := x.endedWithin(ctx, b, unsent)
		return &failure{retryDecision: v, err: streamError(err), delivered: delivered}
	}
	if without != nil {
		err = noStreamTo(x.config.ClientConfig.Endpoint, without)
		return &failure{retryDecision: v, reason: dropPermanent, err: err}
	}
	return &failure{retryDecision: v, reason: dropPermanent, err: streamError(err)}
}

// sendFresh sends a batch. If the peer refused a stream before the batch arrived, it may
// accept the batch now: sendFresh waits for the next attempt to open a stream. waited
// reports that the wait ended without an attempt; err is then the outdated refusal.
func (x *stefSender[B]) sendFresh(ctx context.Context, b *batch[B]) (waited bool, err error) {
	arrived := time.Now()
	for {
		attempt := x.watch.next()
		if err = x.session.Send(ctx, b); err == nil || !x.watch.outdated(err, arrived) {
			return false, err
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return true, err
		case <-x.stopped: // the next attempt may be too late
			return true, err
		}
	}
}

// arrived counts the items of an acknowledged batch: delivered, rejected by the peer, and not
// encodable. It returns a failure if the peer rejected every item that was sent.
func (x *stefSender[B]) arrived(ctx context.Context, b *batch[B], rejected int, why error) *failure {
	left := b.left.Items()
	rejected = min(rejected, b.items-left)
	x.telemetry.dropped(ctx, dropUnencodable, left)
	x.telemetry.dropped(ctx, dropRejected, rejected)
	delivered := b.items - left - rejected
	x.delivered(ctx, ProtocolSTEF, delivered)
	if estimated := x.telemetry.builder.ExporterStefOtlpBytesEstimated; delivered > 0 && estimated.Enabled(ctx) {
		if bytes := x.estimate.delivered(b.data, delivered, b.items); bytes > 0 {
			estimated.Add(ctx, bytes, x.telemetry.plain)
		}
	}
	if left > 0 {
		x.logDropped("Items cannot be written. They are dropped; the other items were sent.", left, b.items, b.left)
	}
	if rejected == 0 {
		return nil
	}
	if delivered == 0 {
		return &failure{err: why}
	}
	x.logDropped("The peer rejected items. They are dropped; the other items were accepted.", rejected, b.items, why)
	return nil
}

// endedWithin counts the items of a batch that the peer answered only in part: the peer
// acknowledged or rejected some records, and then ended the stream with a permanent error. It
// returns the number of delivered items.
func (x *stefSender[B]) endedWithin(ctx context.Context, b *batch[B], e *stefgrpc.UnsentError) int {
	left := b.left.Items()
	sent := uint64(b.items - left)
	delivered, rejected := e.Settled(sent)
	x.telemetry.dropped(ctx, dropUnencodable, left)
	x.telemetry.dropped(ctx, dropRejected, int(rejected))
	x.telemetry.builder.ExporterStefRecordsRejected.Add(ctx, int64(rejected), x.telemetry.plain)
	x.telemetry.dropped(ctx, dropPermanent, int(sent-delivered-rejected))
	x.delivered(ctx, ProtocolSTEF, int(delivered))
	return int(delivered)
}

func (x *stefSender[B]) logDropped(text string, dropped, items int, why error) {
	if skipped, ok := x.bad.pass(); ok {
		x.logger.Warn(text, zap.Int("dropped_items", dropped), zap.Int("items", items), zap.Error(why), zap.Int64("not_logged", skipped))
	}
}

func (x *stefSender[B]) events() stefgrpc.SessionEvents {
	ctx := context.Background()
	t, watch := x.telemetry, x.watch
	acknowledged := func(batch stefgrpc.BatchInfo) {
		t.builder.ExporterStefAckLatency.Record(ctx, batch.Latency.Seconds(), t.plain)
		watch.delivered()
		x.health.recovered("Batches are acknowledged", x.config.ClientConfig.Endpoint)
	}
	return stefgrpc.SessionEvents{
		StreamOpened: func(slot int, _ time.Duration) {
			t.builder.ExporterStefStreamsOpened.Add(ctx, 1, t.plain)
			watch.opened(slot)
		},
		OpenFailed: func(_ int, err *stefgrpc.Error, retryIn time.Duration) {
			x.logger.Debug("A STEF stream could not be opened.", zap.Error(err), zap.Duration("next_attempt_in", retryIn))
			watch.openFailed(err, retryIn)
		},
		StreamClosed: func(_ int, reason stefgrpc.CloseReason, age time.Duration, err *stefgrpc.Error) {
			t.builder.ExporterStefStreamsClosed.Add(ctx, 1, t.with(reasonOf(reason, err)))
			if err == nil {
				x.logger.Debug("A STEF stream ended.", zap.Stringer("reason", reason), zap.Duration("age", age))
				return
			}
			x.logger.Debug("A STEF stream ended.", zap.Stringer("reason", reason), zap.Duration("age", age), zap.Error(err))
			if reason != stefgrpc.CloseShutdown {
				watch.lost(err)
			}
		},
		BatchAcknowledged: func(_ int, batch stefgrpc.BatchInfo) { acknowledged(batch) },
		BatchRejected: func(_ int, batch stefgrpc.BatchInfo, _ *stefgrpc.RejectedError) {
			acknowledged(batch)
			t.builder.ExporterStefRecordsRejected.Add(ctx, int64(batch.Records), t.plain)
		},
		BatchHandedBack: func(slot int, err *stefgrpc.UnsentError) {
			// A returned batch says nothing about the peer if the caller gave up, or if the
			// batch was on no stream.
			if slot >= 0 && err.Cause.Code != codes.Canceled {
				watch.handedBack(slot, err)
			}
		},
		BatchRedispatched: func(int, int64) {
			t.builder.ExporterStefRetriesInternal.Add(ctx, 1, t.plain)
		},
		LateRejection: func(stream int, records uint64) {
			t.builder.ExporterStefRecordsRejectedLate.Add(ctx, int64(records), t.plain)
			if skipped, ok := x.late.pass(); ok {
				x.logger.Warn("The peer rejected records that it had acknowledged before. They were counted as delivered and are lost.",
					zap.Uint64("records", records), zap.Int("stream", stream), zap.Int64("not_logged", skipped))
			}
		},
	}
}

// closedBusy is the reason of a stream that the peer ended because it does not accept data at
// the moment. Such a peer sends a retry delay.
const closedBusy = "busy"

// reasonOf returns the metric attribute for a closed stream. err is nil if the stream ended
// without an error.
func reasonOf(r stefgrpc.CloseReason, err *stefgrpc.Error) attribute.KeyValue {
	if r == stefgrpc.CloseLost && err != nil && err.HasRetryInfo && err.Retryable() {
		return attribute.String("reason", closedBusy)
	}
	return attribute.String("reason", strings.ReplaceAll(r.String(), " ", "_"))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

const (
	dropRejected    = "rejected"             // records that the peer reported as bad
	dropUnencodable = "unencodable"          // beyond a limit of stefpdata
	dropPartial     = "partial_success"      // rejected by an OTLP peer
	dropTooLarge    = "too_large"            // above max_request_size_mib, or larger than the queue
	dropPermanent   = "permanent"            // an error that is not retried
	dropIdentities  = "metadata_cardinality" // above metadata_cardinality_limit
	dropShutdown    = "shutdown"             // not sent when the exporter ended
	dropRetriesOff  = "retries_off"          // would be retried if retries were enabled
)

type telemetry struct {
	builder *metadata.TelemetryBuilder
	own     []attribute.KeyValue
	plain   metric.MeasurementOption
	// arrived has the attributes of delivered items by protocol. If they were computed
	// for each batch, the stacks of the queue's goroutines would grow.
	arrived map[Protocol]metric.MeasurementOption

	// The total bytes of all frames before and after compression, for the metric zstd_ratio.
	encoded, compressed atomic.Int64
}

func newTelemetry(settings component.TelemetrySettings, id component.ID, signal string) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(settings)
	if err != nil {
		return nil, err
	}
	own := []attribute.KeyValue{
		attribute.String("exporter", id.String()),
		attribute.String("signal", signal),
	}
	t := &telemetry{builder: builder, own: own, plain: metric.WithAttributeSet(attribute.NewSet(own...))}
	t.arrived = map[Protocol]metric.MeasurementOption{}
	for _, protocol := range []Protocol{ProtocolSTEF, ProtocolOTLP} {
		t.arrived[protocol] = t.with(attribute.String("protocol", string(protocol)))
	}
	return t, nil
}

// publish adds 0 to the counters that alerts use. Without publish, a series would begin with
// its first event, and the rate of a series with one value is 0.
func (t *telemetry) publish(protocol Protocol) {
	ctx := context.Background()
	for _, reason := range []string{dropRejected, dropUnencodable, dropPartial, dropTooLarge, dropPermanent, dropIdentities, dropShutdown, dropRetriesOff} {
		t.builder.ExporterStefItemsDropped.Add(ctx, 0, t.with(attribute.String("reason", reason)))
	}
	for used, arrived := range t.arrived {
		if protocol != ProtocolAuto && protocol != used {
			continue
		}
		t.builder.ExporterStefItemsDelivered.Add(ctx, 0, arrived)
		for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded} {
			t.builder.ExporterStefFailedAttempts.Add(ctx, 0, t.attempt(used, code))
		}
	}
	if protocol == ProtocolOTLP {
		return
	}
	t.builder.ExporterStefRecordsRejected.Add(ctx, 0, t.plain)
	t.builder.ExporterStefRecordsRejectedLate.Add(ctx, 0, t.plain)
	for _, reason := range []stefgrpc.CloseReason{stefgrpc.CloseLost, stefgrpc.CloseAckTimeout, stefgrpc.CloseEncoder} {
		t.builder.ExporterStefStreamsClosed.Add(ctx, 0, t.with(reasonOf(reason, nil)))
	}
}

func (t *telemetry) with(more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, t.own...)...))
}

// dropped counts items that will not be sent again. It does nothing if reason is
// empty.
func (t *telemetry) dropped(ctx context.Context, reason string, items int) {
	if items > 0 && reason != "" {
		t.builder.ExporterStefItemsDropped.Add(ctx, int64(items), t.with(attribute.String("reason", reason)))
	}
}

func (t *telemetry) failed(ctx context.Context, protocol Protocol, code codes.Code) {
	t.builder.ExporterStefFailedAttempts.Add(ctx, 1, t.attempt(protocol, code))
}

func (t *telemetry) attempt(protocol Protocol, code codes.Code) metric.MeasurementOption {
	return t.with(attribute.String("protocol", string(protocol)), attribute.String("code", codeName(code)))
}

func (t *telemetry) delivered(ctx context.Context, protocol Protocol, items int) {
	if items > 0 {
		t.builder.ExporterStefItemsDelivered.Add(ctx, int64(items), t.arrived[protocol])
	}
}

func (t *telemetry) backendItems(address string, items int) {
	t.builder.ExporterStefBackendItems.Add(context.Background(), int64(items), t.with(attribute.String("endpoint", address)))
}

// rerouted counts items that are sent to other backends because their own backend is down.
func (t *telemetry) rerouted(address string, items int) {
	t.builder.ExporterStefBackendReroutedItems.Add(context.Background(), int64(items), t.with(attribute.String("endpoint", address)))
}

func (t *telemetry) frame(encoded, compressed int, dictReset bool) {
	ctx := context.Background()
	t.encoded.Add(int64(encoded))
	t.compressed.Add(int64(compressed))
	t.builder.ExporterStefBytesEncoded.Add(ctx, int64(encoded), t.plain)
	t.builder.ExporterStefBytesCompressed.Add(ctx, int64(compressed), t.plain)
	t.builder.ExporterStefFramesSent.Add(ctx, 1, t.plain)
	t.builder.ExporterStefFrameSize.Record(ctx, int64(compressed), t.plain)
	if dictReset {
		t.builder.ExporterStefDictResets.Add(ctx, 1, t.plain)
	}
}

// gauges are values that are collected when metrics are read.
type gauges struct {
	live, connecting, draining int
	unackedBatches             int
	unackedBytes               int64
	otlpInFlight               int
	backends                   map[string]bool // for each address: whether the backend answers
}

func (t *telemetry) observe(now func() gauges) error {
	b := t.builder
	gauge := func(register func(metric.Int64Callback) error, value func(gauges) int64) error {
		return register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(value(now()), t.plain)
			return nil
		})
	}
	states := func(_ context.Context, o metric.Int64Observer) error {
		g := now()
		for state, n := range map[string]int{"live": g.live, "connecting": g.connecting, "draining": g.draining} {
			o.Observe(int64(n), t.with(attribute.String("state", state)))
		}
		return nil
	}
	ratio := func(_ context.Context, o metric.Float64Observer) error {
		if compressed := t.compressed.Load(); compressed > 0 {
			o.Observe(float64(t.encoded.Load())/float64(compressed), t.plain)
		}
		return nil
	}
	backends := func(_ context.Context, o metric.Int64Observer) error {
		for address, up := range now().backends {
			value := int64(0)
			if up {
				value = 1
			}
			o.Observe(value, t.with(attribute.String("endpoint", address)))
		}
		return nil
	}
	for _, err := range []error{
		b.RegisterExporterStefBackendUpCallback(backends),
		b.RegisterExporterStefStreamsActiveCallback(states),
		b.RegisterExporterStefZstdRatioCallback(ratio),
		gauge(b.RegisterExporterStefUnackedBatchesCallback, func(g gauges) int64 { return int64(g.unackedBatches) }),
		gauge(b.RegisterExporterStefUnackedBytesCallback, func(g gauges) int64 { return g.unackedBytes }),
		gauge(b.RegisterExporterStefOtlpInFlightCallback, func(g gauges) int64 { return int64(g.otlpInFlight) }),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

// processStart is the origin of times that are stored as numbers. Such times are monotonic:
// setting the clock of the machine does not change them.
var processStart = time.Now()

// throttle allows one event per period, and counts the events that it does not allow.
type throttle struct {
	period  time.Duration
	next    atomic.Int64 // time of the next event, in ns since processStart
	skipped atomic.Int64
}

// pass reports whether an event is allowed now, and how many events were skipped
// since the last allowed event.
func (t *throttle) pass() (skipped int64, ok bool) {
	now := int64(time.Since(processStart))
	next := t.next.Load()
	if now < next || !t.next.CompareAndSwap(next, now+int64(t.period)) {
		t.skipped.Add(1)
		return 0, false
	}
	return t.skipped.Swap(0), true
}

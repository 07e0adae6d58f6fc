// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-pdata"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// notShort skips a test of sizes and counts, in which only one goroutine works at a time. With
// -short, as for the race detector, such a test would take long and find nothing new.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED with -short: nothing in this test is concurrent")
	}
}

// testConfig returns the default configuration with a free port and short intervals. Only the timeout
// of a shutdown is long, because a shutdown may take long on a busy machine.
func testConfig(changes ...func(*Config)) *Config {
	c := createDefaultConfig().(*Config)
	c.ServerConfig.NetAddr.Endpoint = "localhost:0"
	c.AckInterval, c.RetryAfter, c.ShutdownTimeout = time.Millisecond, time.Millisecond, time.Minute
	for _, change := range changes {
		change(c)
	}
	return c
}

// rig is a running receiver for the signals that have a consumer.
type rig struct {
	t         testing.TB
	config    *Config
	shared    *shared
	telemetry *componenttest.Telemetry
	parts     []receiver.Traces
	address   string
	stopped   bool
}

type sinks struct {
	traces  consumer.Traces
	metrics consumer.Metrics
	logs    consumer.Logs
}

func startRig(t testing.TB, config *Config, to sinks) *rig {
	t.Helper()
	r := &rig{t: t, config: config, telemetry: componenttest.NewTelemetry()}
	settings := receivertest.NewNopSettings(metadata.Type)
	settings.ID = component.NewID(metadata.Type)
	settings.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	factory, ctx := NewFactory(), context.Background()
	add := func(part receiver.Traces, err error) {
		require.NoError(t, err)
		r.parts = append(r.parts, part)
	}
	if to.traces != nil {
		add(factory.CreateTraces(ctx, settings, config, to.traces))
	}
	if to.metrics != nil {
		add(factory.CreateMetrics(ctx, settings, config, to.metrics))
	}
	if to.logs != nil {
		add(factory.CreateLogs(ctx, settings, config, to.logs))
	}
	for _, part := range r.parts {
		require.NoError(t, part.Start(ctx, componenttest.NewNopHost()))
	}
	r.shared = sharedOf(config)
	r.address = r.shared.server.address.String()
	t.Cleanup(func() {
		if !r.stopped {
			require.NoError(t, r.stop(ctx))
		}
		require.NoError(t, r.telemetry.Shutdown(ctx))
	})
	return r
}

func sharedOf(config *Config) *shared {
	instances.Lock()
	defer instances.Unlock()
	return instances.of[config]
}

// stop shuts the receiver down and checks that no bytes stay admitted or buffered.
func (r *rig) stop(ctx context.Context) error {
	r.stopped = true
	var first error
	for _, part := range r.parts {
		if err := part.Shutdown(ctx); first == nil {
			first = err
		}
	}
	require.Nil(r.t, sharedOf(r.config))
	if first == nil {
		r.requireIdle()
	}
	return first
}

// requireIdle checks that nothing is admitted, waiting or buffered.
func (r *rig) requireIdle() {
	r.t.Helper()
	r.requireBuffered(0)
}

// requireBuffered checks that nothing is admitted or waiting, and that the transport buffers n
// bytes.
func (r *rig) requireBuffered(n int64) {
	r.t.Helper()
	r.requireBufferedOf(n, 0)
}

// requireBufferedOf is like requireBuffered, but expects that the given number of bytes is
// admitted.
func (r *rig) requireBufferedOf(n, admitted int64) {
	r.t.Helper()
	require.EventuallyWithT(r.t, func(t *assert.CollectT) {
		inFlight, waiting := r.shared.admission.state()
		require.Equal(t, admitted, inFlight)
		require.Zero(t, waiting)
		decoding, queued := r.shared.decoding.state()
		require.Zero(t, decoding)
		require.Zero(t, queued)
		small, _ := r.shared.decompression.small.state()
		large, _ := r.shared.decompression.large.state()
		throttle, _ := r.shared.decompression.throttle.state()
		require.Zero(t, small+large+throttle)
		require.Zero(t, r.shared.decompression.waiting())
		stats := r.shared.server.stef.Stats()
		require.Equal(t, n, stats.BufferedBytes)
	}, time.Minute, time.Millisecond)
}

func (r *rig) dial(options ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	return dial(r.t, r.address, options...)
}

func dial(t testing.TB, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// sender is a client stream of one signal with a writer, as an exporter has it.
type sender[T any] struct {
	stream *stefgrpc.Stream
	encode func(T) error
	flush  func() error
	sent   func() uint64 // the id of the last record written
}

// kind contains the functions of a signal that tests need. The function one returns a batch of a single
// item with an id.
type kind[T any] struct {
	root func() *schema.Struct
	make func(*sender[T], ...stef.WriterOption) error
	one  func(id receivertest.UniqueIDAttrVal) T
}

var traceKind = kind[ptrace.Traces]{otelstef.SpansRoot, func(s *sender[ptrace.Traces], options ...stef.WriterOption) error {
	w, err := otelstef.NewSpansWriter(s.stream, options...)
	s.flush, s.sent = w.Flush, func() uint64 { return w.Stats().Records }
	s.encode = stefpdata.NewTracesEncoder(w).Encode
	return err
}, receivertest.CreateOneSpanWithID}

var metricKind = kind[pmetric.Metrics]{otelstef.MetricsRoot, func(s *sender[pmetric.Metrics], options ...stef.WriterOption) error {
	w, err := otelstef.NewMetricsWriter(s.stream, options...)
	s.flush, s.sent = w.Flush, func() uint64 { return w.Stats().Records }
	s.encode = stefpdata.NewMetricsEncoder(w).Encode
	return err
}, receivertest.CreateGaugeMetricWithID}

var logKind = kind[plog.Logs]{otelstef.LogsRoot, func(s *sender[plog.Logs], options ...stef.WriterOption) error {
	w, err := otelstef.NewLogsWriter(s.stream, options...)
	s.flush, s.sent = w.Flush, func() uint64 { return w.Stats().Records }
	s.encode = stefpdata.NewLogsEncoder(w).Encode
	return err
}, receivertest.CreateOneLogWithID}

func (k kind[T]) open(conn *grpc.ClientConn) (*sender[T], error) {
	client, err := stefgrpc.NewClient(conn)
	if err != nil {
		return nil, err
	}
	stream, err := client.Open(context.Background(), k.root())
	if err != nil {
		return nil, err
	}
	s := &sender[T]{stream: stream}
	if err := k.make(s, append(stream.WriterOptions(), stef.WithCompression(stef.Zstd))...); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return s, nil
}

func (k kind[T]) mustOpen(t testing.TB, conn *grpc.ClientConn) *sender[T] {
	t.Helper()
	s, err := k.open(conn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.stream.Close() })
	return s
}

// send sends each batch as a frame, and returns the id of the last record.
func (s *sender[T]) send(batches ...T) (uint64, error) {
	for _, b := range batches {
		if err := s.encode(b); err != nil {
			return 0, err
		}
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	return s.sent(), nil
}

// deliver sends a batch and waits until it is acknowledged.
func (s *sender[T]) deliver(b T) error {
	id, err := s.send(b)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return s.stream.AwaitAck(ctx, id)
}

// endOf waits until a stream has ended, and returns its error.
func endOf(t testing.TB, s *stefgrpc.Stream) error {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		require.Fail(t, "the stream does not end")
	}
	return s.Err()
}

// points returns a batch of n points.
func points(n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "shop")
	m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("requests")
	dps := m.SetEmptyGauge().DataPoints()
	for i := range n {
		dp := dps.AppendEmpty()
		dp.SetIntValue(int64(i))
		dp.SetTimestamp(1)
	}
	return md
}

// largePoint returns a batch of one point. Its 2 MiB of text exceed small limits for admission.
func largePoint() pmetric.Metrics {
	md := points(1)
	text := make([]byte, 2*mib) // compresses badly, so that the client is not expensive
	random := rand.NewPCG(1, 2)
	for i := range text {
		text[i] = ' ' + byte(random.Uint64()%64)
	}
	md.ResourceMetrics().At(0).Resource().Attributes().PutStr("large", string(text))
	return md
}

// acting is a consumer of metrics that runs a function of the test.
func acting(t testing.TB, f func(context.Context, pmetric.Metrics) error) consumer.Metrics {
	t.Helper()
	c, err := consumer.NewMetrics(f)
	require.NoError(t, err)
	return c
}

// everything accepts and stores all signals.
func everything() (sinks, *consumertest.TracesSink, *consumertest.MetricsSink, *consumertest.LogsSink) {
	traces, metrics, logs := new(consumertest.TracesSink), new(consumertest.MetricsSink), new(consumertest.LogsSink)
	return sinks{traces, metrics, logs}, traces, metrics, logs
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// exporterConfig has no queue and no retries, so that tests see the results of sends. Its intervals
// for retries, flushes and probes are short.
func exporterConfig(addr string, changes ...func(*stefexporter.Config)) *stefexporter.Config {
	c := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config)
	c.ClientConfig.Endpoint = addr
	c.ClientConfig.TLS.Insecure = true
	c.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	c.RetryConfig.Enabled = false
	c.RetryConfig.InitialInterval = time.Millisecond
	c.RetryConfig.MaxInterval = 100 * time.Millisecond
	c.TimeoutConfig.Timeout = time.Minute
	c.Stef.FlushInterval = time.Millisecond
	c.Stef.ShutdownDrainTimeout = time.Minute
	c.Fallback.ProbeInterval = 50 * time.Millisecond
	for _, change := range changes {
		change(c)
	}
	return c
}

// receiverConfig returns a configuration that acknowledges immediately and asks clients to wait
// only a millisecond before a retry. more is additional YAML.
func receiverConfig(t *testing.T, addr, more string) *stefreceiver.Config {
	t.Helper()
	c := stefreceiver.NewFactory().CreateDefaultConfig().(*stefreceiver.Config)
	c.AckInterval = 0
	c.RetryAfter = time.Millisecond
	c.ShutdownTimeout = time.Minute
	retrieved, err := confmap.NewRetrievedFromYAML([]byte("{endpoint: '" + addr + "', " + more + "}"))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	require.NoError(t, conf.Unmarshal(c))
	require.NoError(t, confmap.Validate(c))
	return c
}

// sink is the end of a pipeline. It stores the ids of accepted items.
type sink[T any] struct {
	kind *kind[T]
	// decide returns the error for a batch, or nil to accept it.
	decide func(ctx context.Context, ids []string) error

	mu    sync.Mutex
	seen  map[string]int
	items int
}

func newSink[T any](k *kind[T]) *sink[T] { return &sink[T]{kind: k, seen: map[string]int{}} }

func (s *sink[T]) consume(ctx context.Context, batch T) error {
	ids := s.kind.ids(batch)
	if s.decide != nil {
		if err := s.decide(ctx, ids); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.seen[id]++
	}
	s.items += len(ids)
	return nil
}

func (s *sink[T]) count() (items, different int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items, len(s.seen)
}

func (s *sink[T]) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[id] > 0
}

type receiverEnd struct {
	component.Component
	telemetry       *componenttest.Telemetry
	shutdownMayFail bool // the shutdown may fail because data was not consumed in time
	once            sync.Once
	t               *testing.T
}

func startReceiver[T any](t *testing.T, k *kind[T], c *stefreceiver.Config, s *sink[T]) *receiverEnd {
	t.Helper()
	r := &receiverEnd{telemetry: componenttest.NewTelemetry(), t: t}
	settings := receivertest.NewNopSettings(stefreceiver.NewFactory().Type())
	settings.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	var err error
	r.Component, err = k.receiver(context.Background(), stefreceiver.NewFactory(), settings, c, s.consume)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Start(context.Background(), componenttest.NewNopHost()) == nil }, time.Minute, 10*time.Millisecond)
	t.Cleanup(r.stop)
	return r
}

func (r *receiverEnd) stop() {
	r.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := r.Shutdown(ctx); !r.shutdownMayFail {
			require.NoError(r.t, err)
		}
		require.NoError(r.t, r.telemetry.Shutdown(context.Background()))
	})
}

type exporterEnd[T any] struct {
	component.Component
	kind      *kind[T]
	push      func(context.Context, T) error
	telemetry *componenttest.Telemetry
	once      sync.Once
	t         *testing.T
}

func startExporter[T any](t *testing.T, k *kind[T], c *stefexporter.Config) *exporterEnd[T] {
	t.Helper()
	x := &exporterEnd[T]{kind: k, telemetry: componenttest.NewTelemetry(), t: t}
	settings := exportertest.NewNopSettings(stefexporter.NewFactory().Type())
	settings.TelemetrySettings = x.telemetry.NewTelemetrySettings()
	var err error
	x.Component, x.push, err = k.exporter(context.Background(), stefexporter.NewFactory(), settings, c)
	require.NoError(t, err)
	require.NoError(t, x.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() {
		x.stop()
		require.NoError(t, x.telemetry.Shutdown(context.Background()))
	})
	return x
}

func (x *exporterEnd[T]) stop() {
	x.once.Do(func() { require.NoError(x.t, x.Shutdown(context.Background())) })
}

func (x *exporterEnd[T]) send(ids ...string) error {
	return x.push(context.Background(), x.kind.batch(ids))
}

// value returns the sum of a metric over all attributes. It returns 0 if the metric does not
// exist yet.
func value(t *testing.T, telemetry *componenttest.Telemetry, name string) int64 {
	t.Helper()
	m, err := telemetry.GetMetric(name)
	if err != nil {
		return 0
	}
	var total int64
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			total += p.Value
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			total += p.Value
		}
	default:
		require.Fail(t, "not a number", "%s is %T", name, m.Data)
	}
	return total
}

// valueOf is like value, but only for points with the given value of an attribute.
func valueOf(t *testing.T, telemetry *componenttest.Telemetry, name, key, want string) int64 {
	t.Helper()
	m, err := telemetry.GetMetric(name)
	if err != nil {
		return 0
	}
	var total int64
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		if v, ok := p.Attributes.Value(attribute.Key(key)); ok && v.AsString() == want {
			total += p.Value
		}
	}
	return total
}

// settled waits until nothing is pending at either end.
func settled[T any](t *testing.T, x *exporterEnd[T], r *receiverEnd) {
	t.Helper()
	require.Eventually(t, func() bool {
		return value(t, x.telemetry, "otelcol_exporter_stef_unacked_batches") == 0 &&
			value(t, x.telemetry, "otelcol_exporter_stef_unacked_bytes") == 0 &&
			value(t, r.telemetry, "otelcol_receiver_stef_admission_in_flight_bytes") == 0 &&
			value(t, r.telemetry, "otelcol_receiver_stef_admission_waiting_bytes") == 0
	}, time.Minute, 10*time.Millisecond)
}

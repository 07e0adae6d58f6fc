// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// A Variant is a protocol with a compression.
type Variant struct {
	Name        string
	protocol    stefexporter.Protocol
	compression configcompression.Type
	immediate   bool     // stef::flush_interval is 0
	settings    settings // have precedence over the settings of the flags
}

// The variants.
var (
	STEF     = Variant{Name: "STEF+zstd", protocol: stefexporter.ProtocolSTEF, compression: configcompression.TypeZstd}
	OTLP     = Variant{Name: "OTLP+zstd", protocol: stefexporter.ProtocolOTLP, compression: configcompression.TypeZstd}
	OTLPGzip = Variant{Name: "OTLP+gzip", protocol: stefexporter.ProtocolOTLP, compression: configcompression.TypeGzip}

	Variants = []Variant{STEF, OTLP, OTLPGzip}
)

// senders is the number of batches in flight. The queue has the same number of
// consumers.
const senders = 16

// exporterConfig is the default configuration with the settings of the flags and of the variant.
// The queue returns the result of a batch to its sender, and no batch is retried.
func (v Variant) exporterConfig(address string) *stefexporter.Config {
	c := stefexporter.NewFactory().CreateDefaultConfig().(*stefexporter.Config)
	c.ClientConfig.Endpoint = address
	c.ClientConfig.TLS.Insecure = true
	c.ClientConfig.Middlewares = []configmiddleware.Config{{ID: meterID}}
	c.QueueConfig.Get().WaitForResult = true
	c.QueueConfig.Get().NumConsumers = senders
	c.RetryConfig.Enabled = false
	c.TimeoutConfig.Timeout = time.Minute
	c.Protocol = v.protocol
	c.Stef.Compression = v.compression
	base.with(v.settings).apply(&c.Stef)
	if v.immediate {
		c.Stef.FlushInterval = 0
	}
	c.Fallback.Compression = v.compression
	c.Fallback.MaxConcurrentRequests = senders
	return c
}

type pair struct {
	signal  otlpfile.Signal
	network wireMeter
	consume func(otlpfile.Batch)
	arrived atomic.Int64 // number of items

	send     func(otlpfile.Batch) error // returns when the exporter has the acknowledgement of the batch
	sender   component.Component
	receiver component.Component
}

// startPair starts both ends. If consume is not nil, it receives the arriving batches.
func startPair(tb testing.TB, v Variant, signal otlpfile.Signal, consume func(otlpfile.Batch)) *pair {
	tb.Helper()
	p := &pair{signal: signal, consume: consume}
	address := freeport.Address(tb)

	config := stefreceiver.NewFactory().CreateDefaultConfig().(*stefreceiver.Config)
	config.ServerConfig.NetAddr.Endpoint = address
	require.NoError(tb, p.create(v.exporterConfig(address), config))
	require.NoError(tb, p.receiver.Start(context.Background(), componenttest.NewNopHost()))
	require.NoError(tb, p.sender.Start(context.Background(), newHost(&p.network)))
	return p
}

// create creates both ends.
func (p *pair) create(from *stefexporter.Config, to *stefreceiver.Config) error {
	ctx, exporters, receivers := context.Background(), stefexporter.NewFactory(), stefreceiver.NewFactory()
	sending, receiving := exportertest.NewNopSettings(exporters.Type()), receivertest.NewNopSettings(receivers.Type())
	switch p.signal {
	case otlpfile.Metrics:
		x, err := exporters.CreateMetrics(ctx, sending, from)
		next, noNext := consumer.NewMetrics(func(_ context.Context, md pmetric.Metrics) error { return p.arrive(otlpfile.MetricsBatch(md)) })
		r, noReceiver := receivers.CreateMetrics(ctx, receiving, to, next)
		p.sender, p.receiver, p.send = x, r, func(b otlpfile.Batch) error { return x.ConsumeMetrics(ctx, b.Metrics) }
		return errors.Join(err, noNext, noReceiver)
	case otlpfile.Traces:
		x, err := exporters.CreateTraces(ctx, sending, from)
		next, noNext := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error { return p.arrive(otlpfile.TracesBatch(td)) })
		r, noReceiver := receivers.CreateTraces(ctx, receiving, to, next)
		p.sender, p.receiver, p.send = x, r, func(b otlpfile.Batch) error { return x.ConsumeTraces(ctx, b.Traces) }
		return errors.Join(err, noNext, noReceiver)
	default:
		x, err := exporters.CreateLogs(ctx, sending, from)
		next, noNext := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error { return p.arrive(otlpfile.LogsBatch(ld)) })
		r, noReceiver := receivers.CreateLogs(ctx, receiving, to, next)
		p.sender, p.receiver, p.send = x, r, func(b otlpfile.Batch) error { return x.ConsumeLogs(ctx, b.Logs) }
		return errors.Join(err, noNext, noReceiver)
	}
}

// arrive is the consumer of the receiver.
func (p *pair) arrive(b otlpfile.Batch) error {
	if p.consume != nil {
		p.consume(b)
	}
	p.arrived.Add(int64(b.Items()))
	return nil
}

// sendAll sends batches with all senders and checks that every item arrives.
func (p *pair) sendAll(tb testing.TB, batches ...otlpfile.Batch) {
	tb.Helper()
	before, items := p.arrived.Load(), 0
	todo := make(chan otlpfile.Batch, len(batches))
	for _, b := range batches {
		todo <- b
		items += b.Items()
	}
	close(todo)
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range senders {
		group.Go(func() {
			for b := range todo {
				if err := p.send(b); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		require.NoError(tb, *err)
	}
	require.EqualValues(tb, items, p.arrived.Load()-before)
}

func (p *pair) stop(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, p.sender.Shutdown(context.Background()))
	require.NoError(tb, p.receiver.Shutdown(context.Background()))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	grpcmetadata "google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

type peer struct {
	ptraceotlp.UnimplementedGRPCServer

	addr   string
	server *grpc.Server
	stef   *stefgrpc.Server
	root   *schema.Struct // root of the streams; nil means the root of spans
	// advertise is the schema to announce to clients. If it is nil, the peer announces the whole
	// schema.
	advertise schema.WireSchema

	// onRequest answers OTLP requests, and onStream handles streams. If a function is nil, the peer
	// accepts everything.
	onRequest func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error)
	onStream  func(*stefgrpc.ServerStream) error

	mu      sync.Mutex
	streams []grpcmetadata.MD
	byOTLP  []string // names of spans
	bySTEF  []string
}

// listen starts a peer that supports STEF, OTLP or both. If addr is empty, the peer uses any free
// port. A test that stops its peer and starts another peer at the same address needs an addr from
// freeport.Address. While no peer listens, a connection of another test could use any other port.
func listen(t *testing.T, p *peer, addr string, withSTEF, withOTLP bool, options ...grpc.ServerOption) *peer {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	listener := listenTCP(t, addr)
	p.addr = listener.Addr().String()
	p.server = grpc.NewServer(options...)
	if withOTLP {
		ptraceotlp.RegisterGRPCServer(p.server, p)
	}
	if withSTEF {
		var err error
		p.stef, err = stefgrpc.NewServer(stefgrpc.WithAckInterval(0))
		require.NoError(t, err)
		if p.root == nil {
			p.root = otelstef.SpansRoot()
		}
		var options []stefgrpc.HandleOption
		if p.advertise != nil {
			options = append(options, stefgrpc.WithAdvertisedSchema(p.advertise))
		}
		require.NoError(t, p.stef.Handle(p.root, p, options...))
		p.stef.Register(p.server)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.server.Serve(listener)
	}()
	t.Cleanup(func() {
		p.stop(t)
		<-done
	})
	return p
}

// listenTCP listens on addr as soon as the address is free.
func listenTCP(t *testing.T, addr string) (l net.Listener) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		l, err = net.Listen("tcp", addr)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	return l
}

func (p *peer) stop(t *testing.T) {
	t.Helper()
	if p.stef != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = p.stef.Shutdown(ctx)
	}
	p.server.Stop()
}

// Export receives an OTLP request.
func (p *peer) Export(ctx context.Context, request ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	if p.onRequest != nil {
		if response, err := p.onRequest(ctx, request.Traces()); err != nil || response != (ptraceotlp.ExportResponse{}) {
			return response, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byOTLP = append(p.byOTLP, names(request.Traces())...)
	return ptraceotlp.NewExportResponse(), nil
}

// ServeSTEF receives a stream.
func (p *peer) ServeSTEF(s *stefgrpc.ServerStream) error {
	md, _ := grpcmetadata.FromIncomingContext(s.Context())
	p.mu.Lock()
	p.streams = append(p.streams, md)
	p.mu.Unlock()
	if p.onStream != nil {
		return p.onStream(s)
	}
	return p.take(s)
}

func (p *peer) take(s *stefgrpc.ServerStream) error {
	r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
	if err != nil {
		return err
	}
	d := stefpdata.NewTracesDecoder(r)
	for {
		td, err := d.Decode()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.bySTEF = append(p.bySTEF, names(td)...)
		p.mu.Unlock()
		s.AckUpTo(r.Stats().Records)
	}
}

func (p *peer) got() (bySTEF, byOTLP int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bySTEF), len(p.byOTLP)
}

func names(td ptrace.Traces) []string {
	var list []string
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				list = append(list, s.Name())
			}
		}
	}
	return list
}

func spans(list ...string) ptrace.Traces {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, name := range list {
		s := ss.AppendEmpty()
		s.SetName(name)
		s.SetTraceID([16]byte{1, byte(i)})
		s.SetSpanID([8]byte{2, byte(i)})
	}
	return td
}

// testConfig returns a configuration without queue and retries, so that the call that sends a batch
// returns the result of the batch.
func testConfig(addr string) *Config {
	c := createDefaultConfig().(*Config)
	c.ClientConfig.Endpoint = addr
	c.ClientConfig.TLS.Insecure = true
	c.QueueConfig = configoptional.None[exporterhelper.QueueBatchConfig]()
	c.RetryConfig.Enabled = false
	c.TimeoutConfig.Timeout = time.Minute
	c.Stef.FlushInterval = time.Millisecond
	c.Stef.ShutdownDrainTimeout = 2 * time.Second
	c.Fallback.ProbeInterval = 50 * time.Millisecond
	return c
}

type statusHost struct {
	component.Host
	mu     sync.Mutex
	events []*componentstatus.Event
}

// Report implements componentstatus.Reporter.
func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *statusHost) last() *componentstatus.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 {
		return componentstatus.NewEvent(componentstatus.StatusNone)
	}
	return h.events[len(h.events)-1]
}

// rig is a running exporter of traces.
type rig struct {
	exporter.Traces
	host      *statusHost
	telemetry *componenttest.Telemetry
}

func start(t *testing.T, c *Config) *rig {
	t.Helper()
	r := &rig{
		host:      &statusHost{Host: componenttest.NewNopHost()},
		telemetry: componenttest.NewTelemetry(),
	}
	settings := exportertest.NewNopSettings(metadata.Type)
	settings.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	var err error
	r.Traces, err = NewFactory().CreateTraces(context.Background(), settings, c)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), r.host))
	t.Cleanup(func() {
		require.NoError(t, r.Shutdown(context.Background()))
		r.checkSendFailed(t)
		require.NoError(t, r.telemetry.Shutdown(context.Background()))
	})
	return r
}

// checkSendFailed checks the assumption of the alert StefExporterGivesUp: items that fail permanently
// and count in send_failed also count in items_dropped.
func (r *rig) checkSendFailed(t *testing.T) {
	t.Helper()
	m, err := r.telemetry.GetMetric("otelcol_exporter_send_failed_spans")
	if err != nil {
		return // nothing failed
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		permanent, ok := p.Attributes.Value("error.permanent")
		require.True(t, ok)
		if permanent.AsBool() {
			require.NotEmpty(t, counted(t, r, "items_dropped", "reason"))
		}
	}
}

func (r *rig) send(list ...string) error {
	return r.ConsumeTraces(context.Background(), spans(list...))
}

// startSignal starts an exporter without exporterhelper.
func startSignal[B any](t *testing.T, c *Config, s *signal.Descriptor[B]) *stefExporter[B] {
	t.Helper()
	return startSignalOn(t, c, s, componenttest.NewNopHost())
}

func startSignalOn[B any](t *testing.T, c *Config, s *signal.Descriptor[B], host component.Host) *stefExporter[B] {
	t.Helper()
	x, err := newExporter(c, s, func(RoutingKey) splitter[B] { return splitter[B]{} }, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	require.NoError(t, x.start(context.Background(), host))
	t.Cleanup(func() { require.NoError(t, x.shutdown(context.Background())) })
	return x
}

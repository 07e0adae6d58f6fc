// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/signal"
	stefsdk "github.com/otelstef/stef/sdk"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// Peer is a server on a network inside of the process. Set its fields before Start.
type Peer struct {
	Network    *netfault.Memory
	STEF, OTLP bool // the protocols that the peer implements
	// Stream are options of the STEF server.
	Stream []stefgrpc.ServerOption
	// Server are options of the gRPC server.
	Server []grpc.ServerOption
	// Handler, if set, receives the streams of spans.
	Handler stefgrpc.HandlerFunc

	mu       sync.Mutex
	verdict  func(items int) error
	reject   bool
	partial  Partial
	traces   []ptrace.Traces
	metrics  []pmetric.Metrics
	logs     []plog.Logs
	headers  []metadata.MD
	byOTLP   int
	streams  *stefgrpc.Server
	server   *grpc.Server
	finished chan struct{}
}

// NewPeer returns a peer that has both protocols and is not started.
func NewPeer(t testing.TB, link netfault.Link) *Peer {
	t.Helper()
	network, err := netfault.NewMemory(link)
	require.NoError(t, err)
	p := &Peer{Network: network, STEF: true, OTLP: true}
	t.Cleanup(func() {
		p.Kill()
		_ = network.Close()
	})
	return p
}

// Options returns the options of an exporter to the peer. The timeout is so long that a loaded
// machine does not exceed it.
func (p *Peer) Options(more ...stefsdk.Option) []stefsdk.Option {
	return append([]stefsdk.Option{
		stefsdk.WithEndpoint("passthrough:///peer"), stefsdk.WithInsecure(),
		stefsdk.WithDialOption(grpc.WithContextDialer(p.Network.Dial)), stefsdk.WithTimeout(time.Minute),
	}, more...)
}

// Start starts the server. It can be called again after Kill.
func (p *Peer) Start(t testing.TB) {
	t.Helper()
	listener, err := p.Network.Listen()
	require.NoError(t, err)
	server := grpc.NewServer(p.Server...)
	streams, err := stefgrpc.NewServer(p.Stream...)
	require.NoError(t, err)
	var spans stefgrpc.Handler = p.Handler
	if p.Handler == nil {
		spans = handler(p, signal.Traces, func(b ptrace.Traces) { p.traces = append(p.traces, b) })
	}
	require.NoError(t, errors.Join(
		streams.Handle(signal.Traces.Compact(), spans),
		streams.Handle(signal.Metrics.Compact(), handler(p, signal.Metrics, func(b pmetric.Metrics) { p.metrics = append(p.metrics, b) })),
		streams.Handle(signal.Logs.Compact(), handler(p, signal.Logs, func(b plog.Logs) { p.logs = append(p.logs, b) })),
	))
	if p.STEF {
		streams.Register(server)
	}
	if p.OTLP {
		ptraceotlp.RegisterGRPCServer(server, &otlpTraces{peer: p})
		pmetricotlp.RegisterGRPCServer(server, &otlpMetrics{peer: p})
		plogotlp.RegisterGRPCServer(server, &otlpLogs{peer: p})
	}
	p.streams, p.server, p.finished = streams, server, make(chan struct{})
	go func(finished chan struct{}) {
		defer close(finished)
		_ = server.Serve(listener)
	}(p.finished)
}

// Kill ends the server immediately. Its address is free afterwards.
func (p *Peer) Kill() {
	if p.server == nil {
		return
	}
	p.server.Stop()
	<-p.finished
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = p.streams.Shutdown(ctx)
	p.server = nil
}

// Answer sets the function that decides about each batch: if it returns nil, the peer accepts
// the batch; an error ends the stream or the request. The function may block.
func (p *Peer) Answer(verdict func(items int) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdict = verdict
}

// Reject makes the peer reject the first record of each batch of a stream.
func (p *Peer) Reject() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reject = true
}

// Partial is the partial success in the answers to OTLP requests.
type Partial struct {
	Rejected int64
	Message  string
}

// AcceptPartly sets the partial success of later requests. The peer still stores all items.
func (p *Peer) AcceptPartly(partial Partial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = partial
}

type partialSuccess interface{ SetErrorMessage(string) }

func (p *Peer) answer(to partialSuccess, reject func(int64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to.SetErrorMessage(p.partial.Message)
	reject(p.partial.Rejected)
}

// Received is the telemetry that a peer accepted.
type Received struct {
	Traces  []ptrace.Traces
	Metrics []pmetric.Metrics
	Logs    []plog.Logs
	Headers []metadata.MD // headers of streams and requests
	ByOTLP  int           // number of OTLP requests
}

// Received returns the telemetry that the peer accepted so far.
func (p *Peer) Received() Received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Received{
		append([]ptrace.Traces(nil), p.traces...), append([]pmetric.Metrics(nil), p.metrics...),
		append([]plog.Logs(nil), p.logs...), append([]metadata.MD(nil), p.headers...), p.byOTLP,
	}
}

// Spans returns the number of spans that the peer accepted.
func (p *Peer) Spans() int {
	n := 0
	for _, td := range p.Received().Traces {
		n += td.SpanCount()
	}
	return n
}

func (p *Peer) judge(items int) error {
	p.mu.Lock()
	verdict := p.verdict
	p.mu.Unlock()
	if verdict == nil {
		return nil
	}
	return verdict(items)
}

func (p *Peer) note(ctx context.Context) {
	headers, _ := metadata.FromIncomingContext(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.headers = append(p.headers, headers)
}

func handler[T any](p *Peer, d *signal.Descriptor[T], keep func(T)) stefgrpc.Handler {
	return stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		p.note(s.Context())
		decoder, err := d.NewDecoder(s, nil, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer decoder.Reader.Close()
		for {
			first := decoder.Reader.Stats().Records + 1
			batch, err := decoder.Decode()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := p.judge(d.Items(batch)); err != nil {
				return err
			}
			p.mu.Lock()
			keep(batch)
			reject := p.reject
			p.mu.Unlock()
			if reject {
				s.Reject(first, first)
			}
			s.AckUpTo(decoder.Records())
		}
	})
}

func accept[T any](ctx context.Context, p *Peer, items int, batch T, to *[]T) error {
	p.note(ctx)
	if err := p.judge(items); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, batch)
	p.byOTLP++
	return nil
}

type otlpTraces struct {
	ptraceotlp.UnimplementedGRPCServer
	peer *Peer
}

// Export implements ptraceotlp.GRPCServer.
func (o *otlpTraces) Export(ctx context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	response := ptraceotlp.NewExportResponse()
	o.peer.answer(response.PartialSuccess(), response.PartialSuccess().SetRejectedSpans)
	return response, accept(ctx, o.peer, r.Traces().SpanCount(), r.Traces(), &o.peer.traces)
}

type otlpMetrics struct {
	pmetricotlp.UnimplementedGRPCServer
	peer *Peer
}

// Export implements pmetricotlp.GRPCServer.
func (o *otlpMetrics) Export(ctx context.Context, r pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	response := pmetricotlp.NewExportResponse()
	o.peer.answer(response.PartialSuccess(), response.PartialSuccess().SetRejectedDataPoints)
	return response, accept(ctx, o.peer, r.Metrics().DataPointCount(), r.Metrics(), &o.peer.metrics)
}

type otlpLogs struct {
	plogotlp.UnimplementedGRPCServer
	peer *Peer
}

// Export implements plogotlp.GRPCServer.
func (o *otlpLogs) Export(ctx context.Context, r plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	response := plogotlp.NewExportResponse()
	o.peer.answer(response.PartialSuccess(), response.PartialSuccess().SetRejectedLogRecords)
	return response, accept(ctx, o.peer, r.Logs().LogRecordCount(), r.Logs(), &o.peer.logs)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steftrace"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var fast = stefsdk.WithRetry(stefsdk.RetryConfig{Enabled: true, InitialInterval: 5 * time.Millisecond, MaxInterval: 20 * time.Millisecond})

var process = resource.NewSchemaless(attribute.String("service.name", "shop"))

// batch returns n spans whose names begin with name.
func batch(name string, n int, more ...attribute.KeyValue) []sdktrace.ReadOnlySpan {
	var stubs tracetest.SpanStubs
	start := time.Unix(1_700_000_000, 0)
	for i := range n {
		stubs = append(stubs, tracetest.SpanStub{
			Name: fmt.Sprintf("%s/%d", name, i), Resource: process, Attributes: more,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2, byte(i)}}),
			StartTime:   start, EndTime: start.Add(time.Millisecond),
		})
	}
	return stubs.Snapshots()
}

// names returns the number of spans that arrived with each name.
func names(p *sdktest.Peer) map[string]int {
	count := map[string]int{}
	for _, td := range p.Received().Traces {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					count[span.Name()]++
				}
			}
		}
	}
	return count
}

func exporter(t *testing.T, options []stefsdk.Option) *steftrace.Exporter {
	t.Helper()
	x, err := steftrace.New(context.Background(), options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = x.Shutdown(ctx)
	})
	return x
}

func TestPeerIsKilledAndBack(t *testing.T) {
	ctx := context.Background()
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	stop := make(chan struct{})
	ended := make(chan struct{})
	const kills = 15
	go func() {
		defer close(ended)
		opened := uint64(0)
		for range kills {
			for x.Stats().Streams == opened { // the restarted peer has no stream yet
				time.Sleep(time.Millisecond)
			}
			time.Sleep(30 * time.Millisecond)
			peer.Kill()
			opened = x.Stats().Streams
			time.Sleep(20 * time.Millisecond)
			peer.Start(t)
		}
		close(stop)
	}()
	want := map[string]bool{}
	for i, running := 0, true; running; i++ {
		select {
		case <-stop:
			running = false
		default:
		}
		name := fmt.Sprintf("batch %d", i)
		require.NoError(t, x.ExportSpans(ctx, batch(name, 20)), name)
		for j := range 20 {
			want[fmt.Sprintf("%s/%d", name, j)] = true
		}
	}
	<-ended
	got := names(peer)
	for name := range want {
		require.NotZero(t, got[name], name)
	}
	require.Len(t, got, len(want))
	stats := x.Stats()
	require.EqualValues(t, len(want), stats.Delivered)
	require.GreaterOrEqual(t, stats.Streams, uint64(kills))
	require.Zero(t, stats.Failed)
}

func TestConnectionsBreak(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Start(t)
	// Call KillEach before the exporter connects: it affects only later connections.
	require.NoError(t, peer.Network.KillEach(netfault.Up, 1_000, 10_000))
	x := exporter(t, peer.Options(fast, stefsdk.WithCompression(stef.None)))
	for i := range 100 {
		require.NoError(t, x.ExportSpans(context.Background(), batch(fmt.Sprint("batch ", i), 50)))
	}
	got := names(peer)
	require.Len(t, got, 100*50)
	require.Greater(t, peer.Network.Opened(), 3)
}

func TestRefusals(t *testing.T) {
	f := func(name string, verdict error, kind stefgrpc.Kind) {
		t.Run(name, func(t *testing.T) {
			peer := sdktest.NewPeer(t, netfault.Link{})
			peer.OTLP = false
			peer.Answer(func(int) error { return verdict })
			peer.Start(t)
			x := exporter(t, peer.Options(fast, stefsdk.WithTimeout(2*time.Minute)))
			start := time.Now()
			err := x.ExportSpans(context.Background(), batch("a", 3))
			require.Less(t, time.Since(start), time.Minute)
			var e *stefgrpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, kind, e.Kind, "%v", err)
			require.EqualValues(t, 3, x.Stats().Failed)
			require.Zero(t, x.Stats().Retries)
		})
	}
	f("bad data", status.Error(codes.InvalidArgument, "never"), stefgrpc.KindInvalid)
	f("no permission", status.Error(codes.PermissionDenied, "no"), stefgrpc.KindAuth)
	f("exhausted for good", status.Error(codes.ResourceExhausted, "no"), stefgrpc.KindLimit)
}

// A peer that refuses streams may accept them later. So an export tries again to open a stream, unless
// the refusal is less than a second old.
func TestRefusalEnds(t *testing.T) {
	for _, refusal := range []error{status.Error(codes.Unauthenticated, "no token"), status.Error(codes.Unimplemented, "no STEF")} {
		var accept atomic.Bool
		var opened atomic.Int32
		peer := sdktest.NewPeer(t, netfault.Link{})
		peer.Server = []grpc.ServerOption{grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			opened.Add(1)
			if !accept.Load() {
				return refusal
			}
			return handle(srv, s)
		})}
		peer.Start(t)
		x := exporter(t, peer.Options(fast, stefsdk.WithOTLPFallback(false)))
		export := func() error { return x.ExportSpans(context.Background(), batch("a", 3)) }
		begin := time.Now()
		require.Equal(t, status.Code(refusal), status.Code(export()))
		for range 10 {
			require.Equal(t, status.Code(refusal), status.Code(export()))
		}
		before := opened.Load()
		require.LessOrEqual(t, before, 1+int32(time.Since(begin)/time.Second))
		time.Sleep(1100 * time.Millisecond)
		require.Equal(t, status.Code(refusal), status.Code(export()))
		require.Equal(t, before+1, opened.Load())
		accept.Store(true)
		time.Sleep(1100 * time.Millisecond)
		require.NoError(t, export())
		require.EqualValues(t, 12*3, x.Stats().Failed)
		require.EqualValues(t, 3, x.Stats().Delivered)
	}
}

// If the peer answers a part of a batch and then ends the stream with a permanent error, the
// answered items do not count as failed.
func TestEndsWithinBatch(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Handler = func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		for range 6 {
			if !r.Next() {
				return r.Err()
			}
		}
		s.Reject(2, 3)
		s.AckUpTo(6)
		return status.Error(codes.InvalidArgument, "bad data")
	}
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	require.Error(t, x.ExportSpans(context.Background(), batch("a", 10)))
	stats := x.Stats()
	require.EqualValues(t, 4, stats.Delivered)
	require.EqualValues(t, 2, stats.Rejected)
	require.EqualValues(t, 4, stats.Failed)
}

func TestNeitherSTEFNorOTLP(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.STEF, peer.OTLP = false, false
	var opened atomic.Int32
	peer.Server = []grpc.ServerOption{grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(s); !strings.HasSuffix(method, "/Export") {
			opened.Add(1)
		}
		return status.Error(codes.Unimplemented, "nothing here")
	})}
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	begin := time.Now()
	for range 20 {
		err := x.ExportSpans(context.Background(), batch("a", 3))
		require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	}
	require.LessOrEqual(t, opened.Load(), 2+int32(time.Since(begin)/time.Second), "exports try STEF once a second")
	require.EqualValues(t, 20*3, x.Stats().Failed)
}

func TestWithoutFallback(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.STEF = false
	peer.Start(t)
	x := exporter(t, peer.Options(fast, stefsdk.WithOTLPFallback(false)))
	err := x.ExportSpans(context.Background(), batch("a", 3))
	require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	require.Zero(t, peer.Received().ByOTLP)
}

// If a peer is replaced by a peer with only STEF, the exporter sends STEF immediately.
func TestBackFromOTLP(t *testing.T) {
	ctx := context.Background()
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.STEF = false
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	require.NoError(t, x.ExportSpans(ctx, batch("a", 3)))
	require.Equal(t, 1, peer.Received().ByOTLP)
	peer.Kill()
	peer.STEF, peer.OTLP = true, false
	peer.Start(t)
	require.NoError(t, x.ExportSpans(ctx, batch("b", 3)))
	require.Equal(t, 6, peer.Spans())
	require.Equal(t, 1, peer.Received().ByOTLP)
	stats := x.Stats()
	require.EqualValues(t, 6, stats.Delivered)
	require.EqualValues(t, 3, stats.ByOTLP)
	require.EqualValues(t, 1, stats.Downgrades)
}

// A peer with only STEF replaces a peer with only OTLP while several OTLP requests are waiting. The
// new peer refuses the requests. Each batch is then sent by STEF immediately, even if another
// export has already opened the stream.
func TestBackFromOTLPAtOnce(t *testing.T) {
	var replaced atomic.Bool
	arrived, answer := make(chan struct{}, 2), make(chan struct{})
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Server = []grpc.ServerOption{
		grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			if !replaced.Load() {
				return status.Error(codes.Unimplemented, "no STEF")
			}
			return handle(srv, s)
		}),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if !replaced.Load() {
				return handle(ctx, req)
			}
			arrived <- struct{}{}
			<-answer
			return nil, status.Error(codes.Unimplemented, "no OTLP")
		}),
	}
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	ctx := context.Background()
	require.NoError(t, x.ExportSpans(ctx, batch("a", 3)))
	require.EqualValues(t, 1, x.Stats().Downgrades)
	replaced.Store(true)
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- x.ExportSpans(ctx, batch("b", 3)) }()
	}
	for range 2 {
		<-arrived
	}
	answer <- struct{}{}
	require.NoError(t, <-results)
	answer <- struct{}{}
	require.NoError(t, <-results)
	require.EqualValues(t, 9, x.Stats().Delivered)
}

func throttled(t *testing.T, delay time.Duration) error {
	s, err := status.New(codes.ResourceExhausted, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	require.NoError(t, err)
	return s.Err()
}

func TestThrottling(t *testing.T) {
	for _, stef := range []bool{true, false} {
		t.Run(fmt.Sprint("STEF ", stef), func(t *testing.T) {
			peer := sdktest.NewPeer(t, netfault.Link{})
			peer.STEF = stef
			later := throttled(t, 300*time.Millisecond)
			calls := 0
			peer.Answer(func(int) error {
				if calls++; calls == 1 {
					return later
				}
				return nil
			})
			peer.Start(t)
			x := exporter(t, peer.Options(fast))
			start := time.Now()
			require.NoError(t, x.ExportSpans(context.Background(), batch("a", 3)))
			require.GreaterOrEqual(t, time.Since(start), 300*time.Millisecond)
			require.Equal(t, 3, peer.Spans())
		})
	}
}

// If a peer asks for a longer wait than the timeout allows, there is no second attempt.
func TestThrottlingForTooLong(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	later := throttled(t, time.Hour)
	peer.Answer(func(int) error { return later })
	peer.Start(t)
	x := exporter(t, peer.Options(stefsdk.WithTimeout(2*time.Minute), stefsdk.WithRetry(stefsdk.RetryConfig{Enabled: true, MaxElapsedTime: 2 * time.Minute})))
	start := time.Now()
	err := x.ExportSpans(context.Background(), batch("a", 3))
	require.Less(t, time.Since(start), time.Minute)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
}

func TestRetriesOff(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Answer(func(int) error { return status.Error(codes.Unavailable, "not now") })
	peer.Start(t)
	x := exporter(t, peer.Options(stefsdk.WithRetry(stefsdk.RetryConfig{})))
	err := x.ExportSpans(context.Background(), batch("a", 3))
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Zero(t, x.Stats().Retries)
}

// soon is how long an export may take beyond its timeout on a loaded machine. It is less than the
// timeout of Peer.Options.
const soon = 30 * time.Second

func TestStalledPeer(t *testing.T) {
	const timeout = 300 * time.Millisecond
	f := func(name string, stall func(p *sdktest.Peer, end <-chan struct{}), spans []sdktrace.ReadOnlySpan) {
		t.Run(name, func(t *testing.T) {
			peer := sdktest.NewPeer(t, netfault.Link{Window: 64 << 10})
			peer.Start(t)
			x := exporter(t, peer.Options(fast, stefsdk.WithTimeout(timeout), stefsdk.WithCompression(stef.None)))
			arrives := func(name string) {
				t.Helper()
				require.Eventually(t, func() bool { return x.ExportSpans(context.Background(), batch(name, 1)) == nil }, time.Minute, time.Millisecond)
			}
			arrives("a") // a loaded machine may need several exports
			failed := x.Stats().Failed
			ended := make(chan struct{})
			end := sync.OnceFunc(func() { close(ended) })
			defer end()
			stall(peer, ended)
			start := time.Now()
			err := x.ExportSpans(context.Background(), spans)
			require.Error(t, err)
			require.GreaterOrEqual(t, time.Since(start), timeout)
			require.Less(t, time.Since(start), timeout+soon)
			require.EqualValues(t, len(spans), x.Stats().Failed-failed)
			peer.Network.Clear()
			peer.Answer(nil)
			end()
			arrives("b")
		})
	}
	f("no acknowledgement", func(p *sdktest.Peer, end <-chan struct{}) {
		p.Answer(func(int) error { <-end; return nil })
	}, batch("x", 10))
	f("silent network", func(p *sdktest.Peer, _ <-chan struct{}) { p.Network.Stall(netfault.Both) }, batch("x", 10))
	// The batch is larger than the buffers of the network, so the export is still encoding
	// when its timeout ends.
	var huge []sdktrace.ReadOnlySpan
	for i := range 20 {
		huge = append(huge, batch(fmt.Sprint(i), 1, attribute.String("text", fmt.Sprint(i)+strings.Repeat("x", 1<<20)))...)
	}
	f("encoding waits", func(p *sdktest.Peer, _ <-chan struct{}) { p.Network.Stall(netfault.Up) }, huge)
}

func TestContextEnds(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	x := exporter(t, peer.Options(fast)) // the peer never starts
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		start := time.Now()
		err := x.ExportSpans(ctx, batch("a", 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(start), wait+soon)
		if strings.Contains(err.Error(), "no stream") {
			break
		}
		require.Less(t, wait, soon, "%v", err) // the error has no reason until the first attempt to open a stream has failed: wait longer
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, x.ExportSpans(ctx, batch("a", 1)), context.Canceled)
}

// TestContextEndsWithoutReason: a stream opens after a failure. If a later export fails, its error
// does not name the old failure.
func TestContextEndsWithoutReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := sdktest.NewPeer(t, netfault.Link{})
		x := exporter(t, peer.Options(fast, stefsdk.WithCompression(stef.None))) // zstd decoders are pooled, and this bubble must not share them with other tests
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		const failure = "connection refused"
		require.ErrorContains(t, x.ExportSpans(ctx, batch("a", 1)), failure)
		peer.Start(t)
		require.NoError(t, x.ExportSpans(t.Context(), batch("b", 1)))
		time.Sleep(10 * time.Minute) // the stream is closed, because it is idle
		peer.Network.Stall(netfault.Both)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := x.ExportSpans(ctx, batch("c", 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), failure)
		peer.Network.Clear()
		require.NoError(t, x.Shutdown(t.Context()))
	})
}

func TestShutdownDuringExport(t *testing.T) {
	t.Run("waits", func(t *testing.T) {
		peer := sdktest.NewPeer(t, netfault.Link{})
		begun, release := make(chan struct{}), make(chan struct{})
		peer.Answer(func(int) error { close(begun); <-release; return nil })
		peer.Start(t)
		x := exporter(t, peer.Options(fast))
		result := make(chan error, 1)
		go func() { result <- x.ExportSpans(context.Background(), batch("a", 5)) }()
		<-begun
		time.AfterFunc(100*time.Millisecond, func() { close(release) })
		require.NoError(t, x.Shutdown(context.Background()))
		select {
		case err := <-result:
			require.NoError(t, err)
		case <-time.After(soon):
			t.Fatal("the export has not returned")
		}
		require.Equal(t, 5, peer.Spans())
	})
	t.Run("has no more time", func(t *testing.T) {
		peer := sdktest.NewPeer(t, netfault.Link{})
		begun, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		peer.Answer(func(int) error { close(begun); <-release; return nil })
		peer.Start(t)
		x := exporter(t, peer.Options(fast))
		result := make(chan error, 1)
		go func() { result <- x.ExportSpans(context.Background(), batch("a", 5)) }()
		<-begun
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, x.Shutdown(ctx), context.DeadlineExceeded)
		require.Less(t, time.Since(start), soon)
		require.ErrorIs(t, <-result, stefsdk.ErrShutdown)
	})
}

func TestForceFlushWaitsForExports(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	begun, release := make(chan struct{}), make(chan struct{})
	peer.Answer(func(int) error { close(begun); <-release; return nil })
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	result := make(chan error, 1)
	go func() { result <- x.ExportSpans(context.Background(), batch("a", 5)) }()
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, x.ForceFlush(ctx), context.DeadlineExceeded)
	close(release)
	require.NoError(t, x.ForceFlush(context.Background()))
	require.NoError(t, <-result)
	require.Equal(t, 5, peer.Spans())
}

func TestRejectedRecords(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Reject()
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	err := x.ExportSpans(context.Background(), batch("a", 5))
	var rejected *stefgrpc.RejectedError
	require.ErrorAs(t, err, &rejected)
	require.EqualValues(t, 1, rejected.Records)
	require.Equal(t, stefsdk.Stats{Delivered: 4, Rejected: 1, Streams: 1}, x.Stats())
}

func TestOmittedItems(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	var many []attribute.KeyValue
	for i := range stef.MaxPairs + 1 {
		many = append(many, attribute.Int(fmt.Sprint(i), i))
	}
	spans := append(batch("good", 3), batch("bad", 2, many...)...)
	err := x.ExportSpans(context.Background(), spans)
	var omitted *stefsdk.OmittedError
	require.ErrorAs(t, err, &omitted)
	require.Equal(t, 2, omitted.Items)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.Equal(t, 3, peer.Spans())
	err = x.ExportSpans(context.Background(), batch("bad", 2, many...))
	require.ErrorAs(t, err, &omitted)
	require.Equal(t, stefsdk.Stats{Delivered: 3, Omitted: 4, Streams: 1}, x.Stats())
}

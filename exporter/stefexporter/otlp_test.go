// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/freeport"
)

func otlpConfig(addr string) *Config {
	c := testConfig(addr)
	c.Protocol = ProtocolOTLP
	return c
}

func TestOTLPAnswers(t *testing.T) {
	f := func(answer error, permanent bool, text, code string) {
		t.Helper()
		p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			return ptraceotlp.ExportResponse{}, answer
		}}, "", false, true)
		x := start(t, otlpConfig(p.addr))
		err := x.send("a", "b")
		require.Error(t, err)
		require.Equal(t, permanent, consumererror.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, text)
		require.Equal(t, map[string]int64{code: 1}, counted(t, x, "failed_attempts", "code"))
		want := map[string]int64{}
		if permanent {
			want[dropPermanent] = 2
		}
		dropped(t, x, want)
		require.Equal(t, code, codeName(status.Code(err)), "exporterhelper counts by it")
	}
	f(status.Error(codes.Unavailable, "busy"), false, "busy", "UNAVAILABLE")
	f(withRetryInfo(codes.Unavailable, 7*time.Second), false, "Throttle (7s)", "UNAVAILABLE")
	f(withRetryInfo(codes.ResourceExhausted, 3*time.Second), false, "Throttle (3s)", "RESOURCE_EXHAUSTED")
	f(status.Error(codes.ResourceExhausted, "too large"), true, "too large", "RESOURCE_EXHAUSTED")
	f(status.Error(codes.InvalidArgument, "what is this"), true, "what is this", "INVALID_ARGUMENT")
	f(status.Error(codes.Unauthenticated, "who are you"), true, "who are you", "UNAUTHENTICATED")
}

func TestOTLPRetryResourceExhausted(t *testing.T) {
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		return ptraceotlp.ExportResponse{}, status.Error(codes.ResourceExhausted, "busy")
	}}, "", false, true)
	c := otlpConfig(p.addr)
	c.Stef.RetryResourceExhausted = true
	x := start(t, c)
	require.False(t, consumererror.IsPermanent(x.send("a")))
}

// TestOTLPPartialSuccess uses peers that answer with partial_success: some reject a part of the items,
// others reject nothing and send a warning.
func TestOTLPPartialSuccess(t *testing.T) {
	f := func(rejected int64, message string, wantDropped int64) {
		t.Helper()
		var requests atomic.Int32
		p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
			requests.Add(1)
			response := ptraceotlp.NewExportResponse()
			response.PartialSuccess().SetRejectedSpans(rejected)
			response.PartialSuccess().SetErrorMessage(message)
			return response, nil
		}}, "", false, true)
		c := otlpConfig(p.addr)
		c.RetryConfig.Enabled = true
		x := start(t, c)
		require.NoError(t, x.send("a", "b", "c"))
		require.Equal(t, int32(1), requests.Load(), "not sent again")
		want := map[string]int64{}
		if wantDropped > 0 {
			want[dropPartial] = wantDropped
		}
		dropped(t, x, want)
		delivered := map[string]int64{"otlp": 3 - wantDropped}
		if wantDropped == 3 {
			delivered = map[string]int64{}
		}
		require.Equal(t, delivered, counted(t, x, "items_delivered", "protocol"))
	}
	f(2, "two are bad", 2)
	f(0, "mind the gap", 0)
	f(0, "", 0)
	f(99, "more than there were", 3)
	f(-5, "less than none", 0)
}

// TestOTLPTooLarge sends a batch that exceeds MaxRequestSizeMiB before compression, but not after
// compression. The batch is dropped without a request.
func TestOTLPTooLarge(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	c := otlpConfig(p.addr)
	c.Fallback.MaxRequestSizeMiB = 1
	x := start(t, c)
	err := x.send("small", strings.Repeat("x", 1<<20))
	require.True(t, consumererror.IsPermanent(err))
	require.ErrorContains(t, err, "lower sending_queue::batch::max_size")
	_, byOTLP := p.got()
	require.Zero(t, byOTLP)
	dropped(t, x, map[string]int64{dropTooLarge: 2})
	require.NoError(t, x.send(strings.Repeat("x", 1<<19)))
}

// TestOTLPLargeResponse uses a peer whose answer is larger than any valid answer.
func TestOTLPLargeResponse(t *testing.T) {
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		response := ptraceotlp.NewExportResponse()
		response.PartialSuccess().SetErrorMessage(strings.Repeat("x", 5<<20))
		return response, nil
	}}, "", false, true)
	x := start(t, otlpConfig(p.addr))
	require.True(t, consumererror.IsPermanent(x.send("a")))
}

// TestOTLPConcurrency uses a peer that delays its answers, and counts the pending requests.
func TestOTLPConcurrency(t *testing.T) {
	const bound = 3
	release := make(chan struct{})
	var now, most atomic.Int32
	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		return ptraceotlp.ExportResponse{}, nil
	}}, "", false, true)
	c := otlpConfig(p.addr)
	c.Fallback.MaxConcurrentRequests = bound
	x := start(t, c)
	var group sync.WaitGroup
	for range 4 * bound {
		group.Go(func() {
			if err := x.send("a"); err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return now.Load() == bound }, time.Minute, time.Millisecond)
	m, err := x.telemetry.GetMetric("otelcol_exporter_stef_otlp_in_flight")
	require.NoError(t, err)
	require.Equal(t, int64(bound), sum(m))

	// A request waits for a slot only until its context ends.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = x.ConsumeTraces(ctx, spans("late"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, consumererror.IsPermanent(err))

	close(release)
	group.Wait()
	require.Equal(t, int32(bound), most.Load())
	_, byOTLP := p.got()
	require.Equal(t, 4*bound, byOTLP)
}

// TestOTLPCompression sends with every supported compression. A handler cannot see the compression,
// because gRPC removes the header with its name. So the test compares the sizes that a statistics
// handler of gRPC gets.
func TestOTLPCompression(t *testing.T) {
	for _, compression := range []configcompression.Type{"gzip", "zstd", "snappy", "none", ""} {
		sizes := &inPayload{}
		p := listen(t, &peer{}, "", false, true, grpc.StatsHandler(sizes))
		c := otlpConfig(p.addr)
		c.Fallback.Compression = compression
		x := start(t, c)
		require.NoError(t, x.send(strings.Repeat("a", 1000)))
		_, byOTLP := p.got()
		require.Equal(t, 1, byOTLP, compression)
		require.Equal(t, compression.IsCompressed(), sizes.compressed.Load() < 1000, compression)
	}
}

// TestOTLPBytes sends without compression, so the metrics of the compressed and the uncompressed bytes
// of requests are equal. Attempts without a connection write nothing, so neither metric counts them.
func TestOTLPBytes(t *testing.T) {
	c := otlpConfig("127.0.0.1:1")
	c.Fallback.Compression = compressionNone
	x := start(t, c)
	for range 3 {
		require.ErrorContains(t, x.send("a"), "nothing listens there")
	}
	require.Empty(t, counted(t, x, "otlp_bytes", ""))
	require.Empty(t, counted(t, x, "otlp_bytes_compressed", ""))

	p := listen(t, &peer{onRequest: func(context.Context, ptrace.Traces) (ptraceotlp.ExportResponse, error) {
		return ptraceotlp.ExportResponse{}, status.Error(codes.Unavailable, "later")
	}}, "", false, true)
	c.ClientConfig.Endpoint = p.addr
	x = start(t, c)
	for range 3 { // these requests are written, although the peer refuses them
		require.ErrorContains(t, x.send("a"), "later")
	}
	want := map[string]int64{"": 3 * int64(new(ptrace.ProtoMarshaler).TracesSize(spans("a")))}
	require.Equal(t, want, counted(t, x, "otlp_bytes", ""))
	require.Equal(t, want, counted(t, x, "otlp_bytes_compressed", ""))
}

type inPayload struct {
	stats.Handler
	compressed atomic.Int64
}

func (*inPayload) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*inPayload) HandleConn(context.Context, stats.ConnStats)                       {}
func (*inPayload) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (h *inPayload) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok {
		h.compressed.Store(int64(in.CompressedLength))
	}
}

// TestOTLPHealthOfFallback uses a peer without STEF. Nothing listens on the separate endpoint
// for OTLP, and the errors name that endpoint.
func TestOTLPHealthOfFallback(t *testing.T) {
	p := listen(t, &peer{}, "", false, true)
	c := testConfig(p.addr)
	c.Fallback.Endpoint = "127.0.0.1:1"
	x := start(t, c)
	for range failuresUntilBad {
		require.ErrorContains(t, x.send("a"), "(endpoint 127.0.0.1:1: nothing listens there")
	}
	require.ErrorContains(t, x.host.last().Err(), "(endpoint 127.0.0.1:1: nothing listens there")
}

func TestOTLPHealth(t *testing.T) {
	t.Parallel()
	p := listen(t, &peer{}, freeport.Address(t), false, true)
	x := start(t, otlpConfig(p.addr))
	require.NoError(t, x.send("a"))
	p.stop(t)
	require.Eventually(t, func() bool {
		require.Error(t, x.send("b"))
		return x.host.last().Status() == componentstatus.StatusRecoverableError
	}, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, x.host.last().Err(), "OTLP request: ")
	require.ErrorContains(t, x.host.last().Err(), "(endpoint "+p.addr+": it worked until now: the peer is probably down")
	listen(t, &peer{}, p.addr, false, true)
	require.Eventually(t, func() bool { return x.send("c") == nil }, time.Minute, 50*time.Millisecond)
	require.Equal(t, componentstatus.StatusOK, x.host.last().Status())
	require.Len(t, x.host.events, 3, "one report for each change")
}

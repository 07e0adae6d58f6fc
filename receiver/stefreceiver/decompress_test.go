// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelstef/stef/internal/grpcstatus"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/rawgrpc"
)

// textOf returns metrics with one point, whose resource has a text attribute of n bytes.
func textOf(n int) pmetric.Metrics {
	md := points(1)
	md.ResourceMetrics().At(0).Resource().Attributes().PutStr("text", strings.Repeat("x", n))
	return md
}

// TestCompressedRequests checks that requests of each compression arrive unchanged. Requests are
// decompressed with a limited number of permits. Some requests are larger than smallRequest after
// decompression, so they need a permit for large requests.
func TestCompressedRequests(t *testing.T) {
	large := 40 * mib
	if testing.Short() {
		large = 6 * mib
	}
	for _, name := range []string{"gzip", "zstd", "snappy"} {
		to, _, metrics, _ := everything()
		r := startRig(t, testConfig(), to)
		conn := r.dial(grpc.WithDefaultCallOptions(grpc.UseCompressor(name)))
		for i, md := range []pmetric.Metrics{points(3), textOf(smallRequest - 1000), textOf(smallRequest + 1), textOf(large), points(500)} {
			require.NoError(t, export(conn, md), name)
			require.Equal(t, md, metrics.AllMetrics()[i], name)
		}
		require.NoError(t, export(conn, pmetric.NewMetrics()), "gRPC does not compress what is empty")
		r.requireIdle()
	}
}

// If a call names a compression, the client may still send a message of this call uncompressed.
func TestUncompressedRequestOfCompressedCall(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	defer func(c encoding.Compressor) { encoding.RegisterCompressor(c) }(encoding.GetCompressor("gzip"))
	conn := r.dial(grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")))
	encoding.RegisterCompressor(asItIs{encoding.GetCompressor("gzip")})
	require.NoError(t, export(conn, points(3)))
	require.Equal(t, points(3), metrics.AllMetrics()[0])
}

// asItIs is a compressor that does not change the bytes.
type asItIs struct{ encoding.Compressor }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (asItIs) Compress(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }

// compress returns the compressed bytes of a request.
func compress(t testing.TB, name string, body []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var message bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&message)
	if name == "zstd" {
		var err error
		w, err = zstd.NewWriter(&message, options...)
		require.NoError(t, err)
	}
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, message.Len(), rawgrpc.MaxBytes)
	return message.Bytes()
}

func marshal(t testing.TB, md pmetric.Metrics) []byte {
	t.Helper()
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	require.NoError(t, err)
	return body
}

// sendCompressed sends a message on each of several streams of several connections, and returns
// how many of the messages were answered.
func sendCompressed(t testing.TB, r *rig, name string, message []byte, connections, streams int) int {
	var group sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for range connections {
		conn, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		defer conn.Close()
		group.Go(func() {
			n := rawgrpc.Send(conn, "/"+signal.Metrics.OTLP.Service+"/Export", name, message, streams, 10*time.Minute)
			mu.Lock()
			defer mu.Unlock()
			answered += n
		})
	}
	group.Wait()
	return answered
}

// TestCompressedRequestsTogether sends many requests that are small on the wire and large after
// decompression. Their memory is bounded, because few requests are decompressed at the same time and
// admission has a limit. With -short, the requests are smaller: the race detector runs with -short,
// and needs much more time and memory.
func TestCompressedRequestsTogether(t *testing.T) {
	full, some := 57*mib, 6*mib
	if testing.Short() {
		full, some = 6*mib, mib/2
	}
	for _, x := range []struct {
		name    string
		options []zstd.EOption
		body    []byte
	}{
		{"gzip", nil, marshal(t, textOf(full))},
		{"zstd", nil, marshal(t, textOf(full))},
		{"zstd", []zstd.EOption{zstd.WithWindowSize(zstd.MaxWindowSize)}, marshal(t, textOf(full))},
		{"zstd", nil, emptyPoints(full)},
		{"zstd", nil, emptyPoints(some)},
	} {
		to, _, _, _ := everything()
		to.metrics = consumertest.NewNop()
		r := startRig(t, testConfig(), to)
		message := compress(t, x.name, x.body, x.options...)
		heap := peakHeap(func() {
			require.Equal(t, 16, sendCompressed(t, r, x.name, message, 2, 8))
		})
		t.Logf("%d bytes of %s that become %d MiB, 16 times: heap %d MiB", len(message), x.name, len(x.body)/mib, heap/mib)
		most := maxConcurrentDecoders()*(smallRequest+maxRequestWindow) + maxLargePermits()*(64*mib+maxRequestWindow) + 3*128*mib
		require.Less(t, heap, 2*most, "GOGC doubles it")
		r.requireIdle()
		require.NoError(t, r.stop(t.Context()))
	}
}

// emptyPoints returns a request of about n bytes, whose points have no fields. A point takes 2
// bytes in the request, and 104 bytes of memory as pdata.
func emptyPoints(n int) []byte {
	body := bytes.Repeat([]byte{1<<3 | 2, 0}, n/2)
	for _, field := range []protowire.Number{5, 2, 2, 1} {
		body = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), body)
	}
	return body
}

// A request is refused if it would need far more memory as pdata than admission allows.
func TestRequestOfManyMessages(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	st := rawExport(t, r.dial(), emptyPoints(30*mib))
	require.Equal(t, codes.ResourceExhausted, st.Code(), st.Message())
	_, again := grpcstatus.RetryInfo(st)
	require.False(t, again)
	require.Zero(t, metrics.DataPointCount())
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "reason", requestMemory))
	r.requireIdle()
}

// TestNestedRequest: pdata decodes nested values recursively. If the depth were not limited, this
// request would exceed the stack of a goroutine, and the process would end.
func TestNestedRequest(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	var value []byte
	for range 2 * signal.MaxNesting {
		value = protowire.AppendBytes([]byte{5<<3 | 2}, protowire.AppendBytes([]byte{1<<3 | 2}, value))
	}
	body := value
	for _, field := range []protowire.Number{2, 1, 1, 1} {
		body = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), body)
	}
	st := rawExport(t, r.dial(), body)
	require.Equal(t, codes.ResourceExhausted, st.Code(), st.Message())
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "reason", requestNesting))
	r.requireIdle()
}

func TestCompressedRequestErrors(t *testing.T) {
	notShort(t)
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	d := r.shared.decompression
	f := func(name string, message []byte, code codes.Code, text, reason string) {
		t.Helper()
		var at decompressionPermit
		defer at.release()
		request := &otlpRequest{compression: name, cost: newCostTracker(d.throttle, &clientState{}, int64(len(message)))}
		require.NoError(t, newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(message)}, request))
		err := d.run(t.Context(), request, &at)
		require.Equal(t, code, status.Code(err), "%v", err)
		require.ErrorContains(t, err, text)
		require.Equal(t, reason, err.(*badRequest).reason)
	}
	body := marshal(t, textOf(65*mib))
	f("gzip", compress(t, "gzip", body[:57*mib])[:100], codes.InvalidArgument, "cannot decompress", requestInvalid)
	f("gzip", []byte("no gzip"), codes.InvalidArgument, "cannot decompress", requestInvalid)
	f("zstd", []byte("no zstd"), codes.InvalidArgument, "cannot decompress", requestInvalid)
	f("snappy", []byte("no snappy"), codes.InvalidArgument, "cannot decompress", requestInvalid)
	f("unknown", []byte("text"), codes.InvalidArgument, "unknown compression", requestInvalid)
	f("zstd", compress(t, "zstd", body), codes.ResourceExhausted, "max_recv_msg_size_mib", requestSize)
	f("zstd", compress(t, "zstd", body[:mib], zstd.WithWindowSize(2*maxRequestWindow), zstd.WithSingleSegment(false)), codes.ResourceExhausted, "window", requestWindow)
	r.requireIdle()
}

// gzipped is the transport of a call whose messages are compressed with gzip.
type gzipped struct{ grpc.ServerTransportStream }

func (gzipped) RecvCompress() string { return "gzip" }

// TestCompressedRequestGivesUp cancels requests, or lets their deadline pass, while they are
// decompressed. The answer must not say that a request is invalid: a proxy may forward the answer
// to the client, and the client would drop its data.
func TestCompressedRequestGivesUp(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	p := r.shared.handlers[1].(*pipe[pmetric.Metrics])
	for code, end := range map[codes.Code]func() (context.Context, context.CancelFunc){
		codes.Canceled:         func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		codes.DeadlineExceeded: func() (context.Context, context.CancelFunc) { return context.WithTimeout(context.Background(), 0) },
	} {
		ctx, cancel := end()
		cancel()
		message := mem.SliceBuffer(compress(t, "gzip", marshal(t, textOf(3*mib))))
		err := p.export(grpc.NewContextWithServerTransportStream(ctx, gzipped{}), &otlpRequest{data: mem.BufferSlice{message}})
		require.Equal(t, code, status.Code(err), "%v", err)
	}
	require.Zero(t, metrics.DataPointCount())
	require.Zero(t, sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "", ""))
	r.requireIdle()
}

// TestCancelledRequestIsCharged: if a client cancels a request, it is charged for the part that was
// already decompressed. A cancelled request that expands only 12 times still increases the credit of
// the client: its bytes on the wire add more credit than the decompression costs.
func TestCancelledRequestIsCharged(t *testing.T) {
	to, _, _, _ := everything()
	r := startRig(t, testConfig(), to)
	p := r.shared.handlers[1].(*pipe[pmetric.Metrics])
	client, leave := r.shared.clients.join(t.Context())
	defer leave()
	message := mem.SliceBuffer(compress(t, "gzip", marshal(t, textOf(60*mib))))
	ctx := &endingContext{t.Context(), 200}
	err := p.export(grpc.NewContextWithServerTransportStream(ctx, gzipped{}), &otlpRequest{data: mem.BufferSlice{message}})
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
	require.Less(t, client.credit.balance(), int64(-30*mib*requestCost))
	r.requireIdle()

	honest := newCostTracker(p.core.decompression.throttle, &clientState{}, 1000)
	honest.total = 12 * 1000 * requestCost
	honest.chargeCancelled()
	require.Greater(t, honest.client.credit.balance(), int64(initialCredit))
}

// endingContext is a context that ends after a number of calls of Err.
type endingContext struct {
	context.Context
	left int
}

// Err implements context.Context.
func (e *endingContext) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// Small requests do not wait while large requests wait to be decompressed. The metric
// decompression_waiting counts a waiting request until it is decompressed or its client cancels it.
func TestPermitsToDecompress(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	core, logs := observer.New(zap.WarnLevel)
	d := r.shared.decompression
	d.logger = zap.New(core)
	conn := r.dial(grpc.WithDefaultCallOptions(grpc.UseCompressor("zstd")))
	waiting := func(n int64) {
		t.Helper()
		require.Eventually(t, func() bool { return d.waiting() == n }, time.Minute, time.Millisecond)
		require.EqualValues(t, n, sumOf(t, r.telemetry, "otelcol_receiver_stef_decompression_waiting", "receiver", "stef"))
	}
	other := &usage{}
	d.large.adjust(other, maxLargePermits())
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(textOf(8*mib)))
			results <- err
		}()
	}
	waiting(2)
	require.Equal(t, 1, logs.Len(), "once a minute")
	require.NoError(t, export(conn, points(3)))
	require.Equal(t, 3, metrics.DataPointCount())
	cancel()
	require.Error(t, <-results)
	require.Error(t, <-results)
	waiting(0)

	d.small.adjust(other, maxConcurrentDecoders())
	go func() { results <- export(conn, textOf(8*mib)) }()
	waiting(1)
	d.small.release(other, maxConcurrentDecoders())
	waiting(1) // the request has its small permit and waits for a large permit
	d.large.release(other, maxLargePermits())
	require.NoError(t, <-results)
	r.requireIdle()
}

// A compressed request that cannot be admitted is refused before it is decompressed.
func TestCompressedRequestUnderPressure(t *testing.T) {
	r := startRig(t, testConfig(func(c *Config) { c.Admission = AdmissionConfig{RequestLimitMiB: 1, WaitingLimitMiB: 0} }),
		sinks{metrics: consumertest.NewNop()})
	other := &usage{}
	r.shared.admission.adjust(other, mib)
	st := status.Convert(export(r.dial(), points(5), grpc.UseCompressor("gzip")))
	require.Equal(t, codes.Unavailable, st.Code())
	_, again := grpcstatus.RetryInfo(st)
	require.True(t, again)
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_admission_refused", "protocol", "otlp"))
	r.shared.admission.release(other, mib)
	r.requireIdle()
}

// TestJoin joins the parts of requests into one buffer. For an expensive request, it uses a buffer of the
// pool bodies.
func TestJoin(t *testing.T) {
	pool := mem.DefaultBufferPool()
	contended := new(atomic.Int64)
	contended.Store(int64(time.Since(processStart)))
	for _, expensive := range []bool{false, true} {
		for _, sizes := range [][]int{nil, {5}, {1, 2, 3}, {pieceSize - 1, 2, pieceSize, 7}} {
			request := &otlpRequest{cost: newCostTracker(newThrottle(contended), &clientState{}, 0)}
			if expensive {
				request.cost.total = request.cost.budget + 1
			}
			var want []byte
			for i, size := range sizes {
				part := pool.Get(size)
				for k := range *part {
					(*part)[k] = byte(i + k)
				}
				want = append(want, *part...)
				request.data = append(request.data, mem.NewBuffer(part, pool))
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // end all pauses immediately
			request.join(ctx)
			require.Len(t, request.data, 1)
			require.True(t, bytes.Equal(want, request.data[0].ReadOnlyData()), "%v", sizes)
			request.free()
		}
	}
	small := bodies.Get(10)
	require.Len(t, *small, 10)
	bodies.Put(small)
	require.Len(t, *bodies.Get(20), 20, "a buffer that is too small is not used again")
}

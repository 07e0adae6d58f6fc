// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/otelstef/stef/internal/grpcstatus"
	"github.com/otelstef/stef/internal/signal"
)

func export(conn *grpc.ClientConn, md pmetric.Metrics, options ...grpc.CallOption) error {
	return exportWith(context.Background(), conn, md, options...)
}

func exportWith(ctx context.Context, conn *grpc.ClientConn, md pmetric.Metrics, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	_, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md), options...)
	return err
}

// rawExport calls the service of metrics with any bytes.
func rawExport(t *testing.T, conn *grpc.ClientConn, body []byte) *status.Status {
	t.Helper()
	err := conn.Invoke(timeout(t), "/"+signal.Metrics.OTLP.Service+"/Export", unknownFields(t, body), &emptypb.Empty{})
	return status.Convert(err)
}

// unknownFields returns a message that protobuf encodes as body.
func unknownFields(t *testing.T, body []byte) *emptypb.Empty {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(body)
	return m
}

func TestOTLPOfAllSignals(t *testing.T) {
	to, traces, metrics, logs := everything()
	r := startRig(t, testConfig(), to)
	conn, ctx := r.dial(), timeout(t)
	for i := range 3 {
		tr, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(traceKind.one("a")))
		require.NoError(t, err)
		require.Zero(t, tr.PartialSuccess().RejectedSpans())
		mr, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(points(7)), grpc.UseCompressor(gzip.Name))
		require.NoError(t, err)
		require.Empty(t, mr.PartialSuccess().ErrorMessage())
		_, err = plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequestFromLogs(logKind.one("b")))
		require.NoError(t, err)
		require.Equal(t, traceKind.one("a"), traces.AllTraces()[i])
		require.Equal(t, points(7), metrics.AllMetrics()[i])
		require.Equal(t, logKind.one("b"), logs.AllLogs()[i])
	}
}

func TestOTLPEmptyRequests(t *testing.T) {
	to, traces, metrics, logs := everything()
	r := startRig(t, testConfig(), to)
	conn, ctx := r.dial(), timeout(t)
	_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequest())
	require.NoError(t, err)
	_, err = plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequest())
	require.NoError(t, err)
	require.NoError(t, export(conn, pmetric.NewMetrics()))
	require.NoError(t, export(conn, points(0)))
	require.Empty(t, traces.AllTraces())
	require.Empty(t, metrics.AllMetrics())
	require.Empty(t, logs.AllLogs())
}

func TestOTLPRefusals(t *testing.T) {
	f := func(err error, code codes.Code, again bool) {
		t.Helper()
		r := startRig(t, testConfig(func(c *Config) { c.RetryAfter = 3 * time.Second }),
			sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return err })})
		st := status.Convert(export(r.dial(), points(4)))
		require.Equal(t, code, st.Code(), "%v", err)
		delay, ok := grpcstatus.RetryInfo(st)
		require.Equal(t, again, ok, "%v", err)
		if again {
			require.Equal(t, 3*time.Second, delay)
		}
		require.EqualValues(t, 4, sumOf(t, r.telemetry, "otelcol_receiver_refused_metric_points", "transport", "grpc"))
		r.requireIdle()
	}
	f(errors.New("full"), codes.Unavailable, true)
	f(status.Error(codes.ResourceExhausted, "full"), codes.Unavailable, true)
	f(consumererror.NewPermanent(errors.New("no")), codes.Internal, false)
	f(status.Error(codes.PermissionDenied, "not you"), codes.PermissionDenied, false)
}

// TestLongRefusals: a refusal is sent in headers, and proxies and Java clients limit their size. A refusal
// with a long text must not exceed this limit. Otherwise gRPC would reset the request, and the client
// would drop its data.
func TestLongRefusals(t *testing.T) {
	long := strings.Repeat("é", 10_000) // a header has three bytes for each of these bytes
	f := func(err error, code codes.Code, again bool) {
		t.Helper()
		r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return err })})
		conn := r.dial(grpc.WithMaxHeaderListSize(8 << 10))
		st := status.Convert(export(conn, points(4)))
		require.Equal(t, code, st.Code(), st.Message())
		require.Contains(t, st.Message(), "ééé")
		_, ok := grpcstatus.RetryInfo(st)
		require.Equal(t, again, ok)
		if again {
			s := metricKind.mustOpen(t, conn)
			_, err := s.send(points(1))
			require.NoError(t, err)
			e := requireEnd(t, endOf(t, s.stream), code, "ééé")
			require.True(t, e.HasRetryInfo)
		}
	}
	f(errors.New(long), codes.Unavailable, true)
	f(errors.Join(errors.New(long), consumererror.NewPermanent(errors.New(long))), codes.Unavailable, true)
	f(consumererror.NewPermanent(errors.New(long)), codes.Internal, false)
	f(status.Error(codes.InvalidArgument, long), codes.InvalidArgument, false)
	f(undecodable(errors.New(long)).Err(), codes.InvalidArgument, false)
	f(consumererror.NewPermanent(detailed(codes.InvalidArgument, "ééé", &errdetails.DebugInfo{Detail: long}).Err()), codes.InvalidArgument, false)
	f(errors.Join(consumererror.NewPermanent(errors.New(long))), codes.Internal, false)
}

// TestRefusalWithInvalidText: if the text of a status is not UTF-8, gRPC omits the details, and
// with them the retry delay. So the receiver must make the text valid.
func TestRefusalWithInvalidText(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return errors.New("bad \xff text") })})
	st := status.Convert(export(r.dial(), points(4)))
	require.Equal(t, codes.Unavailable, st.Code())
	require.Equal(t, "bad \uFFFD text", st.Message())
	_, ok := grpcstatus.RetryInfo(st)
	require.True(t, ok)
}

func TestOTLPPanics(t *testing.T) {
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { panic("odd batch") })})
	st := status.Convert(export(r.dial(), points(1)))
	require.Equal(t, codes.Internal, st.Code())
	require.Contains(t, st.Message(), "odd batch")
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_panics", "signal", "metrics"))
}

func TestOTLPUndecodable(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, testConfig(), to)
	body := protowire.AppendTag(nil, 1, protowire.BytesType)
	body = protowire.AppendBytes(body, []byte{0x0a, 0x7f})
	st := rawExport(t, r.dial(), body)
	require.Equal(t, codes.InvalidArgument, st.Code())
	require.Len(t, st.Details(), 1)
	require.IsType(t, &errdetails.BadRequest{}, st.Details()[0])
	require.Zero(t, metrics.DataPointCount())
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "reason", requestInvalid))
	r.requireIdle()
}

func TestOTLPTooLarge(t *testing.T) {
	f := func(name string, lines int, options ...grpc.CallOption) {
		t.Run(name, func(t *testing.T) {
			to, _, metrics, _ := everything()
			r := startRig(t, testConfig(func(c *Config) { c.ServerConfig.MaxRecvMsgSizeMiB = 1 }), to)
			core, logs := observer.New(zap.WarnLevel)
			r.shared.logger = zap.New(core)
			md := points(1)
			md.ResourceMetrics().At(0).Resource().Attributes().PutStr("large", strings.Repeat("x", 2*mib))
			st := status.Convert(export(r.dial(), md, options...))
			require.Equal(t, codes.ResourceExhausted, st.Code(), st.Message())
			_, again := grpcstatus.RetryInfo(st)
			require.False(t, again, "what is too large stays so")
			require.Zero(t, metrics.DataPointCount())
			require.Eventually(t, func() bool {
				return sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "reason", requestSize) == 1 && logs.Len() == lines
			}, time.Minute, time.Millisecond)
			if lines > 0 {
				require.Contains(t, logs.All()[0].Message, "Raise max_recv_msg_size_mib of this receiver")
				require.Contains(t, logs.All()[0].ContextMap()["client"], "127.0.0.1:")
			}
			require.NoError(t, export(r.dial(), points(1)))
			require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_requests_refused", "", ""))
			r.requireIdle()
		})
	}
	f("as it is sent", 1)
	f("after decompression", 0, grpc.UseCompressor(gzip.Name))
}

// While admission is full, requests wait. If the waiting requests reach the waiting limit, further
// requests are refused before they are decoded. Their items are still counted.
func TestOTLPUnderPressure(t *testing.T) {
	busy, proceed := make(chan struct{}, 2), make(chan struct{})
	r := startRig(t, testConfig(func(c *Config) {
		c.Admission = AdmissionConfig{RequestLimitMiB: 1, WaitingLimitMiB: 1}
		c.RetryAfter = 2 * time.Second
	}), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
		busy <- struct{}{}
		<-proceed
		return nil
	})})
	conn := r.dial()
	large := points(3)
	large.ResourceMetrics().At(0).Resource().Attributes().PutStr("large", strings.Repeat("x", 2*mib))
	results := make(chan error, 2)
	go func() { results <- export(conn, large) }()
	<-busy
	go func() { results <- export(conn, large) }()
	require.Eventually(t, func() bool { _, waiting := r.shared.admission.state(); return waiting == mib }, time.Minute, time.Millisecond)

	st := status.Convert(export(conn, points(5)))
	require.Equal(t, codes.Unavailable, st.Code())
	delay, ok := grpcstatus.RetryInfo(st)
	require.True(t, ok)
	require.Equal(t, 2*time.Second, delay)
	require.EqualValues(t, 5, sumOf(t, r.telemetry, "otelcol_receiver_refused_metric_points", "transport", "grpc"))
	require.EqualValues(t, 1, sumOf(t, r.telemetry, "otelcol_receiver_stef_admission_refused", "protocol", "otlp"))

	close(proceed)
	require.NoError(t, <-results)
	require.NoError(t, <-results)
	r.requireIdle()
}

func TestOTLPGivesUpWaiting(t *testing.T) {
	r := startRig(t, testConfig(func(c *Config) { c.Admission = AdmissionConfig{RequestLimitMiB: 1, WaitingLimitMiB: 1} }),
		sinks{metrics: consumertest.NewNop()})
	other := &usage{}
	r.shared.admission.adjust(other, mib)
	conn := r.dial()
	refused := func() int64 {
		return sumOf(t, r.telemetry, "otelcol_receiver_refused_metric_points", "transport", "grpc")
	}
	for wait := 30 * time.Millisecond; refused() == 0; wait *= 2 {
		require.Less(t, wait, time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), wait) // on a busy machine, the request may arrive only after this time
		_, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(points(5)))
		cancel()
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	}
	require.Zero(t, refused()%5, "all points of a request")
	r.shared.admission.release(other, mib)
	r.requireIdle()
}

func TestOTLPOff(t *testing.T) {
	r := startRig(t, testConfig(func(c *Config) { c.OTLP.Enabled = false }), sinks{metrics: consumertest.NewNop()})
	core, logs := observer.New(zap.WarnLevel)
	r.shared.logger = zap.New(core)
	for range 2 {
		st := status.Convert(export(r.dial(), points(1), grpc.UseCompressor(gzip.Name)))
		require.Equal(t, codes.Unimplemented, st.Code())
		require.Equal(t, "unknown service opentelemetry.proto.collector.metrics.v1.MetricsService: otlp::enabled of this receiver is false", st.Message())
	}
	require.Len(t, logs.All(), 1, "one line a minute")
	require.Contains(t, logs.All()[0].Message, "otlp::enabled of this receiver is false")
	require.Equal(t, "metrics", logs.All()[0].ContextMap()["signal"])
	require.Contains(t, logs.All()[0].ContextMap()["client"], "127.0.0.1:")
	require.NoError(t, metricKind.mustOpen(t, r.dial()).deliver(points(1)))
	require.Zero(t, sumOf(t, r.telemetry, "otelcol_receiver_stef_streams_refused", "", ""), "these are no streams")
}

func TestOTLPOfSignalWithoutPipeline(t *testing.T) {
	r := startRig(t, testConfig(), sinks{logs: consumertest.NewNop()})
	require.Equal(t, codes.Unimplemented, status.Code(export(r.dial(), points(1))))
}

func TestOTLPPipelineKnowsTheClient(t *testing.T) {
	infos := make(chan client.Info, 1)
	r := startRig(t, testConfig(func(c *Config) { c.ServerConfig.IncludeMetadata = true }),
		sinks{metrics: acting(t, func(ctx context.Context, _ pmetric.Metrics) error {
			infos <- client.FromContext(ctx)
			return nil
		})})
	ctx := metadata.AppendToOutgoingContext(timeout(t), "tenant", "blue")
	_, err := pmetricotlp.NewGRPCClient(r.dial()).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(points(1)))
	require.NoError(t, err)
	require.Equal(t, []string{"blue"}, (<-infos).Metadata.Get("tenant"))
}

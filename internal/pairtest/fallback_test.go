// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"fmt"
	"net"
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

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/freeport"
)

type otlpTraces struct {
	ptraceotlp.UnimplementedGRPCServer
	sink *sink[ptrace.Traces]
}

func (o otlpTraces) Export(ctx context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	return ptraceotlp.NewExportResponse(), o.sink.consume(ctx, r.Traces())
}

type otlpMetrics struct {
	pmetricotlp.UnimplementedGRPCServer
	sink *sink[pmetric.Metrics]
}

func (o otlpMetrics) Export(ctx context.Context, r pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	return pmetricotlp.NewExportResponse(), o.sink.consume(ctx, r.Metrics())
}

type otlpLogs struct {
	plogotlp.UnimplementedGRPCServer
	sink *sink[plog.Logs]
}

func (o otlpLogs) Export(ctx context.Context, r plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	return plogotlp.NewExportResponse(), o.sink.consume(ctx, r.Logs())
}

// startOTLPOnly starts a peer without STEF and returns the function that stops it.
func startOTLPOnly(t *testing.T, addr string, register func(*grpc.Server)) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	server := grpc.NewServer()
	register(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	stop = func() {
		server.Stop()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// TestFallback sends to a peer that has only OTLP. Then our receiver replaces this peer. Batches
// are sent by OTLP first and by STEF later, and no batch is lost.
func TestFallback(t *testing.T) {
	t.Run("traces", func(t *testing.T) {
		testFallback(t, &traceKind, func(s *grpc.Server, k *sink[ptrace.Traces]) { ptraceotlp.RegisterGRPCServer(s, &otlpTraces{sink: k}) })
	})
	t.Run("metrics", func(t *testing.T) {
		testFallback(t, &metricKind, func(s *grpc.Server, k *sink[pmetric.Metrics]) {
			pmetricotlp.RegisterGRPCServer(s, &otlpMetrics{sink: k})
		})
	})
	t.Run("logs", func(t *testing.T) {
		testFallback(t, &logKind, func(s *grpc.Server, k *sink[plog.Logs]) { plogotlp.RegisterGRPCServer(s, &otlpLogs{sink: k}) })
	})
}

func testFallback[T any](t *testing.T, k *kind[T], register func(*grpc.Server, *sink[T])) {
	t.Parallel()
	addr := freeport.Address(t)
	s := newSink(k)
	stop := startOTLPOnly(t, addr, func(server *grpc.Server) { register(server, s) })
	x := startExporter(t, k, exporterConfig(addr, func(c *stefexporter.Config) {
		c.RetryConfig.Enabled = true
		c.RetryConfig.MaxElapsedTime = 0
	}))
	sent := 0
	send := func() {
		t.Helper()
		require.NoError(t, x.send(fmt.Sprint(sent)))
		sent++
	}
	for range 5 {
		send()
	}
	require.Equal(t, int64(1), value(t, x.telemetry, "otelcol_exporter_stef_downgrades"))
	stop()
	r := startReceiver(t, k, receiverConfig(t, addr, ""), s)
	for deadline := time.Now().Add(time.Minute); value(t, x.telemetry, "otelcol_exporter_stef_upgrades") == 0; {
		require.True(t, time.Now().Before(deadline), "no way back to STEF")
		send()
		time.Sleep(10 * time.Millisecond)
	}
	bySTEF := func() int64 {
		return valueOf(t, x.telemetry, "otelcol_exporter_stef_items_delivered", "protocol", string(stefexporter.ProtocolSTEF))
	}
	before, requests := bySTEF(), value(t, x.telemetry, "otelcol_exporter_stef_otlp_bytes")
	for range 5 {
		send()
	}
	require.Equal(t, before+5, bySTEF())
	require.Equal(t, requests, value(t, x.telemetry, "otelcol_exporter_stef_otlp_bytes"))
	// Each batch has one item and a frame of its own. A frame may be acknowledged before the exporter
	// counts it, so the test compares the totals.
	require.Eventually(t, func() bool { return value(t, x.telemetry, "otelcol_exporter_stef_frames_sent") == bySTEF() },
		time.Minute, time.Millisecond)
	items, different := s.count()
	require.Equal(t, sent, different)
	require.Equal(t, sent, items)
	settled(t, x, r)
}

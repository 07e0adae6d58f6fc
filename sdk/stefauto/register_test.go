// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefauto_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	_ "github.com/otelstef/stef/sdk/stefauto"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/steftrace"
)

func TestFiles(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	t.Setenv("OTEL_TRACES_EXPORTER", "stef_file")
	t.Setenv("OTEL_METRICS_EXPORTER", "stef_file")
	t.Setenv("OTEL_LOGS_EXPORTER", "stef_file")
	t.Setenv("OTEL_EXPORTER_STEF_FILE_DIRECTORY", dir)

	spans, err := autoexport.NewSpanExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, &steftrace.FileExporter{}, spans)
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	_, span := tp.Tracer("a").Start(ctx, "work")
	span.End()
	require.NoError(t, tp.Shutdown(ctx))

	reader, err := autoexport.NewMetricReader(ctx)
	require.NoError(t, err)
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	counter, err := mp.Meter("a").Int64Counter("work")
	require.NoError(t, err)
	counter.Add(ctx, 1)
	require.NoError(t, mp.Shutdown(ctx))

	logs, err := autoexport.NewLogExporter(ctx)
	require.NoError(t, err)
	require.IsType(t, &steflog.FileExporter{}, logs)
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(logs)))
	require.NoError(t, lp.Shutdown(ctx))

	for signal, want := range map[string]int{"traces": 1, "metrics": 1, "logs": 0} {
		files, err := filepath.Glob(filepath.Join(dir, "*-"+signal+".stef"))
		require.NoError(t, err)
		require.Len(t, files, want, signal)
	}
}

type otlpOnly struct {
	ptraceotlp.UnimplementedGRPCServer
	spans chan int
}

// Export implements ptraceotlp.GRPCServer.
func (o *otlpOnly) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	o.spans <- r.Traces().SpanCount()
	return ptraceotlp.NewExportResponse(), nil
}

// An application that sets the endpoint of OTLP over gRPC needs only one other variable for each
// signal, such as OTEL_TRACES_EXPORTER for traces.
func TestEndpoint(t *testing.T) {
	ctx := context.Background()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	peer := &otlpOnly{spans: make(chan int, 1)}
	ptraceotlp.RegisterGRPCServer(server, peer)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	t.Setenv("OTEL_TRACES_EXPORTER", "stef")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	spans, err := autoexport.NewSpanExporter(ctx)
	require.NoError(t, err)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	_, span := tp.Tracer("a").Start(ctx, "work")
	span.End()
	require.Equal(t, 1, <-peer.spans)
	require.NoError(t, tp.Shutdown(ctx))

	t.Setenv("OTEL_METRICS_EXPORTER", "stef")
	t.Setenv("OTEL_LOGS_EXPORTER", "stef")
	reader, err := autoexport.NewMetricReader(ctx)
	require.NoError(t, err)
	require.NoError(t, reader.Shutdown(ctx))
	logs, err := autoexport.NewLogExporter(ctx)
	require.NoError(t, err)
	require.NoError(t, logs.Shutdown(ctx))
}

// TestInvalid checks that the exporter is nil if creating it fails.
func TestInvalid(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_STEF_FILE_PREFIX", "a/b")
	t.Setenv("OTEL_TRACES_EXPORTER", "stef_file")
	t.Setenv("OTEL_LOGS_EXPORTER", "stef_file")
	spans, err := autoexport.NewSpanExporter(context.Background())
	require.Error(t, err)
	require.True(t, spans == nil)
	logs, err := autoexport.NewLogExporter(context.Background())
	require.Error(t, err)
	require.True(t, logs == nil)
}

// TestProducers checks that ignored producers are reported: their metrics would be missing.
func TestProducers(t *testing.T) {
	var reported []error
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported = append(reported, err) }))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	t.Setenv("OTEL_EXPORTER_STEF_FILE_DIRECTORY", t.TempDir())
	for _, exporter := range []string{"stef", "stef_file"} {
		t.Setenv("OTEL_METRICS_EXPORTER", exporter)
		for value, reports := range map[string]int{"": 0, "none": 0, "prometheus": 1} {
			reported = nil
			t.Setenv("OTEL_METRICS_PRODUCERS", value)
			reader, err := autoexport.NewMetricReader(context.Background())
			require.NoError(t, err)
			require.NoError(t, reader.Shutdown(context.Background()))
			require.Len(t, reported, reports, "%v", reported)
			for _, err := range reported {
				require.ErrorContains(t, err, `OTEL_METRICS_PRODUCERS is "prometheus" and is ignored`)
			}
		}
	}
}

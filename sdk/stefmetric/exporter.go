// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefmetric exports the metrics of the OpenTelemetry SDK as STEF: New to an
// endpoint, NewFile to files. Package stefsdk has the options that all signals have.
// sdk/example_test.go has whole programs, which go doc does not print.
package stefmetric

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/endpoint"
	"github.com/otelstef/stef/sdk/internal/files"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
	"github.com/otelstef/stef/stef-go/otelstef"
)

type metrics = *metricdata.ResourceMetrics

var signal = endpoint.Signal[metrics]{
	Name:    settings.Metrics,
	Compact: otelstef.CompactMetrics,
	Root:    otelstef.MetricsCompactRoot,
	Items: func(rm metrics) int {
		n := 0
		for i := range rm.ScopeMetrics {
			n += records.Points(rm.ScopeMetrics[i].Metrics)
		}
		return n
	},
	NewEncoder: endpoint.EncoderOf(otelstef.NewMetricsWriter, func(w *otelstef.MetricsWriter) func(metrics) error {
		return records.NewMetrics(w).Encode
	}),
	NewOTLP: func(ctx context.Context, conn *grpc.ClientConn, c *settings.Endpoint) (endpoint.OTLP[metrics], error) {
		x, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithGRPCConn(conn), otlpmetricgrpc.WithHeaders(c.Headers),
			otlpmetricgrpc.WithTimeout(c.Timeout), otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(c.Retry)))
		if err != nil {
			return endpoint.OTLP[metrics]{}, err
		}
		return endpoint.OTLP[metrics]{Export: x.Export, Shutdown: x.Shutdown}, nil
	},
}

// Temporality implements sdkmetric.Exporter.
func (s selectors) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	return s.temporality(kind)
}

// Aggregation implements sdkmetric.Exporter.
func (s selectors) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return s.aggregation(kind)
}

// Exporter exports metrics to an endpoint. It is safe for concurrent use.
type Exporter struct {
	selectors
	sender *endpoint.Sender[metrics]
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// New returns an exporter to an endpoint. It does not wait for a connection. The
// caller must call Shutdown.
func New(_ context.Context, options ...stefsdk.Option) (*Exporter, error) {
	s, stream, err := endpoint.New(options, &signal)
	if err != nil {
		return nil, err
	}
	return &Exporter{selectorsOf(stream), s}, nil
}

// Export sends metrics. It returns nil when the peer has acknowledged all points. It
// returns soon after ctx has ended.
func (x *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	return endpoint.OfSDK(x.sender.Export(ctx, rm), sdkmetric.ErrExporterShutdown)
}

// ForceFlush waits for the exports that have begun. There is nothing else to flush.
func (x *Exporter) ForceFlush(ctx context.Context) error { return x.sender.ForceFlush(ctx) }

// Shutdown waits for the exports that have begun, until ctx ends, and closes the
// connection. Exports after Shutdown return sdkmetric.ErrExporterShutdown.
func (x *Exporter) Shutdown(ctx context.Context) error { return x.sender.Shutdown(ctx) }

// Stats returns what was exported so far. Items are points.
func (x *Exporter) Stats() stefsdk.Stats { return x.sender.Stats() }

// FileExporter exports metrics to files. It is safe for concurrent use.
type FileExporter struct {
	selectors
	files *files.Exporter[metrics]
}

var _ sdkmetric.Exporter = (*FileExporter)(nil)

// NewFile returns an exporter to files in the folder dir. The first export creates it. If dir is
// "", OTEL_EXPORTER_STEF_FILE_DIRECTORY names the folder; its default is "telemetry". Errors of the
// file system do not make NewFile fail; Export returns them. The caller must call Shutdown.
func NewFile(dir string, options ...stefsdk.FileOption) (*FileExporter, error) {
	f, stream, err := files.New(dir, options, &signal)
	if err != nil {
		return nil, err
	}
	return &FileExporter{selectorsOf(stream), f}, nil
}

// Export writes metrics. It returns nil when the metrics are in the file, or, with
// stefsdk.WithFlushInterval, in the unfinished frame. Writing waits only for the
// file system. After writing has begun, Export ignores ctx.
func (x *FileExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	return endpoint.OfSDK(x.files.Export(ctx, rm), sdkmetric.ErrExporterShutdown)
}

// ForceFlush writes the unfinished frame.
func (x *FileExporter) ForceFlush(ctx context.Context) error { return x.files.ForceFlush(ctx) }

// Shutdown finishes the file. Exports after Shutdown return sdkmetric.ErrExporterShutdown.
func (x *FileExporter) Shutdown(ctx context.Context) error { return x.files.Shutdown(ctx) }

// Stats returns what was written so far. Items are points.
func (x *FileExporter) Stats() stefsdk.FileStats { return x.files.Stats() }

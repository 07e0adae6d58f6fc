// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steflog exports the log records of the OpenTelemetry SDK as STEF: New to an
// endpoint, NewFile to files. Package stefsdk has the options.
// sdk/example_test.go has whole programs, which go doc does not print.
package steflog

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"google.golang.org/grpc"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/endpoint"
	"github.com/otelstef/stef/sdk/internal/files"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
	"github.com/otelstef/stef/stef-go/otelstef"
)

type logs = []sdklog.Record

var signal = endpoint.Signal[logs]{
	Name:    settings.Logs,
	Compact: otelstef.CompactLogs,
	Root:    otelstef.LogsCompactRoot,
	Items:   func(r logs) int { return len(r) },
	NewEncoder: endpoint.EncoderOf(otelstef.NewLogsWriter, func(w *otelstef.LogsWriter) func(logs) error {
		return records.NewLogs(w).Encode
	}),
	NewOTLP: func(ctx context.Context, conn *grpc.ClientConn, c *settings.Endpoint) (endpoint.OTLP[logs], error) {
		x, err := otlploggrpc.New(ctx, otlploggrpc.WithGRPCConn(conn), otlploggrpc.WithHeaders(c.Headers),
			otlploggrpc.WithTimeout(c.Timeout), otlploggrpc.WithRetry(otlploggrpc.RetryConfig(c.Retry)))
		if err != nil {
			return endpoint.OTLP[logs]{}, err
		}
		return endpoint.OTLP[logs]{Export: x.Export, Shutdown: x.Shutdown}, nil
	},
}

// Exporter exports log records to an endpoint. It is safe for concurrent use.
type Exporter struct{ sender *endpoint.Sender[logs] }

var _ sdklog.Exporter = (*Exporter)(nil)

// New returns an exporter to an endpoint. It does not wait for a connection. The
// caller must call Shutdown.
func New(_ context.Context, options ...stefsdk.Option) (*Exporter, error) {
	s, _, err := endpoint.New(options, &signal)
	if err != nil {
		return nil, err
	}
	return &Exporter{s}, nil
}

// Export sends log records. It returns nil when the peer has acknowledged all log
// records. It returns soon after ctx has ended.
func (x *Exporter) Export(ctx context.Context, records []sdklog.Record) error {
	return endpoint.OfSDK(x.sender.Export(ctx, records), sdklog.ErrExporterShutdown)
}

// ForceFlush waits for the exports that have begun. There is nothing else to flush.
func (x *Exporter) ForceFlush(ctx context.Context) error { return x.sender.ForceFlush(ctx) }

// Shutdown waits for the exports that have begun, until ctx ends, and closes the
// connection. Exports after Shutdown return sdklog.ErrExporterShutdown.
func (x *Exporter) Shutdown(ctx context.Context) error { return x.sender.Shutdown(ctx) }

// Stats returns what was exported so far.
func (x *Exporter) Stats() stefsdk.Stats { return x.sender.Stats() }

// FileExporter exports log records to files. It is safe for concurrent use.
type FileExporter struct{ files *files.Exporter[logs] }

var _ sdklog.Exporter = (*FileExporter)(nil)

// NewFile returns an exporter to files in the folder dir. The first export creates it. If dir is
// "", OTEL_EXPORTER_STEF_FILE_DIRECTORY names the folder; its default is "telemetry". Errors of the
// file system do not make NewFile fail; Export returns them. The caller must call Shutdown.
func NewFile(dir string, options ...stefsdk.FileOption) (*FileExporter, error) {
	f, _, err := files.New(dir, options, &signal)
	if err != nil {
		return nil, err
	}
	return &FileExporter{f}, nil
}

// Export writes log records. It returns nil when the records are in the file, or, with
// stefsdk.WithFlushInterval, in the unfinished frame. Writing waits only for the
// file system. After writing has begun, Export ignores ctx.
func (x *FileExporter) Export(ctx context.Context, records []sdklog.Record) error {
	return endpoint.OfSDK(x.files.Export(ctx, records), sdklog.ErrExporterShutdown)
}

// ForceFlush writes the unfinished frame.
func (x *FileExporter) ForceFlush(ctx context.Context) error { return x.files.ForceFlush(ctx) }

// Shutdown finishes the file. Exports after Shutdown return sdklog.ErrExporterShutdown.
func (x *FileExporter) Shutdown(ctx context.Context) error { return x.files.Shutdown(ctx) }

// Stats returns what was written so far.
func (x *FileExporter) Stats() stefsdk.FileStats { return x.files.Stats() }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steftrace exports the spans of the OpenTelemetry SDK as STEF: New to an
// endpoint, NewFile to files. Package stefsdk has the options.
// sdk/example_test.go has whole programs, which go doc does not print.
package steftrace

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/endpoint"
	"github.com/otelstef/stef/sdk/internal/files"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
	"github.com/otelstef/stef/stef-go/otelstef"
)

type spans = []sdktrace.ReadOnlySpan

var signal = endpoint.Signal[spans]{
	Name:    settings.Traces,
	Compact: otelstef.CompactSpans,
	Root:    otelstef.SpansCompactRoot,
	Items:   func(s spans) int { return len(s) },
	NewEncoder: endpoint.EncoderOf(otelstef.NewSpansWriter, func(w *otelstef.SpansWriter) func(spans) error {
		return records.NewSpans(w).Encode
	}),
	NewOTLP: func(ctx context.Context, conn *grpc.ClientConn, c *settings.Endpoint) (endpoint.OTLP[spans], error) {
		x, err := otlptracegrpc.New(ctx, otlptracegrpc.WithGRPCConn(conn), otlptracegrpc.WithHeaders(c.Headers),
			otlptracegrpc.WithTimeout(c.Timeout), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(c.Retry)))
		if err != nil {
			return endpoint.OTLP[spans]{}, err
		}
		return endpoint.OTLP[spans]{Export: x.ExportSpans, Shutdown: x.Shutdown}, nil
	},
}

// Exporter exports spans to an endpoint. It is safe for concurrent use.
type Exporter struct{ sender *endpoint.Sender[spans] }

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// New returns an exporter to an endpoint. It does not wait for a connection. The
// caller must call Shutdown.
func New(_ context.Context, options ...stefsdk.Option) (*Exporter, error) {
	s, _, err := endpoint.New(options, &signal)
	if err != nil {
		return nil, err
	}
	return &Exporter{s}, nil
}

// ExportSpans sends spans. It returns nil when the peer has acknowledged all spans.
// It returns soon after ctx has ended.
func (x *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return x.sender.Export(ctx, spans)
}

// ForceFlush waits for the exports that have begun. There is nothing else to flush.
func (x *Exporter) ForceFlush(ctx context.Context) error { return x.sender.ForceFlush(ctx) }

// Shutdown waits for the exports that have begun, until ctx ends, and closes the
// connection. Exports after Shutdown return stefsdk.ErrShutdown.
func (x *Exporter) Shutdown(ctx context.Context) error { return x.sender.Shutdown(ctx) }

// Stats returns what was exported so far.
func (x *Exporter) Stats() stefsdk.Stats { return x.sender.Stats() }

// MarshalLog describes the exporter in logs of the SDK.
func (*Exporter) MarshalLog() any { return struct{ Type string }{"steftrace"} }

// FileExporter exports spans to files. It is safe for concurrent use.
type FileExporter struct{ files *files.Exporter[spans] }

var _ sdktrace.SpanExporter = (*FileExporter)(nil)

// NewFile returns an exporter to files in the folder dir. The first export creates it. If dir is
// "", OTEL_EXPORTER_STEF_FILE_DIRECTORY names the folder; its default is "telemetry". Errors of the
// file system do not make NewFile fail; ExportSpans returns them. The caller must call Shutdown.
func NewFile(dir string, options ...stefsdk.FileOption) (*FileExporter, error) {
	f, _, err := files.New(dir, options, &signal)
	if err != nil {
		return nil, err
	}
	return &FileExporter{f}, nil
}

// ExportSpans writes spans. It returns nil when the spans are in the file, or, with
// stefsdk.WithFlushInterval, in the unfinished frame. Writing waits only for the
// file system. After writing has begun, ExportSpans ignores ctx.
func (x *FileExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return x.files.Export(ctx, spans)
}

// ForceFlush writes the unfinished frame.
func (x *FileExporter) ForceFlush(ctx context.Context) error { return x.files.ForceFlush(ctx) }

// Shutdown finishes the file. Exports after Shutdown return stefsdk.ErrShutdown.
func (x *FileExporter) Shutdown(ctx context.Context) error { return x.files.Shutdown(ctx) }

// Stats returns what was written so far.
func (x *FileExporter) Stats() stefsdk.FileStats { return x.files.Stats() }

// MarshalLog describes the exporter in logs of the SDK.
func (*FileExporter) MarshalLog() any { return struct{ Type string }{"steftrace file"} }

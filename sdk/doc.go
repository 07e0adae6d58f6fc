// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefsdk configures the STEF exporters for the OpenTelemetry SDK for Go.
// The exporters are in the packages of the signals:
//
//	steftrace.New, steftrace.NewFile      a sdktrace.SpanExporter
//	stefmetric.New, stefmetric.NewFile    a sdkmetric.Exporter
//	steflog.New, steflog.NewFile          a sdklog.Exporter
//
// New exports to an endpoint, by STEF over gRPC, or by OTLP if the peer has no STEF.
// NewFile exports to files that rotate. Package stefauto registers the exporters
// with autoexport.
//
//	exporter, err := steftrace.New(ctx, stefsdk.WithEndpoint("collector:4320"), stefsdk.WithInsecure())
//	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//	defer provider.Shutdown(ctx)
//
// sdk/example_test.go has whole programs for all signals, which go doc does not print.
//
// # Delivery
//
// An export to an endpoint returns nil when the peer has acknowledged the batch, and an
// export to files when the batch is in the file (or in memory, with WithFlushInterval).
// If a stream breaks, the batch is sent again, so a peer can receive it twice. A batch
// is never lost without an error. An export that fails returns an error. The SDK passes the
// error to its error handler, returns it from ForceFlush or Shutdown, or drops it (README.md
// says when). The SDK itself does not send a batch again. Stats counts the items of all exports.
//
// All work is done during an export. With the batch processors and the periodic reader,
// no code of this module runs on the goroutine that ends a span, emits a log record or
// records a measurement. That goroutine never waits for an export: if the queue is full,
// the SDK drops spans and log records.
//
// # Errors
//
//	ErrShutdown              an export after Shutdown
//	*OmittedError            items over the limits of STEF, and metrics of an unknown kind; all other
//	                         items were sent
//	*stefgrpc.RejectedError  items that the peer rejected permanently; it accepted all other items
//	*stefgrpc.UnsentError    the batch was not sent, or no stream could be opened before the
//	                         timeout; wraps a *stefgrpc.Error
//	*rotate.Error            a fault of the file system
//
// # Environment variables
//
// README.md lists the variables. Options have precedence over them.
package stefsdk

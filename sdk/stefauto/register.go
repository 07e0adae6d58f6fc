// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefauto registers the STEF exporters with package autoexport. Import it for
// its side effect:
//
//	import _ "github.com/otelstef/stef/sdk/stefauto"
//
// Then the variables OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER
// accept two more values: "stef" exports to an endpoint, "stef_file" to files.
// Environment variables configure the exporters, see the README of the module.
package stefauto

import (
	"context"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

// The values of the variables.
const (
	Endpoint = "stef"
	Files    = "stef_file"
)

func init() {
	autoexport.RegisterSpanExporter(Endpoint, func(ctx context.Context) (sdktrace.SpanExporter, error) {
		return exporter[sdktrace.SpanExporter](steftrace.New(ctx))
	})
	autoexport.RegisterSpanExporter(Files, func(context.Context) (sdktrace.SpanExporter, error) {
		return exporter[sdktrace.SpanExporter](steftrace.NewFile(""))
	})
	autoexport.RegisterMetricReader(Endpoint, func(ctx context.Context) (sdkmetric.Reader, error) {
		x, err := stefmetric.New(ctx)
		if err != nil {
			return nil, err
		}
		return sdkmetric.NewPeriodicReader(x), nil
	})
	autoexport.RegisterMetricReader(Files, func(context.Context) (sdkmetric.Reader, error) {
		x, err := stefmetric.NewFile("")
		if err != nil {
			return nil, err
		}
		return sdkmetric.NewPeriodicReader(x), nil
	})
	autoexport.RegisterLogExporter(Endpoint, func(ctx context.Context) (sdklog.Exporter, error) {
		return exporter[sdklog.Exporter](steflog.New(ctx))
	})
	autoexport.RegisterLogExporter(Files, func(context.Context) (sdklog.Exporter, error) {
		return exporter[sdklog.Exporter](steflog.NewFile(""))
	})
}

// exporter returns x, and nil with an error: a nil pointer in an interface is not nil.
func exporter[I any](x I, err error) (I, error) {
	if err != nil {
		var none I
		return none, err
	}
	return x, nil
}

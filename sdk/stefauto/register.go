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
	"fmt"
	"os"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

// These values of the variables select the STEF exporters.
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
		return reader(stefmetric.New(ctx))
	})
	autoexport.RegisterMetricReader(Files, func(context.Context) (sdkmetric.Reader, error) {
		return reader(stefmetric.NewFile(""))
	})
	autoexport.RegisterLogExporter(Endpoint, func(ctx context.Context) (sdklog.Exporter, error) {
		return exporter[sdklog.Exporter](steflog.New(ctx))
	})
	autoexport.RegisterLogExporter(Files, func(context.Context) (sdklog.Exporter, error) {
		return exporter[sdklog.Exporter](steflog.NewFile(""))
	})
}

// producers is the variable of autoexport that names further sources of metrics, such as the
// metrics of a Prometheus client.
const producers = "OTEL_METRICS_PRODUCERS"

// reader returns a reader that exports to x, or the error. Autoexport does not pass the producers of its variable
// to registered exporters, so reader reports that their metrics are missing.
func reader(x sdkmetric.Exporter, err error) (sdkmetric.Reader, error) {
	if err != nil {
		return nil, err
	}
	if v := os.Getenv(producers); v != "" && v != "none" {
		otel.Handle(fmt.Errorf("stef: %s is %q and is ignored, so metrics of these producers are not exported: pass the producers in the program, "+
			"to sdkmetric.NewPeriodicReader with a stefmetric exporter and sdkmetric.WithProducer", producers, v))
	}
	return sdkmetric.NewPeriodicReader(x), nil
}

// exporter returns x, or nil if there is an error. Without it, callers would receive a nil pointer
// in an interface, which is not equal to nil.
func exporter[I any](x I, err error) (I, error) {
	if err != nil {
		var none I
		return none, err
	}
	return x, nil
}

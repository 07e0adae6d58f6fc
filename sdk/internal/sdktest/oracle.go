// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/signal"
)

type capture struct{ body []byte }

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(request *http.Request) (*http.Response, error) {
	var body io.Reader = request.Body
	if request.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(request.Body); err != nil {
			return nil, err
		}
	}
	var err error
	if c.body, err = io.ReadAll(body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-protobuf"}},
		Body: io.NopCloser(bytes.NewReader(nil)), Request: request,
	}, nil
}

// Traces returns spans as the OTLP exporter sends them.
func Traces(spans []sdktrace.ReadOnlySpan) (ptrace.Traces, error) {
	ctx := context.Background()
	var c capture
	x, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(&http.Client{Transport: &c}))
	if err != nil {
		return ptrace.Traces{}, err
	}
	if err := x.ExportSpans(ctx, spans); err != nil {
		return ptrace.Traces{}, err
	}
	return signal.Traces.Unmarshal(c.body)
}

// Metrics returns metrics as the OTLP exporter sends them.
func Metrics(rm *metricdata.ResourceMetrics) (pmetric.Metrics, error) {
	ctx := context.Background()
	var c capture
	x, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithHTTPClient(&http.Client{Transport: &c}))
	if err != nil {
		return pmetric.Metrics{}, err
	}
	if err := x.Export(ctx, rm); err != nil {
		return pmetric.Metrics{}, err
	}
	return signal.Metrics.Unmarshal(c.body)
}

// Logs returns log records as the OTLP exporter sends them.
func Logs(records []sdklog.Record) (plog.Logs, error) {
	ctx := context.Background()
	var c capture
	x, err := otlploghttp.New(ctx, otlploghttp.WithHTTPClient(&http.Client{Transport: &c}))
	if err != nil {
		return plog.Logs{}, err
	}
	if err := x.Export(ctx, records); err != nil {
		return plog.Logs{}, err
	}
	return signal.Logs.Unmarshal(c.body)
}

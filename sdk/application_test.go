// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelstef/stef/internal/signal"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

// application is a program that uses the SDK and exports to files. For each number
// it makes a span, a log record and a point.
type application struct {
	spans   *steftrace.FileExporter
	metrics *stefmetric.FileExporter
	logs    *steflog.FileExporter

	traced   *sdktrace.TracerProvider
	measured *sdkmetric.MeterProvider
	logged   *sdklog.LoggerProvider

	tracer trace.Tracer
	gauge  metric.Int64Gauge
	logger log.Logger
}

func newApplication(dir string, batch bool, options ...stefsdk.FileOption) (*application, error) {
	a := &application{}
	var err1, err2, err3, err4 error
	a.spans, err1 = steftrace.NewFile(dir, options...)
	a.metrics, err2 = stefmetric.NewFile(dir, options...)
	a.logs, err3 = steflog.NewFile(dir, options...)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	spans, logs := sdktrace.NewSimpleSpanProcessor(a.spans), sdklog.Processor(sdklog.NewSimpleProcessor(a.logs))
	if batch {
		spans, logs = sdktrace.NewBatchSpanProcessor(a.spans), sdklog.NewBatchProcessor(a.logs)
	}
	a.traced = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	a.logged = sdklog.NewLoggerProvider(sdklog.WithProcessor(logs))
	a.measured = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(a.metrics)))
	a.tracer, a.logger = a.traced.Tracer("shop"), a.logged.Logger("shop")
	a.gauge, err4 = a.measured.Meter("shop").Int64Gauge("orders")
	return a, err4
}

// work makes the telemetry of the application for a number.
func (a *application) work(ctx context.Context, n int) {
	ctx, span := a.tracer.Start(ctx, fmt.Sprint("order ", n))
	var r log.Record
	r.SetBody(attribute.StringValue(fmt.Sprint("order ", n)))
	a.logger.Emit(ctx, r)
	a.gauge.Record(ctx, int64(n))
	span.End()
}

func (a *application) flush(ctx context.Context) error {
	return errors.Join(a.traced.ForceFlush(ctx), a.logged.ForceFlush(ctx), a.measured.ForceFlush(ctx))
}

func (a *application) shutdown(ctx context.Context) error {
	return errors.Join(a.traced.Shutdown(ctx), a.logged.Shutdown(ctx), a.measured.Shutdown(ctx))
}

// numbers contains the numbers in the files of each signal, in the order of the files.
type numbers struct{ spans, points, logs []int }

// numbersIn returns the numbers in the files of a folder. The last file of a killed
// process may end within a frame.
func numbersIn(t *testing.T, dir string) (n numbers) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*-*.stef*")) // sorted
	require.NoError(t, err)
	for _, path := range paths {
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		number := func(text string) (v int) {
			_, err := fmt.Sscanf(text, "order %d", &v)
			require.NoError(t, err, "%s: %q", path, text)
			return v
		}
		switch {
		case strings.Contains(path, "-traces."):
			for _, td := range frames(t, signal.Traces, path, file) {
				for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
					n.spans = append(n.spans, number(s.Name()))
				}
			}
		case strings.Contains(path, "-metrics."):
			for _, md := range frames(t, signal.Metrics, path, file) {
				for _, p := range md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Gauge().DataPoints().All() {
					n.points = append(n.points, int(p.IntValue()))
				}
			}
		default:
			for _, ld := range frames(t, signal.Logs, path, file) {
				for _, r := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
					n.logs = append(n.logs, number(r.Body().Str()))
				}
			}
		}
	}
	return n
}

// frames decodes the complete frames of a file.
func frames[T any](t *testing.T, d *signal.Descriptor[T], path string, file []byte) (list []T) {
	t.Helper()
	decoder, err := d.NewDecoder(bytes.NewReader(file), nil)
	for err == nil {
		var batch T
		if batch, err = decoder.Decode(); err == nil {
			list = append(list, batch)
		}
	}
	if !errors.Is(err, io.EOF) {
		require.True(t, strings.HasSuffix(path, ".active"), "%s: %v", path, err)
	}
	return list
}

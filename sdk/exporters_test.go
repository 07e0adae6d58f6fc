// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/canon"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steflog"
	"github.com/otelstef/stef/sdk/stefmetric"
	"github.com/otelstef/stef/sdk/steftrace"
)

type data struct {
	spans   []sdktrace.ReadOnlySpan
	metrics *metricdata.ResourceMetrics
	logs    []sdklog.Record
}

// batches returns random batches that are not empty.
func batches(n int) []data {
	var list []data
	for seed := uint64(0); len(list) < n; seed++ {
		r := sdktest.New(seed)
		d := data{r.Spans(40), r.Metrics(6), r.Logs(40)}
		if len(d.spans) > 0 && len(d.logs) > 0 && len(d.metrics.ScopeMetrics) > 0 {
			list = append(list, d)
		}
	}
	return list
}

// expect compares the received telemetry with the telemetry that the OTLP exporters send.
func expect(t *testing.T, list []data, traces []ptrace.Traces, metrics []pmetric.Metrics, logs []plog.Logs) {
	t.Helper()
	var td []ptrace.Traces
	var md []pmetric.Metrics
	var ld []plog.Logs
	for _, d := range list {
		spans, err := sdktest.Traces(d.spans)
		require.NoError(t, err)
		points, err := sdktest.Metrics(d.metrics)
		require.NoError(t, err)
		records, err := sdktest.Logs(d.logs)
		require.NoError(t, err)
		td, md, ld = append(td, spans), append(md, points), append(ld, records)
	}
	require.Empty(t, canon.Diff(canon.Traces(td...), canon.Traces(traces...)))
	require.Empty(t, canon.Diff(canon.Metrics(md...), canon.Metrics(metrics...)))
	require.Empty(t, canon.Diff(canon.Logs(ld...), canon.Logs(logs...)))
}

type exporters struct {
	traces  sdktrace.SpanExporter
	metrics sdkmetric.Exporter
	logs    sdklog.Exporter
}

func toEndpoint(t *testing.T, options ...stefsdk.Option) exporters {
	t.Helper()
	ctx := context.Background()
	spans, err := steftrace.New(ctx, options...)
	require.NoError(t, err)
	metrics, err := stefmetric.New(ctx, options...)
	require.NoError(t, err)
	logs, err := steflog.New(ctx, options...)
	require.NoError(t, err)
	return exporters{spans, metrics, logs}
}

func toFiles(t *testing.T, dir string, options ...stefsdk.FileOption) exporters {
	t.Helper()
	spans, err := steftrace.NewFile(dir, options...)
	require.NoError(t, err)
	metrics, err := stefmetric.NewFile(dir, options...)
	require.NoError(t, err)
	logs, err := steflog.NewFile(dir, options...)
	require.NoError(t, err)
	return exporters{spans, metrics, logs}
}

func (x exporters) export(ctx context.Context, d data) error {
	return errors.Join(x.traces.ExportSpans(ctx, d.spans), x.metrics.Export(ctx, d.metrics), x.logs.Export(ctx, d.logs))
}

func (x exporters) shutdown(ctx context.Context) error {
	return errors.Join(x.traces.Shutdown(ctx), x.metrics.Shutdown(ctx), x.logs.Shutdown(ctx))
}

func (x exporters) flush(ctx context.Context) error {
	spans := x.traces.(interface{ ForceFlush(context.Context) error })
	return errors.Join(spans.ForceFlush(ctx), x.metrics.ForceFlush(ctx), x.logs.ForceFlush(ctx))
}

func TestToEndpoint(t *testing.T) {
	for _, stef := range []bool{true, false} {
		name := map[bool]string{true: "STEF", false: "OTLP"}[stef]
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			peer := sdktest.NewPeer(t, netfault.Link{})
			peer.STEF = stef
			peer.Start(t)
			x := toEndpoint(t, peer.Options(stefsdk.WithHeaders(map[string]string{"tenant": "a b"}))...)
			list := batches(8)
			for _, d := range list {
				require.NoError(t, x.export(ctx, d))
			}
			require.NoError(t, x.flush(ctx))
			got := peer.Received()
			expect(t, list, got.Traces, got.Metrics, got.Logs)
			require.Equal(t, !stef, got.ByOTLP == 3*len(list))
			require.NotEmpty(t, got.Headers)
			for _, headers := range got.Headers {
				require.Equal(t, []string{"a b"}, headers.Get("tenant"))
			}
			require.NoError(t, x.shutdown(ctx))
			require.NoError(t, x.shutdown(ctx))
			require.NoError(t, x.flush(ctx))
			require.ErrorIs(t, x.traces.ExportSpans(ctx, list[0].spans), stefsdk.ErrShutdown)
			require.ErrorIs(t, x.metrics.Export(ctx, list[0].metrics), sdkmetric.ErrExporterShutdown)
			require.ErrorIs(t, x.logs.Export(ctx, list[0].logs), sdklog.ErrExporterShutdown)
		})
	}
}

// TestPartialSuccess checks that items which an OTLP peer accepted do not count as failed.
func TestPartialSuccess(t *testing.T) {
	ctx := context.Background()
	d := batches(1)[0]
	f := func(partial sdktest.Partial, text string) {
		t.Helper()
		peer := sdktest.NewPeer(t, netfault.Link{})
		peer.STEF = false
		peer.AcceptPartly(partial)
		peer.Start(t)
		x := toEndpoint(t, peer.Options()...)
		rejected := uint64(max(0, partial.Rejected))
		check := func(err error, stats stefsdk.Stats) {
			t.Helper()
			require.ErrorContains(t, err, text)
			require.Zero(t, stats.Failed)
			require.Equal(t, rejected, stats.Rejected)
			require.NotZero(t, stats.Delivered)
			require.Equal(t, stats.Delivered, stats.ByOTLP)
		}
		check(x.traces.ExportSpans(ctx, d.spans), x.traces.(*steftrace.Exporter).Stats())
		check(x.metrics.Export(ctx, d.metrics), x.metrics.(*stefmetric.Exporter).Stats())
		check(x.logs.Export(ctx, d.logs), x.logs.(*steflog.Exporter).Stats())
		require.NoError(t, x.shutdown(ctx))
	}
	f(sdktest.Partial{Rejected: 1, Message: "one is bad"}, "one is bad (1 ")
	f(sdktest.Partial{Rejected: 2}, "(2 ")
	f(sdktest.Partial{Message: "careful"}, "careful (0 ")
	f(sdktest.Partial{Rejected: -1, Message: "odd"}, "odd")
}

func TestToFiles(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "telemetry")
	x := toFiles(t, dir, stefsdk.WithRotation(20_000, -1))
	list := batches(20)
	for _, d := range list {
		require.NoError(t, x.export(ctx, d))
	}
	require.NoError(t, x.flush(ctx))
	got := read(t, dir)
	require.Greater(t, got.files, 3)
	expect(t, list, got.traces, got.metrics, got.logs)

	require.NoError(t, x.shutdown(ctx))
	require.NoError(t, x.shutdown(ctx))
	require.NoError(t, x.flush(ctx))
	require.ErrorIs(t, x.traces.ExportSpans(ctx, list[0].spans), stefsdk.ErrShutdown)
	require.ErrorIs(t, x.metrics.Export(ctx, list[0].metrics), sdkmetric.ErrExporterShutdown)
	require.ErrorIs(t, x.logs.Export(ctx, list[0].logs), sdklog.ErrExporterShutdown)
	active, err := filepath.Glob(filepath.Join(dir, "*.active"))
	require.NoError(t, err)
	require.Empty(t, active)
	stats := x.traces.(*steftrace.FileExporter).Stats()
	require.Equal(t, stats.Files.Records, stats.Written)
	require.Equal(t, stats.Files.Opened, stats.Files.Finished)
}

type content struct {
	files   int
	traces  []ptrace.Traces
	metrics []pmetric.Metrics
	logs    []plog.Logs
}

// read reads the whole frames of all files in a folder.
func read(t *testing.T, dir string) content {
	t.Helper()
	var c content
	paths, err := filepath.Glob(filepath.Join(dir, "*-*.stef*"))
	require.NoError(t, err)
	for _, path := range paths {
		c.files++
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		switch {
		case bytes.Contains([]byte(path), []byte("-traces.")):
			c.traces = append(c.traces, decode(t, signal.Traces, file)...)
		case bytes.Contains([]byte(path), []byte("-metrics.")):
			c.metrics = append(c.metrics, decode(t, signal.Metrics, file)...)
		case bytes.Contains([]byte(path), []byte("-logs.")):
			c.logs = append(c.logs, decode(t, signal.Logs, file)...)
		}
	}
	return c
}

func decode[T any](t *testing.T, d *signal.Descriptor[T], file []byte) []T {
	t.Helper()
	decoder, err := d.NewDecoder(bytes.NewReader(file), nil)
	require.NoError(t, err)
	var list []T
	for {
		batch, err := decoder.Decode()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, batch)
	}
}

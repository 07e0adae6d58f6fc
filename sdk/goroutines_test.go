// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steftrace"
)

// goroutine returns the number of the goroutine that calls it, from the header of its
// stack: "goroutine 12 [running]:".
func goroutine() string {
	var header [64]byte
	return string(bytes.Fields(header[:runtime.Stack(header[:], false)])[1])
}

// watch records which goroutines call an exporter, and delays the exports until release is closed.
type watch struct {
	entered chan struct{} // closed by the first export
	release chan struct{}
	once    sync.Once

	mu      sync.Mutex
	callers map[string]bool
	exports int // number of exports that have ended
}

func newWatch() *watch {
	return &watch{entered: make(chan struct{}), release: make(chan struct{}), callers: map[string]bool{}}
}

func (w *watch) note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.callers[goroutine()] = true
}

func (w *watch) export(do func() error) error {
	w.note()
	w.once.Do(func() { close(w.entered) })
	<-w.release
	err := do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exports++
	return err
}

func (w *watch) ended() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exports
}

type watchedSpans struct {
	sdktrace.SpanExporter
	*watch
}

// ExportSpans implements sdktrace.SpanExporter.
func (w watchedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return w.export(func() error { return w.SpanExporter.ExportSpans(ctx, spans) })
}

type watchedLogs struct {
	sdklog.Exporter
	*watch
}

// Export implements sdklog.Exporter.
func (w watchedLogs) Export(ctx context.Context, records []sdklog.Record) error {
	return w.export(func() error { return w.Exporter.Export(ctx, records) })
}

// ForceFlush implements sdklog.Exporter.
func (w watchedLogs) ForceFlush(ctx context.Context) error {
	w.note()
	return w.Exporter.ForceFlush(ctx)
}

type watchedMetrics struct {
	sdkmetric.Exporter
	*watch
}

// Export implements sdkmetric.Exporter.
func (w watchedMetrics) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	return w.export(func() error { return w.Exporter.Export(ctx, rm) })
}

// ForceFlush implements sdkmetric.Exporter.
func (w watchedMetrics) ForceFlush(ctx context.Context) error {
	w.note()
	return w.Exporter.ForceFlush(ctx)
}

// Temporality implements sdkmetric.Exporter.
func (w watchedMetrics) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	w.note()
	return w.Exporter.Temporality(kind)
}

// Aggregation implements sdkmetric.Exporter.
func (w watchedMetrics) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	w.note()
	return w.Exporter.Aggregation(kind)
}

const queue = 64

type watched struct {
	application
	watches map[string]*watch
}

func newWatched(t *testing.T, x exporters, simple bool) *watched {
	t.Helper()
	w := &watched{watches: map[string]*watch{"spans": newWatch(), "metrics": newWatch(), "logs": newWatch()}}
	toSpans, toLogs := watchedSpans{x.traces, w.watches["spans"]}, watchedLogs{x.logs, w.watches["logs"]}
	var spans sdktrace.SpanProcessor
	var logs sdklog.Processor
	if simple {
		spans, logs = sdktrace.NewSimpleSpanProcessor(toSpans), sdklog.NewSimpleProcessor(toLogs)
	} else {
		spans = sdktrace.NewBatchSpanProcessor(toSpans, sdktrace.WithMaxQueueSize(queue),
			sdktrace.WithMaxExportBatchSize(queue/4), sdktrace.WithBatchTimeout(time.Millisecond))
		logs = sdklog.NewBatchProcessor(toLogs, sdklog.WithMaxQueueSize(queue),
			sdklog.WithExportMaxBatchSize(queue/4), sdklog.WithExportInterval(time.Millisecond))
	}
	w.traced = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	w.logged = sdklog.NewLoggerProvider(sdklog.WithProcessor(logs))
	w.measured = sdkmetric.NewMeterProvider(sdkmetric.WithReader(
		sdkmetric.NewPeriodicReader(watchedMetrics{x.metrics, w.watches["metrics"]}, sdkmetric.WithInterval(time.Millisecond))))
	w.tracer, w.logger = w.traced.Tracer("shop"), w.logged.Logger("shop")
	var err error
	w.gauge, err = w.measured.Meter("shop").Int64Gauge("orders")
	require.NoError(t, err)
	return w
}

// run calls work n times on each of four goroutines and waits until they have ended. It
// returns the numbers of these goroutines.
func (w *watched) run(t *testing.T, n int) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	numbers := map[string]bool{}
	for range 4 {
		group.Go(func() {
			for i := range n {
				w.work(context.Background(), i)
			}
			mu.Lock()
			defer mu.Unlock()
			numbers[goroutine()] = true
		})
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute): // a goroutine that waits for an export would wait forever
		require.Fail(t, "ending a span, emitting a log record or recording a measurement waits for an export")
	}
	require.Len(t, numbers, 4)
	return numbers
}

func (w *watched) release() {
	for _, watch := range w.watches {
		close(watch.release)
	}
}

// shared returns the signals whose exporter ran on one of the given goroutines.
func (w *watched) shared(numbers map[string]bool) (list []string) {
	for _, name := range []string{"spans", "metrics", "logs"} {
		for number := range w.watches[name].callers {
			if numbers[number] {
				list = append(list, name)
				break
			}
		}
	}
	return list
}

// With the batch processors and the periodic reader, no code of an exporter runs on the
// goroutines of the application, and these goroutines never wait for an export, even when
// the queues are full.
func TestNothingRunsOnTheCallersGoroutine(t *testing.T) {
	const n = 20 * queue
	test := func(t *testing.T, x exporters) {
		w := newWatched(t, x, false)
		w.work(context.Background(), 0)
		for name, watch := range w.watches {
			select {
			case <-watch.entered:
			case <-time.After(time.Minute):
				require.Fail(t, "no export", name)
			}
		}
		// Each exporter runs an export that does not end, so the queues fill up.
		first := w.run(t, n)
		for name, watch := range w.watches {
			require.Zero(t, watch.ended(), name)
		}
		w.release()
		second := w.run(t, n)
		require.NoError(t, w.shutdown(t.Context()))
		require.Empty(t, w.shared(first))
		require.Empty(t, w.shared(second))
		for name, watch := range w.watches {
			require.Greater(t, watch.ended(), 1, name)
		}
	}
	t.Run("files", func(t *testing.T) {
		x := toFiles(t, t.TempDir())
		test(t, x)
		written := x.traces.(*steftrace.FileExporter).Stats().Written
		require.Less(t, written, uint64(1+4*n+queue+queue), "the queue was full")
	})
	t.Run("endpoint", func(t *testing.T) {
		peer := sdktest.NewPeer(t, netfault.Link{})
		peer.Start(t)
		test(t, toEndpoint(t, peer.Options()...))
		require.Less(t, peer.Spans(), 1+4*n+queue+queue, "the queue was full")
	})
}

// The simple processors run the exporter on the goroutines of the application, which shows
// that TestNothingRunsOnTheCallersGoroutine can fail.
func TestSimpleProcessorsRunOnTheCallersGoroutine(t *testing.T) {
	w := newWatched(t, toFiles(t, t.TempDir()), true)
	w.release()
	numbers := w.run(t, 10)
	require.NoError(t, w.shutdown(t.Context()))
	require.Equal(t, []string{"spans", "logs"}, w.shared(numbers))
}

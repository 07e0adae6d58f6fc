// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Config configures what one process measures.
type Config struct {
	Exporter, Scenario string
	Batch              bool // true: the batch processor, false: the simple processor
	Runs               int  // number of runs of the scenario
	// Rate is the number of runs per second. The runs begin in 100 bursts per second. If Rate is 0, there
	// is no wait between the runs.
	Rate int
	To   Addresses
}

// Result is what a process measured. Times are nanoseconds.
type Result struct {
	Config
	Min, Mean, Median, P99, Max, Std float64 // time of a run of the scenario
	User, System                     float64 // CPU time of the process, per run
	Bytes                            float64 // bytes per run
	Lost                             int64   // lost spans
	Spans                            int64
	Real                             float64 // seconds
}

var process = resource.NewSchemaless(
	attribute.String("service.name", "study"), attribute.String("service.version", "1.0"), attribute.Int("process.pid", 1),
)

// Run measures a configuration in this process.
func Run(c Config) (Result, error) {
	ctx := context.Background()
	run, err := scenarioOf(c.Scenario)
	if err != nil {
		return Result{}, err
	}
	var count counter
	defer func() { _ = os.RemoveAll(count.dir) }() // "" removes nothing
	tracer, provider, err := tracerOf(ctx, c, &count)
	if err != nil {
		return Result{}, err
	}
	if c.Exporter == None {
		run = func(_ context.Context, _ trace.Tracer, i int) time.Duration {
			start := time.Now()
			operation(i)
			return time.Since(start)
		}
	}
	if slices.Contains(lines, c.Exporter) {
		run = logLine
	}
	// Warm up: open connections and streams, and fill caches.
	for i := range min(c.Runs/10, 200) {
		run(ctx, tracer, i)
	}
	if err := provider.ForceFlush(ctx); err != nil {
		return Result{}, err
	}
	bytesBefore, err := count.total()
	if err != nil {
		return Result{}, err
	}
	runtime.GC()
	before, begin := usage(syscall.RUSAGE_SELF), time.Now()
	took := make([]float64, c.Runs)
	delivered := count.delivered.Load()
	for i := range took {
		if burst := c.Rate / 100; burst > 0 && i%burst == 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(i/burst) * 10 * time.Millisecond)))
		}
		took[i] = float64(run(ctx, tracer, i))
	}
	if err := provider.Shutdown(ctx); err != nil {
		return Result{}, err
	}
	after := usage(syscall.RUSAGE_SELF)
	r := Result{Config: c, Real: time.Since(begin).Seconds(), Spans: int64(c.Runs * spansPer(c.Scenario))}
	r.User, r.System = after.user-before.user, after.system-before.system
	r.User, r.System = r.User/float64(c.Runs), r.System/float64(c.Runs)
	total, err := count.total()
	if err != nil {
		return Result{}, err
	}
	r.Bytes = float64(total-bytesBefore) / float64(c.Runs)
	if exports(c.Exporter) {
		r.Lost = max(0, r.Spans-(count.delivered.Load()-delivered))
	}
	r.summarize(took)
	return r, nil
}

// exports reports whether a configuration has an exporter that counts the delivered spans.
func exports(name string) bool { return name != None && name != NoOp && !slices.Contains(lines, name) }

func tracerOf(ctx context.Context, c Config, count *counter) (trace.Tracer, *sdktrace.TracerProvider, error) {
	if !exports(c.Exporter) {
		return noop.NewTracerProvider().Tracer("study"), sdktrace.NewTracerProvider(), nil
	}
	x, err := exporterOf(ctx, c.Exporter, c.To, count)
	if err != nil {
		return nil, nil, err
	}
	processor := sdktrace.NewSimpleSpanProcessor(x)
	if c.Batch {
		processor = sdktrace.NewBatchSpanProcessor(x)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(process))
	return provider.Tracer("study"), provider, nil
}

func (r *Result) summarize(took []float64) {
	slices.Sort(took)
	n := float64(len(took))
	sum := 0.0
	for _, t := range took {
		sum += t
	}
	r.Mean = sum / n
	squares := 0.0
	for _, t := range took {
		squares += (t - r.Mean) * (t - r.Mean)
	}
	r.Std = math.Sqrt(squares / n)
	at := func(q float64) float64 { return took[min(len(took)-1, int(q*n))] }
	r.Min, r.Median, r.P99, r.Max = took[0], at(0.5), at(0.99), took[len(took)-1]
}

type cpu struct{ user, system float64 }

func (c cpu) since(earlier cpu) float64 {
	return c.user + c.system - earlier.user - earlier.system
}

// usage returns the CPU time of this process, or of this thread, in nanoseconds.
func usage(who int) cpu {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(fmt.Sprint("getrusage: ", err))
	}
	return cpu{float64(u.Utime.Nano()), float64(u.Stime.Nano())}
}

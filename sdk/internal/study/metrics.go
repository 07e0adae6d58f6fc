// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package study

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// MetricConfig configures what one process measures: a fixed amount of work while
// metrics are exported.
type MetricConfig struct {
	Exporter string // None for the work alone
	Interval time.Duration
	Work     int // number of rounds
	To       Addresses
}

// MetricResult is what a process measured.
type MetricResult struct {
	MetricConfig
	Real  float64 // elapsed time in seconds
	CPU   float64 // CPU time of the process in seconds
	Own   float64 // CPU time of the work alone in seconds
	Bytes int64
}

// instruments is the number of counters, and also the number of histograms. series is
// the number of series of each instrument. A small service has similar numbers.
const (
	instruments = 10
	series      = 10
)

// RunMetrics measures a configuration in this process.
func RunMetrics(c MetricConfig) (MetricResult, error) {
	ctx := context.Background()
	var count counter
	defer func() { _ = os.RemoveAll(count.dir) }() // "" removes nothing
	shutdown := func(context.Context) error { return nil }
	if c.Exporter != None {
		x, err := metricExporterOf(ctx, c.Exporter, c.To, &count)
		if err != nil {
			return MetricResult{}, err
		}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(process),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(x, sdkmetric.WithInterval(c.Interval))))
		shutdown = provider.Shutdown
		if err := record(ctx, provider.Meter("study")); err != nil {
			return MetricResult{}, err
		}
	}
	// The work has its own thread, so that the system counts its CPU time separately.
	runtime.LockOSThread()
	before, own, begin := usage(syscall.RUSAGE_SELF), usage(syscall.RUSAGE_THREAD), time.Now()
	for i := range c.Work {
		operation(i)
	}
	r := MetricResult{MetricConfig: c, Real: time.Since(begin).Seconds()}
	r.Own = usage(syscall.RUSAGE_THREAD).since(own) / 1e9
	runtime.UnlockOSThread()
	r.CPU = usage(syscall.RUSAGE_SELF).since(before) / 1e9
	if err := shutdown(ctx); err != nil {
		return MetricResult{}, err
	}
	var err error
	r.Bytes, err = count.total()
	return r, err
}

func record(ctx context.Context, meter metric.Meter) error {
	for i := range instruments {
		name := "counter." + string(rune('a'+i))
		counter, err := meter.Int64Counter(name)
		if err != nil {
			return err
		}
		histogram, err := meter.Float64Histogram("histogram." + string(rune('a'+i)))
		if err != nil {
			return err
		}
		for j := range series {
			with := metric.WithAttributes(attribute.Int("series", j), attribute.String("route", "/cart/{id}"))
			counter.Add(ctx, int64(j), with)
			histogram.Record(ctx, float64(j), with)
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/otelstef/stef/benchmarks/measure"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/transport"
)

// heap measures the memory of a sender and a receiver under load.
func heap(c *Context) (*Outcome, error) {
	long := 10 * time.Second
	switch {
	case c.Tiny:
		long = 100 * time.Millisecond
	case c.Full:
		long = 30 * time.Second
	}
	load := spans(8, 500, 10)
	t := c.table("heap", "Heap of both ends under load", transportNotes("As many batches of 500 spans with 10 attributes as it takes, no round trip; live objects and those not yet collected, every 40 ms. "+
		"above the batches: less what was there before; median MiB: of the second half of the run, because the heap grows at first; left after: what stays when both ends are closed, after two collections. Pools of decoders may still be in it: a third collection frees them. "+
		"The same 8 batches return with new ids and times, so STEF's dictionaries are fuller of use than with new ones.")...)
	t.Columns = append(report.Text("way", "compression"), report.Column{Name: "median MiB", Format: report.Fixed(1)}, report.Column{Name: "most MiB", Format: report.Fixed(1)},
		report.Column{Name: "batches/s", Format: report.Fixed(1)}, report.Column{Name: "left after, MiB", Format: report.Fixed(1)})
	chart := &report.Chart{Name: "heap", Title: "Heap over time, both ends, above the batches", X: "seconds", Y: "MiB", Picture: true}
	for _, config := range []transport.Config{
		{Protocol: transport.OTLP, Compression: transport.Zstd, Clients: 1},
		{Protocol: transport.OTLP, Compression: transport.Zstd, Clients: concurrent},
		{Protocol: transport.STEF, Compression: transport.Zstd, Clients: 1},
		{Protocol: transport.STEF, Compression: transport.Zstd, Clients: streams},
	} {
		config.Window, config.For, config.RoundTrip = transport.DefaultWindow, long, Latencies[0]
		before := live()
		s := newSampler(40*time.Millisecond, before)
		ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
		result, err := transport.Run(ctx, config, load)
		cancel()
		points, after := s.stop(), live()
		if err != nil {
			return nil, err
		}
		middle, most := grown(points)
		t.Add(way(config), string(config.Compression), middle, most, result.BatchesPerSecond(), max(0, after-before)/(1<<20))
		chart.Series = append(chart.Series, report.Series{Name: way(config), Points: points})
	}
	return &Outcome{Parts: []report.Part{t, chart}, Blocks: map[string]string{"heap": picture(chart)}}, nil
}

// grown returns the median of the second half of a run, and the maximum of the whole run.
func grown(points []report.Point) (median, most float64) {
	var later []float64
	for i, p := range points {
		if i >= len(points)/2 {
			later = append(later, p.Y)
		}
		most = max(most, p.Y)
	}
	return measure.Median(later), most
}

const objects = "/memory/classes/heap/objects:bytes"

func heapObjects() float64 {
	sample := []metrics.Sample{{Name: objects}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

// live returns the bytes of the heap objects that remain after two garbage collections.
func live() float64 {
	runtime.GC()
	runtime.GC()
	return heapObjects()
}

type sampler struct {
	quit chan struct{}
	done chan []report.Point
}

func newSampler(every time.Duration, base float64) *sampler {
	s := &sampler{make(chan struct{}), make(chan []report.Point)}
	go func() {
		var points []report.Point
		begin := time.Now()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			points = append(points, report.Point{X: time.Since(begin).Seconds(), Y: (heapObjects() - base) / (1 << 20)})
			select {
			case <-ticker.C:
			case <-s.quit:
				s.done <- points
				return
			}
		}
	}()
	return s
}

func (s *sampler) stop() []report.Point {
	close(s.quit)
	return <-s.done
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairbench

import (
	"context"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/otelstef/stef/internal/otlpfile"
)

// A round has so many items at least, and so many collections of garbage: one
// more or less makes a difference. A set that is small for that is sent several
// times, each time by a new pair.
const (
	roundItems       = 50_000
	roundCollections = 3
	roundPasses      = 20 // at most
)

// cost is what it takes to bring items from one end to the other.
type cost struct {
	passes, items  int
	cpu            time.Duration
	sent, received int64 // bytes, as the exporter sees it
	allocs, heap   uint64
	collections    uint32
}

func (c *cost) enough() bool {
	return c.items >= roundItems && (c.collections >= roundCollections || c.passes >= roundPasses)
}

func (c *cost) add(d cost) {
	c.passes += d.passes
	c.items += d.items
	c.cpu += d.cpu
	c.sent += d.sent
	c.received += d.received
	c.allocs += d.allocs
	c.heap += d.heap
	c.collections += d.collections
}

// once is the cost of one pass.
func (c cost) once() cost {
	n := c.passes
	return cost{1, c.items / n, c.cpu / time.Duration(n), c.sent / int64(n), c.received / int64(n), c.allocs / uint64(n), c.heap / uint64(n), c.collections / uint32(n)}
}

func (c cost) nsPerItem() float64     { return float64(c.cpu) / float64(c.items) }
func (c cost) itemsPerSec() float64   { return float64(c.items) / c.cpu.Seconds() }
func (c cost) wirePerItem() float64   { return float64(c.sent+c.received) / float64(c.items) }
func (c cost) backPerItem() float64   { return float64(c.received) / float64(c.items) }
func (c cost) allocsPerItem() float64 { return float64(c.allocs) / float64(c.items) }
func (c cost) heapPerItem() float64   { return float64(c.heap) / float64(c.items) }

// round sends a set by a variant, often enough to be measured. It begins with no
// garbage, and collections come when they come: they are part of what it costs. A
// profile can be focused on the variant, by a tag of this name.
func round(tb testing.TB, v variant, signal otlpfile.Signal, batches []otlpfile.Batch) cost {
	tb.Helper()
	var total cost
	runtime.GC()
	pprof.Do(context.Background(), pprof.Labels("variant", v.name), func(context.Context) {
		for !total.enough() {
			total.add(pass(tb, v, signal, batches))
		}
	})
	return total
}

// pass sends a set once.
func pass(tb testing.TB, v variant, signal otlpfile.Signal, batches []otlpfile.Batch) cost {
	tb.Helper()
	p := startPair(tb, v, signal, nil)
	defer p.stop(tb)
	p.sendAll(tb, single(signal))
	warm := p.arrived.Load()
	before := p.now()
	p.sendAll(tb, batches...)
	after := p.now()
	return cost{
		passes:      1,
		items:       int(p.arrived.Load() - warm),
		cpu:         after.cpu - before.cpu,
		sent:        after.sent - before.sent,
		received:    after.received - before.received,
		allocs:      after.allocs - before.allocs,
		heap:        after.heap - before.heap,
		collections: after.collections - before.collections,
	}
}

// now returns what was spent so far, by the process or by the pair.
func (p *pair) now() cost {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return cost{
		cpu:         cpuTime(),
		sent:        p.network.sent.Load(),
		received:    p.network.received.Load(),
		allocs:      stats.Mallocs,
		heap:        stats.TotalAlloc,
		collections: stats.NumGC,
	}
}

// single returns a batch of one item that is like nothing else.
func single(signal otlpfile.Signal) otlpfile.Batch {
	b := empty(signal)
	switch signal {
	case otlpfile.Metrics:
		b.Metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().
			SetEmptyGauge().DataPoints().AppendEmpty().SetIntValue(1)
	case otlpfile.Traces:
		b.Traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName("first")
	default:
		b.Logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("first")
	}
	return b
}

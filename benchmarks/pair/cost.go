// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"context"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/cputime"
	"github.com/otelstef/stef/internal/otlpfile"
)

// An Age is the state of a stream before the measured batches.
type Age string

const (
	// First sends several batches of the set, each in a new stream, and measures them.
	First Age = "first batch"
	// Steady sends the first half of the set and measures the second half.
	Steady Age = "steady"
	// Repeated sends the second half of the set and measures the same batches again. Real senders
	// do not repeat themselves, so the measured advantage of STEF is an upper bound.
	Repeated Age = "repeated (bound)"
)

// Ages lists all ages.
var Ages = []Age{First, Steady, Repeated}

const (
	// maxBatch is the maximum number of items of a batch, as in the batch processor. Small sets are
	// split into smaller batches, so that each set has at least minBatches batches.
	maxBatch   = 8192
	minBatches = 16
	// A round ends after roundItems items or roundPasses passes, whichever is reached first.
	roundItems  = 20_000
	roundPasses = 8
	// firsts is the number of streams in a pass over first batches.
	firsts = 4
)

// Batches splits a set into batches as the batch processor does.
func Batches(set *dataset.Set) []otlpfile.Batch {
	return set.ItemBatches(max(1, min(maxBatch, set.Items/minBatches)))
}

// Cost has the resources that an exporter and a receiver use together to transfer items.
type Cost struct {
	Passes, Items int
	CPU           time.Duration
	// Sent and Received are the bytes on the wire, counted at the exporter.
	Sent, Received int64
	Allocs         uint64
}

func (c *Cost) add(d Cost) {
	c.Passes += d.Passes
	c.Items += d.Items
	c.CPU += d.CPU
	c.Sent += d.Sent
	c.Received += d.Received
	c.Allocs += d.Allocs
}

// PerItem returns the CPU time per item in nanoseconds.
func (c Cost) PerItem() float64 { return float64(c.CPU) / float64(c.Items) }

// WirePerItem returns the bytes on the wire per item, in both directions.
func (c Cost) WirePerItem() float64 { return float64(c.Sent+c.Received) / float64(c.Items) }

// AllocsPerItem returns the allocations per item.
func (c Cost) AllocsPerItem() float64 { return float64(c.Allocs) / float64(c.Items) }

// Round measures a variant at an age, several times if the set is small. CPU
// profiles have a label with the name of the variant.
func Round(tb testing.TB, v Variant, age Age, signal otlpfile.Signal, batches []otlpfile.Batch) Cost {
	tb.Helper()
	var total Cost
	pprof.Do(context.Background(), pprof.Labels("variant", v.Name), func(context.Context) {
		for total.Items < roundItems && total.Passes < roundPasses {
			total.add(Pass(tb, v, age, signal, batches))
		}
	})
	return total
}

// Pass measures a variant at an age once.
func Pass(tb testing.TB, v Variant, age Age, signal otlpfile.Signal, batches []otlpfile.Batch) Cost {
	tb.Helper()
	middle := len(batches) / 2
	switch age {
	case First:
		total := Cost{Passes: 1}
		for i := range firsts {
			cost := stream(tb, v, signal, nil, batches[i*len(batches)/firsts:][:1])
			cost.Passes = 0
			total.add(cost)
		}
		return total
	case Steady:
		return stream(tb, v, signal, batches[:middle], batches[middle:])
	default:
		return stream(tb, v, signal, batches[middle:], batches[middle:])
	}
}

// stream starts a pair, sends warm, collects garbage, and measures fresh. The very
// first batch has one item: it opens the connection and the stream.
func stream(tb testing.TB, v Variant, signal otlpfile.Signal, warm, fresh []otlpfile.Batch) Cost {
	tb.Helper()
	p := startPair(tb, v, signal, nil)
	defer p.stop(tb)
	p.sendAll(tb, single(signal))
	p.sendAll(tb, warm...)
	runtime.GC()
	arrived, before := p.arrived.Load(), p.now()
	p.sendAll(tb, fresh...)
	after := p.now()
	return Cost{
		Passes:   1,
		Items:    int(p.arrived.Load() - arrived),
		CPU:      after.CPU - before.CPU,
		Sent:     after.Sent - before.Sent,
		Received: after.Received - before.Received,
		Allocs:   after.Allocs - before.Allocs,
	}
}

// now returns the resources that the process and the pair have used so far.
func (p *pair) now() Cost {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Cost{CPU: cputime.Used(), Sent: p.network.sent.Load(), Received: p.network.received.Load(), Allocs: stats.Mallocs}
}

// single returns a batch of one item. No data set contains this item.
func single(signal otlpfile.Signal) otlpfile.Batch {
	b := dataset.New(signal)
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

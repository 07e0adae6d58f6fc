// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// lap is a copy of a batch and the seed from which the copy gets new ids each time it is sent.
type lap struct {
	batch otlpfile.Batch
	seed  uint64
}

// laps returns the source of a run with a time limit. The run sends copies of the batches again and
// again, with new ids and times. The copies are made before the clock starts. Each stream of STEF
// has its own copies. A stream sends all its copies before it repeats a copy. By then, this copy is
// no longer in the compression window. OTLP requests have no state, so clients share copies.
// Batches of one lap have the same seed, which keeps the references between them.
func laps(batches []otlpfile.Batch, c Config) source {
	length := duration(batches)
	copies := 1
	if c.Protocol == OTLP {
		copies = max(1, (2*c.Clients+len(batches)-1)/len(batches))
	}
	queues := make([]chan *lap, 1)
	if c.Protocol == STEF {
		queues = make([]chan *lap, c.Clients)
	}
	for k := range queues {
		queues[k] = make(chan *lap, copies*len(batches))
		for i := range copies {
			for _, b := range batches {
				l := &lap{batch: dataset.Join(b), seed: uint64(k*copies + i)}
				replay.Change{Shift: time.Duration(i) * length}.Apply(&l.batch)
				queues[k] <- l
			}
		}
	}
	end := sync.OnceValue(func() time.Time { return time.Now().Add(c.For) })
	return func(client int) (next func() (*lap, bool), sent func(*lap)) {
		queue := queues[client%len(queues)]
		next = func() (*lap, bool) {
			if !time.Now().Before(end()) {
				return nil, false
			}
			l := <-queue
			l.seed += uint64(copies * len(queues))
			replay.Change{Shift: time.Duration(copies) * length, IDs: l.seed}.Apply(&l.batch)
			return l, true
		}
		return next, func(l *lap) { queue <- l }
	}
}

// duration returns the time from the first to the last item, plus a second between two
// laps.
func duration(batches []otlpfile.Batch) time.Duration {
	var first, last pcommon.Timestamp
	for _, b := range batches {
		from, to := replay.Times(b)
		if first == 0 || from != 0 && from < first {
			first = from
		}
		last = max(last, to)
	}
	return time.Duration(last-first) + time.Second
}

// warmUp returns a batch that is sent before the clock starts: the content of
// b, with ids and times that the run does not send again.
func warmUp(b otlpfile.Batch, client int) otlpfile.Batch {
	b = dataset.Join(b)
	replay.Change{Shift: -time.Hour, IDs: math.MaxUint64 - uint64(client)}.Apply(&b)
	return b
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func spans(n int) []otlpfile.Batch {
	var batches []otlpfile.Batch
	for i := range n {
		batches = append(batches, dataset.Spans(100, 4, uint64(i)))
	}
	return batches
}

func TestRun(t *testing.T) {
	sets := map[string][]otlpfile.Batch{
		"traces":  spans(12),
		"logs":    {dataset.Logs(50, 1), dataset.Logs(50, 2)},
		"metrics": dataset.Bundled()[0].Load(t).Parts[5:20],
	}
	plain := map[string]int64{}
	for _, p := range []Protocol{OTLP, STEF} {
		for _, compression := range []Compression{None, Gzip, Zstd} {
			for name, batches := range sets {
				for _, clients := range []int{1, 3} {
					r, err := Run(t.Context(), Config{Protocol: p, Compression: compression, Clients: clients, Workers: 2}, batches)
					require.NoError(t, err, "%s %s %s %d", p, compression, name, clients)
					require.Equal(t, len(batches), r.Batches)
					require.Positive(t, r.Wall)
					require.Positive(t, r.Down)
					if clients == 1 && compression == None {
						plain[string(p)+name] = r.Up
					} else if clients == 1 {
						require.Less(t, r.Up, plain[string(p)+name], "%s %s %s", p, compression, name)
					}
				}
			}
		}
	}
	for name := range sets {
		require.Less(t, plain["STEF"+name], plain["OTLP"+name])
	}
}

// TestArrives compares the items at the server with the items sent: the first
// batch of each client, and the whole run.
func TestArrives(t *testing.T) {
	for _, p := range []Protocol{OTLP, STEF} {
		for _, compression := range []Compression{None, Gzip, Zstd} {
			for name, batches := range map[string][]otlpfile.Batch{
				"traces":  spans(6),
				"logs":    {dataset.Logs(50, 1), dataset.Logs(50, 2)},
				"metrics": dataset.Bundled()[0].Load(t).Parts[5:20],
			} {
				const clients = 2
				want := append([]otlpfile.Batch{warmUp(batches[0], 0), warmUp(batches[1], 1)}, batches...)
				var mutex sync.Mutex
				var got []otlpfile.Batch
				r := &run{config: Config{Protocol: p, Compression: compression, Clients: clients}, arrived: func(b otlpfile.Batch) {
					b = dataset.Join(b)
					mutex.Lock()
					defer mutex.Unlock()
					got = append(got, b)
				}}
				_, err := r.all(t.Context(), batches)
				require.NoError(t, err)
				signal := batches[0].Signal
				require.Empty(t, canon.Diff(dataset.Items(signal, want), dataset.Items(signal, got)), "%s %s %s", p, compression, name)
			}
		}
	}
}

// TestRoundTrip checks the cost of the round trip: a client of OTLP waits for it with
// every batch, and a stream of STEF waits only once.
func TestRoundTrip(t *testing.T) {
	const trip = 30 * time.Millisecond
	batches := spans(10)
	otlp, err := Run(t.Context(), Config{Protocol: OTLP, Compression: None, Clients: 1, RoundTrip: trip, Window: DefaultWindow}, batches)
	require.NoError(t, err)
	require.GreaterOrEqual(t, otlp.Wall, 10*trip)
	// It is enough that one run is faster than OTLP: if STEF waited for each answer, no run would
	// be faster. A loaded machine delays some runs.
	for range 100 {
		stream, err := Run(t.Context(), Config{Protocol: STEF, Compression: None, Clients: 1, RoundTrip: trip, Window: DefaultWindow}, batches)
		require.NoError(t, err)
		require.GreaterOrEqual(t, stream.Wall, trip)
		if stream.Wall < 10*trip {
			return
		}
	}
	require.Fail(t, "a stream pays the round trip for each batch")
}

func TestFor(t *testing.T) {
	for _, clients := range []int{1, 2, 5} {
		for long := 50 * time.Millisecond; ; long *= 2 {
			seen := map[pcommon.SpanID]bool{}
			var mutex sync.Mutex
			r := &run{config: Config{Protocol: STEF, Compression: Zstd, Clients: clients, For: long}, arrived: func(b otlpfile.Batch) {
				mutex.Lock()
				defer mutex.Unlock()
				for _, rs := range b.Traces.ResourceSpans().All() {
					for _, span := range rs.ScopeSpans().At(0).Spans().All() {
						require.False(t, seen[span.SpanID()], "a span was sent twice")
						seen[span.SpanID()] = true
					}
				}
			}}
			result, err := r.all(t.Context(), spans(2))
			require.NoError(t, err)
			require.GreaterOrEqual(t, result.Wall, long)
			if result.Batches > 2 {
				break
			}
			require.Less(t, long, time.Minute, "%d batches in %s", result.Batches, long) // a loaded machine sends few batches in a short time
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/signal"
)

// A STEF exporter estimates the bytes that OTLP with zstd would need for its batches. TestEstimate
// compares the estimate with the bytes that an OTLP exporter sends. The estimate must not depend on
// the compression of otlp_fallback.
func TestEstimate(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf("span %d", i*7919%1000))
	}
	f := func(compression configcompression.Type) {
		t.Helper()
		p := listen(t, &peer{}, "", true, true)
		conf := testConfig(p.addr)
		conf.Fallback.Compression = compression
		sent := *conf
		sent.Protocol, sent.Fallback.Compression = ProtocolOTLP, configcompression.TypeZstd
		byOTLP := start(t, &sent)
		const batches = 5
		for range batches {
			require.NoError(t, byOTLP.send(list...))
		}
		want := counted(t, byOTLP, "otlp_bytes_compressed", "")[""]
		plain := counted(t, byOTLP, "otlp_bytes", "")[""]
		require.Less(t, want, plain/2)
		require.NotZero(t, want)

		e := newEstimate(conf, signal.Traces)
		var got int64
		for range batches {
			got += e.delivered(spans(list...), len(list), len(list))
		}
		require.Equal(t, want, got)
	}
	f(compressionNone)
	f(configcompression.TypeGzip)
	f(configcompression.TypeZstd)
}

// measuredRig is an estimate of OTLP bytes with a simulated clock. On this clock, the measurement of
// each item takes a fixed time.
type measuredRig struct {
	*estimate[ptrace.Traces]
	clock    time.Time
	measured []int // the number of items of each measured batch
}

func newMeasuredRig(c *Config, cost time.Duration) *measuredRig {
	d := *signal.Traces
	r := &measuredRig{clock: time.Unix(1_700_000_000, 0)}
	d.Marshal = func(b ptrace.Traces) ([]byte, error) {
		r.measured = append(r.measured, b.SpanCount())
		r.clock = r.clock.Add(time.Duration(b.SpanCount()) * cost)
		return signal.Traces.Marshal(b)
	}
	r.estimate = newEstimate(c, &d)
	r.now = func() time.Time { return r.clock }
	r.since = r.clock
	return r
}

// TestEstimateIsRare checks that the estimate measures only a few batches, so that measurements take
// little time. It also checks that a batch that is too large for OTLP is not measured.
func TestEstimateIsRare(t *testing.T) {
	c := testConfig("localhost:1")
	r := newMeasuredRig(c, 10*time.Millisecond)
	began := r.clock
	for range 1000 {
		r.delivered(spans("a"), 1, 1)
		r.clock = r.clock.Add(100 * time.Millisecond)
	}
	spent := time.Duration(len(r.measured)) * 10 * time.Millisecond
	share := float64(spent) / float64(r.clock.Sub(began))
	require.InEpsilon(t, estimateShare, share, 0.2)

	r = newMeasuredRig(c, time.Millisecond)
	large := spans(make([]string, 8192)...)
	for range 1000 {
		r.delivered(large, 8192, 8192)
		r.clock = r.clock.Add(100 * time.Millisecond)
	}
	require.Len(t, r.measured, 1, "only the first: measuring it used up the budget of more than an hour")

	r = newMeasuredRig(c, 1)
	r.signal.Size = func(ptrace.Traces) int { return c.Fallback.MaxRequestSizeMiB<<20 + 1 }
	r.budget = maxEstimateBudget
	require.Zero(t, r.delivered(spans("a"), 1, 1))
	require.Empty(t, r.measured)
}

// TestEstimateOfMixedBatches estimates the OTLP bytes of batches of different sizes and contents, and
// compares the estimate with the bytes of all requests.
func TestEstimateOfMixedBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: nothing in this test is concurrent, and the race detector slows it")
	}
	c := testConfig("localhost:1")
	parts, err := fixtures.Parts(fixtures.Traces())
	require.NoError(t, err)
	real := make([]ptrace.Traces, len(parts))
	for i, part := range parts {
		real[i], err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		require.NoError(t, err)
	}
	f := func(name string, batch func(rnd *rand.Rand, i int) ptrace.Traces) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			r := newMeasuredRig(c, 5*time.Microsecond)
			truth := newEstimate(c, signal.Traces)
			var got, want int64
			for i := range 600 {
				b := batch(rnd, i)
				size, ok := truth.measure(b)
				require.True(t, ok)
				want += int64(size)
				got += r.delivered(b, b.SpanCount(), b.SpanCount())
				r.clock = r.clock.Add(100 * time.Millisecond)
			}
			t.Logf("%d of 600 batches measured, estimate %.3f of the truth", len(r.measured), float64(got)/float64(want))
			require.Less(t, len(r.measured), 300, "a sample")
			require.InEpsilon(t, want, got, 0.15)
		})
	}
	random := func(rnd *rand.Rand, n int) ptrace.Traces {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("span %d", rnd.IntN(1000))
		}
		return spans(names...)
	}
	f("one in ten is large", func(rnd *rand.Rand, i int) ptrace.Traces {
		if i%10 == 0 {
			return random(rnd, 2000)
		}
		return random(rnd, 1+rnd.IntN(10))
	})
	f("all sizes", func(rnd *rand.Rand, _ int) ptrace.Traces { return random(rnd, 1<<rnd.IntN(12)) })
	f("synthetic ones and then a recording", func(rnd *rand.Rand, i int) ptrace.Traces {
		if i < 30 {
			return random(rnd, 100)
		}
		return real[i%len(real)]
	})
	f("a recording beside synthetic ones", func(rnd *rand.Rand, i int) ptrace.Traces {
		if i%2 == 0 {
			return random(rnd, 500)
		}
		return real[i/2%len(real)]
	})
}

// TestEstimateOfUnmeasuredBatches: if batches of a size cannot be measured, their estimate is that of
// batches of the nearest size.
func TestEstimateOfUnmeasuredBatches(t *testing.T) {
	c := testConfig("localhost:1")
	r := newMeasuredRig(c, 1)
	r.signal.Size = func(b ptrace.Traces) int {
		if b.SpanCount() == 100 {
			return c.Fallback.MaxRequestSizeMiB<<20 + 1
		}
		return signal.Traces.Size(b)
	}
	large := make([]string, 100)
	require.Zero(t, r.delivered(spans(large...), 100, 100))
	r.withoutBudget()
	got := r.delivered(spans("a"), 1, 1)
	one := r.classes[1].bytes / r.classes[1].items
	require.Equal(t, int64(math.Round(101*one)), got, "with the large one")
	require.Equal(t, []int{1}, r.measured)
}

func (r *measuredRig) withoutBudget() { r.budget, r.since = -time.Hour, r.clock }

// TestEstimateOfABurst sends recordings as fast as possible right after the start: first one batch
// after another, then many at the same time. The estimate is close to the bytes of all requests.
func TestEstimateOfABurst(t *testing.T) {
	burstOf(t, signal.Metrics, fixtures.Metrics(), (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics)
	burstOf(t, signal.Traces, fixtures.Traces(), (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces)
	burstOf(t, signal.Logs, fixtures.Logs(), (&plog.ProtoUnmarshaler{}).UnmarshalLogs)
}

func burstOf[B any](t *testing.T, s *signal.Descriptor[B], file []byte, read func([]byte) (B, error)) {
	c := testConfig("localhost:1")
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	for _, atOnce := range []int{1, 16} {
		e := newEstimate(c, s)
		began := e.since
		e.now = func() time.Time { return began } // the burst takes no time
		var got, want atomic.Int64
		var group sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for _, part := range parts {
			b, err := read(part)
			require.NoError(t, err)
			items := s.Items(b)
			if items == 0 {
				continue
			}
			size, ok := e.measure(b)
			require.True(t, ok)
			want.Add(int64(size))
			slots <- struct{}{}
			group.Go(func() {
				got.Add(e.delivered(b, items, items))
				<-slots
			})
		}
		group.Wait()
		for _, c := range e.classes {
			require.Zero(t, c.pending, "the last batches count, too")
		}
		t.Logf("%s, %d at once: estimate %.3f of the truth", s.Name, atOnce, float64(got.Load())/float64(want.Load()))
		require.InEpsilon(t, want.Load(), got.Load(), 0.2, s.Name)
	}
}

// TestEstimateIsCounted sends a single batch. The metric of the estimate is the size of its OTLP
// request.
func TestEstimateIsCounted(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	c := testConfig(p.addr)
	byOTLP := *c
	byOTLP.Protocol, byOTLP.Fallback.Compression = ProtocolOTLP, configcompression.TypeZstd
	x, y := start(t, c), start(t, &byOTLP)
	require.NoError(t, x.send("a", "b"))
	require.NoError(t, y.send("a", "b"))
	got := counted(t, x, "otlp_bytes_estimated", "")[""]
	require.NotZero(t, got)
	require.Equal(t, counted(t, y, "otlp_bytes_compressed", "")[""], got)
}

// TestNoEstimateWithoutMetrics checks that no batch is measured if nothing reads the metric of the
// estimate.
func TestNoEstimateWithoutMetrics(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	x := startSignal(t, testConfig(p.addr), signal.Traces)
	require.NoError(t, x.push(t.Context(), spans("a", "b")))
	require.Zero(t, x.estimate.seen)
}

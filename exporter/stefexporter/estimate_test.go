// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/signal"
)

// TestEstimate compares the estimate of a STEF exporter with the bytes that an OTLP
// exporter sends for the same batches.
func TestEstimate(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf("span %d", i*7919%1000))
	}
	f := func(compression string, allowed float64) {
		t.Helper()
		p := listen(t, &peer{}, "", true, true)
		conf := testConfig(p.addr)
		conf.Fallback.Compression = compressionNone
		if compression != "" {
			require.NoError(t, conf.Fallback.Compression.UnmarshalText([]byte(compression)))
		}
		sent := *conf
		sent.Protocol = ProtocolOTLP
		byOTLP := start(t, &sent)
		const batches = 5
		for range batches {
			require.NoError(t, byOTLP.send(list...))
		}
		want := counted(t, byOTLP, "otlp_bytes_compressed", "")[""]
		plain := counted(t, byOTLP, "otlp_bytes", "")[""]
		if compression == "" {
			require.Equal(t, plain, want)
		} else {
			require.Less(t, want, plain/2)
			require.NotZero(t, want)
		}

		e := newEstimate(conf, signal.Traces)
		require.Zero(t, e.delivered(spans(list...), len(list), len(list)), "nothing is measured at first")
		e.budget = maxEstimateBudget
		got := e.delivered(spans(list...), len(list), len(list)) // with those before
		for range batches - 2 {
			got += e.delivered(spans(list...), len(list), len(list))
		}
		require.InEpsilon(t, want, got, allowed)
	}
	f("", 1e-9)
	f("gzip", 1e-9)
	f("zstd", 1e-9)
	f("snappy", 1e-9)
}

// measuredRig is an estimate whose clock is the test's: measuring takes cost for each item.
type measuredRig struct {
	*estimate[ptrace.Traces]
	clock    time.Time
	measured []int // the items of the batches
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

// TestEstimateIsRare checks how much time is spent on measurements, and that a batch which
// OTLP could not send is not measured.
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
	for range 240 {
		r.delivered(large, 8192, 8192)
		r.clock = r.clock.Add(100 * time.Millisecond)
	}
	require.Empty(t, r.measured, "too early for a full batch")
	r.clock = r.clock.Add(2 * time.Second)
	r.delivered(large, 8192, 8192)
	require.Len(t, r.measured, 1)

	r = newMeasuredRig(c, 1)
	r.signal.Size = func(ptrace.Traces) int { return c.Fallback.MaxRequestSizeMiB<<20 + 1 }
	r.budget = maxEstimateBudget
	require.Zero(t, r.delivered(spans("a"), 1, 1))
	require.Empty(t, r.measured)
}

// TestEstimateOfMixedBatches compares the estimate for batches of different sizes and
// contents with the bytes of all requests.
func TestEstimateOfMixedBatches(t *testing.T) {
	c := testConfig("localhost:1")
	c.Fallback.Compression = configcompression.TypeGzip
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

// TestEstimateOfUnmeasuredBatches checks that batches of a size that was never measured
// count like those of the nearest one, after a while.
func TestEstimateOfUnmeasuredBatches(t *testing.T) {
	c := testConfig("localhost:1")
	c.Fallback.Compression = compressionNone
	r := newMeasuredRig(c, 1)
	r.budget = 2 * firstItemTime
	require.Positive(t, r.delivered(spans("a"), 1, 1))
	r.withoutBudget()
	large := make([]string, 100)
	require.Zero(t, r.delivered(spans(large...), 100, 100))
	r.clock = r.clock.Add(maxUnmeasured)
	r.withoutBudget()
	one := r.classes[1].bytes / r.classes[1].items
	require.Equal(t, int64(math.Round(101*one)), r.delivered(spans(large[:1]...), 1, 1), "with the large one")
	require.Len(t, r.measured, 1)
}

// withoutBudget takes the time for measurements away.
func (r *measuredRig) withoutBudget() { r.budget, r.since = -time.Hour, r.clock }

// TestEstimateIsCounted checks the metric of an exporter.
func TestEstimateIsCounted(t *testing.T) {
	p := listen(t, &peer{}, "", true, true)
	x := startSignal(t, testConfig(p.addr), signal.Traces)
	x.estimate.mu.Lock()
	x.estimate.budget = maxEstimateBudget
	x.estimate.mu.Unlock()
	require.NoError(t, x.push(t.Context(), spans("a", "b")))
	x.estimate.mu.Lock()
	defer x.estimate.mu.Unlock()
	c := x.estimate.classes[classOf(2)]
	require.Equal(t, 2.0, c.items)
	require.Positive(t, c.bytes)
}

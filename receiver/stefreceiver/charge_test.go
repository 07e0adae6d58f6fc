// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The benchmark measures CPU time with a system call of Linux.
//go:build linux && !race

package stefreceiver

import (
	"context"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/teltest/benchdata"
	stef "github.com/otelstef/stef/stef-go"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// The benchmarks print the name of their data first.
var _ = benchdata.Name("synthetic: streams that are made for the test")

// uncounted is a reader that reports 0 bytes of memory, however much it holds.
type uncounted struct{ signal.Reader }

func (u uncounted) Stats() stef.ReaderStats {
	stats := u.Reader.Stats()
	stats.HeldBytes = 0
	return stats
}

// uncharge makes the receiver charge nothing for the memory that new streams of a signal hold. Open
// streams do not change.
func uncharge[T any](t testing.TB, r *rig) {
	p, ok := r.shared.handlers[0].(*pipe[T])
	require.True(t, ok)
	original := p.Descriptor
	without := *original
	without.NewDecoder = func(src io.Reader, options []stefpdata.DecoderOption, more ...stef.ReaderOption) (*signal.Decoder[T], error) {
		d, err := original.NewDecoder(src, options, more...)
		if err == nil {
			d.Reader = uncounted{d.Reader}
		}
		return d, err
	}
	p.Descriptor = &without
}

// A receiver charges clients for the memory that their streams hold. BenchmarkHeldCharge measures the
// cost of this charge. It sends the recordings to three receivers in turn: two charge, one does not. It
// reports the items per CPU second of client and receiver together, and, in %, how much the charge
// changes this rate. For comparison, %-noise is the difference between the two receivers that charge.
func BenchmarkHeldCharge(b *testing.B) {
	b.Run("traces", func(b *testing.B) {
		benchmarkHeldCharge(b, signal.Traces, sinks{traces: consumertest.NewNop()})
	})
	b.Run("metrics", func(b *testing.B) {
		benchmarkHeldCharge(b, signal.Metrics, sinks{metrics: consumertest.NewNop()})
	})
	b.Run("logs", func(b *testing.B) {
		benchmarkHeldCharge(b, signal.Logs, sinks{logs: consumertest.NewNop()})
	})
}

func benchmarkHeldCharge[T any](b *testing.B, sig *signal.Descriptor[T], to sinks) {
	var batches []T
	items := 0
	for _, r := range recordings.All() {
		if r.Signal != sig.Name {
			continue
		}
		parts, err := r.Parts()
		require.NoError(b, err)
		for _, part := range parts {
			batch, err := sig.Unmarshal(part)
			require.NoError(b, err)
			if n := sig.Items(batch); n > 0 {
				batches, items = append(batches, batch), items+n
			}
		}
	}
	with, without, again := startRig(b, testConfig(), to), startRig(b, testConfig(), to), startRig(b, testConfig(), to)
	uncharge[T](b, without)
	conns := []*stefgrpc.Client{clientOf(b, with), clientOf(b, without), clientOf(b, again)}
	var rates [3][]float64
	round := 0
	for b.Loop() {
		for i := range conns {
			side := (i + round) % len(conns)
			runtime.GC()
			began := processTime()
			sendAll(b, conns[side], sig, batches)
			rates[side] = append(rates[side], float64(items)/(processTime()-began).Seconds())
		}
		round++
	}
	median := func(of []float64) float64 {
		slices.Sort(of)
		return of[len(of)/2]
	}
	charged, free, same := median(rates[0]), median(rates[1]), median(rates[2])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(charged, "items/CPU-s")
	b.ReportMetric(100*(charged/free-1), "%")
	b.ReportMetric(100*(charged/same-1), "%-noise")
}

func clientOf(b *testing.B, r *rig) *stefgrpc.Client {
	c, err := stefgrpc.NewClient(r.dial())
	require.NoError(b, err)
	return c
}

// sendAll sends each batch as a frame of a new stream, and waits for all acknowledgements.
func sendAll[T any](b *testing.B, c *stefgrpc.Client, sig *signal.Descriptor[T], batches []T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := c.Open(ctx, sig.Compact())
	require.NoError(b, err)
	e, err := sig.NewEncoder(s, nil, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
	require.NoError(b, err)
	for _, batch := range batches {
		require.NoError(b, e.Encode(batch))
		require.NoError(b, e.Writer.Flush())
	}
	require.NoError(b, s.AwaitAck(ctx, e.Writer.Stats().Records))
	require.NoError(b, s.Close())
}

// processTime returns the processor time of this process.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

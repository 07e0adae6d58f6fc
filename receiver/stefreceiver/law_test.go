// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// These tests attack a receiver that has the default configuration. README.md
// states the bounds that they check.

// attack returns the chunks of a hostile stream: the headers, and then the frames.
func attack(t testing.TB, frames int, write func(frame int, w *otelstef.MetricsWriter)) chunkList {
	t.Helper()
	var chunks chunkList
	w, err := otelstef.NewMetricsWriter(&chunks, stef.WithCompression(stef.Zstd),
		stef.WithDictBytes(1<<30), stef.WithFrameBytes(31<<20))
	require.NoError(t, err)
	for i := range frames {
		write(i, w)
		require.NoError(t, w.Flush())
	}
	size := 0
	for _, chunk := range chunks {
		size += len(chunk)
	}
	t.Logf("the attack is %d bytes", size)
	return chunks
}

func pointOf(w *otelstef.MetricsWriter, i int) *otelstef.Metrics {
	rec := w.Record()
	rec.Metric().SetName("m")
	rec.Metric().SetType(otelstef.MetricTypeGauge)
	rec.Point().SetTimestamp(uint64(i))
	rec.Point().Value().SetInt64(1)
	return rec
}

// sharedTextAttack has one text of 7 MiB in 8,192 records.
func sharedTextAttack(t testing.TB) chunkList {
	text := strings.Repeat("x", 7<<20)
	return attack(t, 1, func(_ int, w *otelstef.MetricsWriter) {
		attrs := pointOf(w, 0).Attributes()
		attrs.SetLen(1)
		attrs.SetString(0, "text", text)
		for i := range 8192 {
			pointOf(w, i)
			require.NoError(t, w.Write())
		}
	})
}

// attributesRecords is how many records attributesAttack has: 8,000, or 500 with -short. The
// race detector runs with -short, and slows decoding down many times.
func attributesRecords() uint64 {
	if testing.Short() {
		return 500
	}
	return 8000
}

// attributesAttack has 1,000 attributes in each record.
func attributesAttack(t testing.TB) chunkList {
	return attack(t, 1, func(_ int, w *otelstef.MetricsWriter) {
		attrs := pointOf(w, 0).Attributes()
		attrs.SetLen(1000)
		for k := range 1000 {
			attrs.SetKey(k, "")
			attrs.Value(k).SetInt64(0)
		}
		for range attributesRecords() {
			require.NoError(t, w.Write())
		}
	})
}

// dictionaryAttack has 150 texts of 1 MiB, which stay in the dictionary.
func dictionaryAttack(t testing.TB) chunkList {
	return attack(t, 15, func(frame int, w *otelstef.MetricsWriter) {
		attrs := pointOf(w, frame).Attributes()
		attrs.SetLen(1)
		for i := range 10 {
			attrs.SetString(0, "text", strings.Repeat(fmt.Sprintf("%04d", 10*frame+i), mib/4))
			require.NoError(t, w.Write())
		}
	})
}

const hiddenValues = 60

// hiddenAttack uses another attribute in each frame. It sets the attribute to 16 MiB of bytes,
// and then to a number. A reader keeps the memory of the bytes while the value has another type.
func hiddenAttack(t testing.TB) chunkList {
	value := make([]byte, 16<<20)
	return attack(t, hiddenValues, func(frame int, w *otelstef.MetricsWriter) {
		attrs := pointOf(w, frame).Attributes()
		attrs.SetLen(hiddenValues)
		attrs.SetBytes(frame, "", value)
		require.NoError(t, w.Write())
		attrs.SetInt64(frame, "", 0)
		require.NoError(t, w.Write())
	})
}

// peakHeap runs f and returns the largest growth of the heap while f ran.
func peakHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := read(), int64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				most = max(most, read()-before)
			}
		}
	}()
	f()
	close(done)
	<-stopped
	return most
}

// launch sends an attack on n streams at the same time. It returns when the server has ended all
// streams or acknowledged all records, at the latest after the time patience.
func launch(t testing.TB, r *rig, n int, chunks chunkList, records uint64, patience time.Duration) {
	var group sync.WaitGroup
	for range n {
		p := rawOpen(t, r, "Metrics")
		group.Go(func() {
			for _, chunk := range chunks {
				p.data(chunk, true)
			}
		})
		group.Go(func() {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for p.acked < records {
					if _, ok := p.receive(); !ok {
						return
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(patience):
			}
		})
	}
	group.Wait()
}

// README.md states these bounds for the default configuration.
const (
	maxBatchOTLP   = (8 + 32) * mib
	maxStreamBytes = 512 * mib
)

// TestSharedText: if the records of a batch share a large text, the batch needs little memory, but is
// large as OTLP. The receiver bounds a batch by its size as OTLP.
func TestSharedText(t *testing.T) {
	notShort(t)
	const records = 8192
	chunks := sharedTextAttack(t)
	var largest, got atomic.Int64
	var marshalled atomic.Int32
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		size := int64((&pmetric.ProtoMarshaler{}).MetricsSize(md))
		for old := largest.Load(); size > old && !largest.CompareAndSwap(old, size); old = largest.Load() {
		}
		if size <= maxBatchOTLP && marshalled.Add(1) < 100 { // marshal the batch as an exporter does
			_, _ = (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
		}
		got.Add(int64(md.DataPointCount()))
		return nil
	})})
	heap := peakHeap(func() { launch(t, r, 1, chunks, records, time.Minute) })
	t.Logf("largest batch %d MiB as OTLP, heap %d MiB", largest.Load()/mib, heap/mib)
	require.EqualValues(t, records, got.Load())
	require.LessOrEqual(t, largest.Load(), int64(maxBatchOTLP))
	require.Less(t, heap, int64(512*mib))
}

// TestManyAttributes: the memory of many streams is bounded, because the first batch of each stream is
// admitted with its decoded size.
func TestManyAttributes(t *testing.T) {
	chunks := attributesAttack(t)
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error {
		time.Sleep(100 * time.Millisecond)
		return nil
	})})
	heap := peakHeap(func() { launch(t, r, 24, chunks, attributesRecords(), 3*time.Second) })
	t.Logf("heap %d MiB", heap/mib)
	require.Less(t, heap, int64(768*mib))
}

// TestDictionariesTogether: the dictionaries of all streams together have one bound.
func TestDictionariesTogether(t *testing.T) {
	chunks, streams := dictionaryAttack(t), 24
	if testing.Short() {
		streams = 6 // 6 streams are enough to exceed the bound
	}
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return nil })})
	var heap int64
	peak := peakHeap(func() {
		launch(t, r, streams, chunks, 150, 20*time.Second)
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		heap = int64(stats.HeapAlloc)
	})
	t.Logf("heap %d MiB at most, %d MiB at the end", peak/mib, heap/mib)
	require.Less(t, heap, int64(maxStreamBytes+512*mib))
	require.Less(t, peak, int64(2048*mib))
}

// TestHiddenMemory: the receiver counts the memory that a stream keeps, even if this memory belongs to
// no batch.
func TestHiddenMemory(t *testing.T) {
	notShort(t)
	chunks := hiddenAttack(t)
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(context.Context, pmetric.Metrics) error { return nil })})
	heap := peakHeap(func() { launch(t, r, 1, chunks, 2*hiddenValues, time.Minute) })
	t.Logf("heap %d MiB", heap/mib)
	require.Less(t, heap, int64(maxStreamBytes+256*mib))
}

// TestManySmallStreams: many clients that start at the same time are served, even
// while other clients keep the decoders busy.
func TestManySmallStreams(t *testing.T) {
	const streams, points3 = 1000, 3
	var got atomic.Int64
	r := startRig(t, testConfig(), sinks{metrics: acting(t, func(_ context.Context, md pmetric.Metrics) error {
		if n := md.DataPointCount(); n == points3 {
			got.Add(int64(n))
		}
		return nil
	})})
	chunks := chunksOf(t, []pmetric.Metrics{points(points3)})
	busy := attributesAttack(t)
	opened := make([]*raw, streams)
	for i := range opened {
		opened[i] = rawOpen(t, r, "Metrics")
	}
	var group sync.WaitGroup
	group.Go(func() { launch(t, r, 8, busy, attributesRecords(), 2*time.Second) })
	refused := map[codes.Code]int{}
	var mu sync.Mutex
	for _, p := range opened {
		group.Go(func() {
			for _, chunk := range chunks {
				p.data(chunk, true)
			}
			for p.acked < points3 {
				if st, ok := p.receive(); !ok {
					mu.Lock()
					refused[st.Code()]++
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	require.Empty(t, refused)
	require.EqualValues(t, points3*streams, got.Load())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/encoding"

	"github.com/otelstef/stef/internal/signal"
)

const (
	// estimatePeriod is the minimum time between two measurements, and before the
	// first one.
	estimatePeriod = 10 * time.Second
	// estimateShare bounds the time for measurements: this share of one processor.
	estimateShare = 1.0 / 500
)

// estimate estimates how many bytes batches would be as OTLP requests with the
// compression of otlp_fallback. From time to time it converts one batch, and assumes
// the same number of bytes per item for the others.
type estimate[B any] struct {
	config *Config
	signal *signal.Descriptor[B]
	next   atomic.Int64 // when to measure again, in ns

	mu           sync.Mutex // guards everything below
	bytes, items float64    // measured; older measurements count less
	pending      int        // items that were delivered before the first measurement
}

func newEstimate[B any](c *Config, s *signal.Descriptor[B]) *estimate[B] {
	e := &estimate[B]{config: c, signal: s}
	e.next.Store(time.Now().Add(estimatePeriod).UnixNano())
	return e
}

// delivered returns how many bytes to add for items of a batch. It must be called before the push of the batch
// returns.
func (e *estimate[B]) delivered(data B, items int) (bytes int64) {
	now, next := time.Now(), e.next.Load()
	if now.UnixNano() >= next && e.next.CompareAndSwap(next, now.Add(estimatePeriod).UnixNano()) {
		e.measure(data)
		pause := max(estimatePeriod, time.Duration(float64(time.Since(now))/estimateShare))
		e.next.Store(now.Add(pause).UnixNano())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.items == 0 {
		e.pending += items
		return 0
	}
	items += e.pending
	e.pending = 0
	return int64(float64(items) * e.bytes / e.items)
}

// measure converts a batch. Batches that OTLP could not send are skipped.
func (e *estimate[B]) measure(data B) {
	if e.signal.Size(data) > e.config.Fallback.MaxRequestSizeMiB<<20 {
		return
	}
	request, err := e.signal.Marshal(data)
	if err != nil {
		return
	}
	size := len(request)
	if c := e.config.Fallback.Compression; c.IsCompressed() {
		var ok bool
		if size, ok = compressedSize(encoding.GetCompressor(string(c)), request); !ok {
			return
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	const memory = 0.75
	e.bytes = e.bytes*memory + float64(size)
	e.items = e.items*memory + float64(e.signal.Items(data))
}

// compressedSize returns the size of data after compression.
func compressedSize(c encoding.Compressor, data []byte) (int, bool) {
	if c == nil {
		return 0, false
	}
	var size countingWriter
	w, err := c.Compress(&size)
	if err != nil {
		return 0, false
	}
	if _, err := w.Write(data); err != nil {
		return 0, false
	}
	err = w.Close() // writes the rest
	return int(size), err == nil
}

// countingWriter counts bytes.
type countingWriter int

var _ io.Writer = (*countingWriter)(nil)

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

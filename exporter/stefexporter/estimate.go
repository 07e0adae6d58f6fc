// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"cmp"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/collector/config/configcompression"
	"google.golang.org/grpc/encoding"

	"github.com/otelstef/stef/internal/signal"
)

const (
	// estimateShare is the share of one processor that measurements may use. Unused time
	// accumulates up to maxEstimateBudget.
	estimateShare     = 1.0 / 500
	maxEstimateBudget = 50 * time.Millisecond
	// firstBudget is the time for measurements at the start. The first measurement of each
	// size class may exceed it.
	firstBudget = 20 * time.Millisecond
	// firstItemTime is the assumed time to measure an item, until a measurement is known.
	firstItemTime = 4 * time.Microsecond
	// estimateMemory is the weight of earlier measurements when a new measurement is added.
	estimateMemory = 0.95
)

// estimate estimates the size that batches would have as OTLP requests with zstd. It assumes zstd
// even if otlp_fallback uses another compression: the published figures compare with zstd, and
// the estimates of several exporters can be added. It measures only some batches. The other
// batches count with the bytes per item of measured batches of similar size: small requests
// repeat resources more often and compress less. The first batch of each size class is measured
// immediately, even over the budget. Otherwise, the estimate would be behind the other metrics in
// a burst after the start.
type estimate[B any] struct {
	config *Config
	signal *signal.Descriptor[B]
	now    func() time.Time // replaced in tests

	mu        sync.Mutex // guards everything below
	budget    time.Duration
	since     time.Time     // when budget was last updated
	measuring int           // measurements that have begun and not ended
	classes   [32]sizeClass // indexed by the bit length of the number of items
	seen      float64       // sum over all classes
	measured  float64
	random    *rand.Rand
	rest      float64 // fraction of a byte that was not returned yet
}

// sizeClass describes the batches with about the same number of items.
type sizeClass struct {
	bytes, items   float64       // measured; older measurements count less
	seen, measured float64       // number of all items and of measured items; fade halves both
	pending        int           // items that were delivered before the end of the first measurement
	tried          bool          // the first measurement has begun
	ended          bool          // the first measurement has ended, maybe without a size
	itemTime       time.Duration // time to measure one item, or 0 if unknown
	skip           int           // number of batches to skip before the next measurement
}

func newEstimate[B any](c *Config, s *signal.Descriptor[B]) *estimate[B] {
	return &estimate[B]{config: c, signal: s, now: time.Now, budget: firstBudget, since: time.Now(), random: rand.New(rand.NewPCG(1, 2))}
}

func classOf(items int) int { return min(bits.Len(uint(items)), len(estimate[int]{}.classes)-1) }

// delivered counts a batch: all is the number of its items, and items the number of its delivered
// items. It returns the bytes to add to the estimate. Call it before the push returns.
func (e *estimate[B]) delivered(data B, items, all int) (bytes int64) {
	if e.begin(all) {
		began := e.now()
		size, ok := e.measure(data)
		e.end(all, size, ok, e.now().Sub(began))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.classes[classOf(all)].pending += items
	return e.settle()
}

// begin reports whether to measure a batch. It keeps the share of measured items about equal in all
// size classes, so that the batches of one size class do not use the whole time for measurements.
func (e *estimate[B]) begin(items int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &e.classes[classOf(items)]
	c.seen += float64(items)
	e.seen += float64(items)
	now := e.now()
	e.budget = min(maxEstimateBudget, e.budget+time.Duration(float64(now.Sub(e.since))*estimateShare))
	e.since = now
	if !c.tried {
		c.tried = true
		e.measuring++
		return true
	}
	// Assume the time of the largest batch of the size class. With the time of the current batch,
	// begin would measure mostly the small batches of the class.
	price := min(maxEstimateBudget, time.Duration(1)<<classOf(items)*cmp.Or(c.itemTime, firstItemTime))
	if e.measuring > 0 || e.budget < price || c.measured*e.seen > e.measured*c.seen {
		return false
	}
	if c.skip > 0 { // skip a random number of batches, because different batches may alternate
		c.skip--
		return false
	}
	c.skip = e.random.IntN(4)
	e.measuring++
	return true
}

func (e *estimate[B]) end(items, size int, ok bool, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.measuring--
	e.budget -= took // the budget may be negative until enough time has passed
	c := &e.classes[classOf(items)]
	c.ended = true
	c.measured += float64(items)
	e.measured += float64(items)
	e.fade()
	if !ok {
		return
	}
	c.itemTime = max(1, (3*cmp.Or(c.itemTime, firstItemTime)+took/time.Duration(items))/4)
	c.bytes = c.bytes*estimateMemory + float64(size)
	c.items = c.items*estimateMemory + float64(items)
}

// fade halves the counts of seen and of measured items when they have become large. So recent batches
// have more weight than old batches when begin compares the shares of measured items.
func (e *estimate[B]) fade() {
	const enough = 1 << 24
	if e.seen < enough {
		return
	}
	e.seen, e.measured = e.seen/2, e.measured/2
	for i := range e.classes {
		e.classes[i].seen /= 2
		e.classes[i].measured /= 2
	}
}

// settle returns the estimated bytes of those pending items for which a measurement is
// known. The caller must hold the lock.
func (e *estimate[B]) settle() int64 {
	bytes := e.rest
	for i := range e.classes {
		c := &e.classes[i]
		if c.pending == 0 {
			continue
		}
		from := c
		if c.items == 0 && c.ended { // the first batch of the class could not be measured
			from = e.nearest(i)
		}
		if from.items > 0 {
			bytes += float64(c.pending) * from.bytes / from.items
			c.pending = 0
		}
	}
	whole := math.Round(bytes)
	e.rest = bytes - whole
	return int64(whole)
}

func (e *estimate[B]) nearest(class int) *sizeClass {
	for distance := 1; distance < len(e.classes); distance++ {
		for _, i := range [2]int{class - distance, class + distance} {
			if i >= 0 && i < len(e.classes) && e.classes[i].items > 0 {
				return &e.classes[i]
			}
		}
	}
	return &e.classes[class]
}

// measure converts a batch to an OTLP request and returns its compressed size. Batches that
// are too large for OTLP are not measured.
func (e *estimate[B]) measure(data B) (size int, ok bool) {
	if e.signal.Size(data) > e.config.Fallback.MaxRequestSizeMiB<<20 {
		return 0, false
	}
	request, err := e.signal.Marshal(data)
	if err != nil {
		return 0, false
	}
	// configgrpc registers the compressor.
	return compressedSize(encoding.GetCompressor(string(configcompression.TypeZstd)), request)
}

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

type countingWriter int

var _ io.Writer = (*countingWriter)(nil)

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

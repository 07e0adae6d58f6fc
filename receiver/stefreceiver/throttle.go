// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// throttle limits the CPU time that expensive streams use while other clients send. An
// expensive stream needs a permit of the throttle for each batch.
//
// A short stream can expand to much telemetry. Decoding and delivering it keeps
// processors busy. The scheduler then delays each step of a batch of another client by
// up to 10 ms for every busy goroutine. So an expensive stream holds a permit for each
// batch until the pipeline has processed the batch, and there are fewer permits than
// processors. Batches of expensive streams are small, and after each batch the permit stays
// unused for a while. Without other clients, expensive streams need no permit.
type throttle struct {
	fairSemaphore
	lastCheap *atomic.Int64 // when a client that is cheap to serve last had a batch or request, in ns since processStart; 0: never
}

func newThrottle(lastCheap *atomic.Int64) *throttle {
	return &throttle{fairSemaphore: newFairSemaphore(int64(max(1, runtime.GOMAXPROCS(0)/2)), math.MaxInt64), lastCheap: lastCheap}
}

const (
	// throttledBatch is the maximum size of a batch of an expensive stream. A larger record
	// becomes a batch of its own.
	throttledBatch = mib
	// pausePerWork is the time that a permit stays unused after a batch, divided by the time of the
	// work on the batch.
	pausePerWork = 7
	// maxPause limits the time that a permit stays unused: at most maxPause, plus maxPause for each
	// full throttledBatch of weight. The limit is needed because the measured time of the work can be
	// too long: it includes the time that the pipeline waits for other components.
	maxPause = 50 * time.Millisecond
)

// pauseAfter returns how long a permit stays unused after the work on a batch of the given weight.
func pauseAfter(worked time.Duration, weight int64) time.Duration {
	return min(pausePerWork*worked, maxPause*time.Duration(1+weight/throttledBatch))
}

// acquirePermit acquires a permit if clients that are cheap to serve are active, and reports
// whether it has acquired one.
func (t *throttle) acquirePermit(ctx context.Context, a *usage) (bool, error) {
	if !t.contended() {
		return false, nil
	}
	err := t.acquire(ctx, a, 1)
	return err == nil, err
}

// contended reports whether clients that are cheap to serve are active.
func (t *throttle) contended() bool {
	last := t.lastCheap.Load()
	return last != 0 && time.Since(processStart)-time.Duration(last) <= activePeriod
}

// releasePermit waits after the work on a batch of the given weight, and then releases the permit:
// until then, no other batch can use the permit.
func (t *throttle) releasePermit(ctx context.Context, a *usage, worked time.Duration, weight int64) {
	sleep(ctx, pauseAfter(worked, weight))
	t.release(a, 1)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// credit is the amount of telemetry, in bytes of OTLP, that a client may send before its
// streams count as expensive. Each byte on the wire adds creditPerByte, so a client that
// sends ordinary telemetry always has credit.
type credit struct {
	mu      sync.Mutex
	amount  int64
	updated time.Time // when credit for passing time was last added
}

const (
	// creditPerByte is the credit for a byte of a stream. Ordinary telemetry needs a
	// small part of it, see README.md.
	creditPerByte = 1024
	// creditPerSecond is added each second, so that clients that send little recover.
	creditPerSecond = 64 << 10
	// initialCredit is the credit of a new client.
	initialCredit = mib
	// maxCredit bounds the credit that a client can accumulate.
	maxCredit = 8 * mib
	// streamCost is the cost to open a stream, and recordCost is the minimum cost of a record.
	// errorCost is the cost of a stream that cannot be decoded: approximately the cost to decode a
	// record up to limits::max_record_alloc_mib and to reject it.
	streamCost = 128 << 10
	recordCost = 64
	errorCost  = 16 * mib
)

func (c *credit) balance() int64 { return c.add(0, 0) }

// add adds the credit for received bytes, subtracts a cost, and returns the balance.
func (c *credit) add(received, cost int64) int64 {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.updated.IsZero() {
		c.amount, c.updated = initialCredit, now
	} else if n := int64(now.Sub(c.updated).Seconds() * creditPerSecond); n > 0 {
		c.amount, c.updated = c.amount+n, now
	}
	c.amount = min(c.amount+received*creditPerByte-cost, maxCredit)
	return c.amount
}

// batchCost returns the cost of a batch. It is the maximum of these costs: the weight of the batch
// for admission; recordCost for each record; the decompressed size of the frame that begins with the
// batch; the increase in the memory that the stream holds; the memory that decoding allocated. The
// last cost is for streams that restart their dictionaries in each frame: they allocate memory, but
// do not hold it.
func batchCost(weight int64, records uint64, plain, held, added int64) int64 {
	return max(weight, recordCost*int64(records), plain, held/heldCost, added/addedCost)
}

// heldCost bytes of newly held memory cost as much as one byte of telemetry. Held memory has a cost
// because it must be allocated and measured.
const heldCost = 4

// addedCost bytes of memory that decoding allocates cost as much as one byte of telemetry.
const addedCost = 2

// newlyHeld returns by how many bytes the memory of a stream beyond streamAllowance has grown.
func newlyHeld(before, after int64) int64 {
	return max(0, max(after, streamAllowance)-max(before, streamAllowance))
}

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

// lanes bound the CPU time that expensive streams use while other clients send. A lane is
// the permission to process one batch of an expensive stream.
//
// A short stream can expand to much telemetry. Decoding and delivering it keeps
// processors busy. The scheduler then delays each step of a batch of another client by
// up to 10 ms for every busy goroutine. So an expensive stream holds a lane for each
// batch until the pipeline has processed the batch, and there are fewer lanes than
// processors. Batches of expensive streams are small, and a lane stays unused for a while
// after each batch. Without other clients, expensive streams need no lane.
type lanes struct {
	gate
	cheap *atomic.Int64 // when a client that is cheap to serve last had a batch or request, in ns since processStart; 0: never
}

func newLanes(cheap *atomic.Int64) *lanes {
	return &lanes{gate: newGate(int64(max(1, runtime.GOMAXPROCS(0)/2)), math.MaxInt64), cheap: cheap}
}

const (
	// laneBatch is the maximum size of a batch of an expensive stream. A larger record
	// becomes a batch of its own.
	laneBatch = mib
	// restPerWork is the time that a lane stays unused, divided by the time of the preceding work.
	restPerWork = 7
	// laneRest limits the time that a lane stays unused: at most laneRest, plus laneRest for each
	// full laneBatch of weight. The limit is needed because the measured time of the work can be
	// too long: it includes the time that the pipeline waits for other components.
	laneRest = 50 * time.Millisecond
)

// restAfter returns how long a lane stays unused after the work on a batch of the given weight.
func restAfter(worked time.Duration, weight int64) time.Duration {
	return min(restPerWork*worked, laneRest*time.Duration(1+weight/laneBatch))
}

// enter acquires a lane if clients that are cheap to serve are present, and reports whether it
// needed a lane. If it returns an error, it has acquired no lane.
func (l *lanes) enter(ctx context.Context, a *account) (bool, error) {
	if !l.contended() {
		return false, nil
	}
	return true, l.acquire(ctx, a, 1)
}

// contended reports whether clients that are cheap to serve are present.
func (l *lanes) contended() bool {
	last := l.cheap.Load()
	return last != 0 && time.Since(processStart)-time.Duration(last) <= presence
}

// leave waits after the work on a batch of the given weight, and then releases the lane: until
// then, no other batch can use the lane.
func (l *lanes) leave(ctx context.Context, a *account, worked time.Duration, weight int64) {
	rest(ctx, restAfter(worked, weight))
	l.release(a, 1)
}

func rest(ctx context.Context, d time.Duration) {
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
	mu   sync.Mutex
	left int64
	at   time.Time // when credit for passing time was last added
}

const (
	// creditPerByte is the credit for a byte of a stream. Ordinary telemetry needs a
	// small part of it, see README.md.
	creditPerByte = 1024
	// creditPerSecond is added each second, so that clients that send little recover.
	creditPerSecond = 64 << 10
	// firstCredit is the credit of a new client.
	firstCredit = mib
	// mostCredit bounds the credit that a client can accumulate.
	mostCredit = 8 * mib
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
	if c.at.IsZero() {
		c.left, c.at = firstCredit, now
	} else if n := int64(now.Sub(c.at).Seconds() * creditPerSecond); n > 0 {
		c.left, c.at = c.left+n, now
	}
	c.left = min(c.left+received*creditPerByte-cost, mostCredit)
	return c.left
}

// batchCost returns the cost of a batch. It is the maximum of these costs: the weight of the batch
// for admission; recordCost for each record; the plain size of the frame that begins with the
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

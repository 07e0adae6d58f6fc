// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"io"
	"time"
)

// requestCost is the cost of each byte of a request. The number of bytes is the size of the request
// after decompression, or its weight for admission if that is larger. So a client is expensive if
// its requests become more than 128 times as large as on the wire. Ordinary telemetry stays far
// below, see README.md.
const requestCost = 8

// pieceSize is how many bytes of an expensive request are decompressed at a time.
const pieceSize = 256 << 10

// costTracker counts the cost of a request. If the cost exceeds the credit of the client, the
// request is expensive and needs a permit of the throttle.
//
// Requests and streams have different throttles. A stream holds a permit while it waits for
// admission, and a request holds admitted bytes while it waits for a permit: with a common
// throttle they could block each other. An expensive request holds a permit while it is
// decompressed, decoded and processed. It is decompressed in pieces with a pause after each piece.
type costTracker struct {
	throttle   *throttle
	client     *clientState
	wire       int64
	budget     int64 // credit of the client, including the credit for the bytes of the request
	total      int64
	permit     bool
	pieceStart time.Time // when the work on the current piece began
	weight     int64     // weight of the request for admission
}

func newCostTracker(l *throttle, client *clientState, wire int64) *costTracker {
	return &costTracker{throttle: l, client: client, wire: wire, budget: client.credit.balance() + creditPerByte*wire}
}

// affordable returns how many more bytes can be decompressed before the request becomes expensive.
func (t *costTracker) affordable() int64 { return (t.budget - t.total) / requestCost }

func (t *costTracker) expensive() bool { return t.total > t.budget }

// charge subtracts the cost of the request from the credit of the client. It also records the time
// of a request that is not expensive: while such requests arrive, expensive requests must wait (see
// throttle.contended).
func (t *costTracker) charge(weight int64) {
	t.total = max(t.total, requestCost*weight)
	t.client.credit.add(t.wire, t.total)
	if !t.expensive() {
		t.throttle.lastCheap.Store(int64(time.Since(processStart)))
	}
	t.weight = weight
}

// chargeCancelled subtracts the cost of a request from the credit of the client if the client
// cancelled the request, or its deadline has passed. Otherwise, a client could avoid the cost: it
// could cancel each request just before the request ends.
func (t *costTracker) chargeCancelled() { t.client.credit.add(t.wire, t.total) }

// chargeInvalid subtracts the cost of a request that cannot be decoded from the credit of the
// client. The bytes of such a request add no credit. If the request has a permit, a pause follows.
func (t *costTracker) chargeInvalid(ctx context.Context) {
	t.client.credit.add(0, t.total+errorCost)
	if t.permit {
		sleep(ctx, pausePerWork*streamWork)
	}
}

// acquirePermit acquires a permit of the throttle if the request is expensive and other clients are
// active.
func (t *costTracker) acquirePermit(ctx context.Context) (err error) {
	if !t.expensive() || t.permit {
		return nil
	}
	t.permit, err = t.throttle.acquirePermit(ctx, &t.client.requestThrottle)
	t.pieceStart = time.Now()
	return err
}

// releasePermit releases the permit of the throttle, if the request has one, without a pause.
func (t *costTracker) releasePermit() {
	if t.permit {
		t.permit = false
		t.throttle.release(&t.client.requestThrottle, 1)
	}
}

// pause waits after the work on a piece of weight bytes, if the request is expensive and clients
// that are cheap to serve are active.
func (t *costTracker) pause(ctx context.Context, weight int64) {
	if t.expensive() && t.throttle.contended() {
		sleep(ctx, pauseAfter(time.Since(t.pieceStart), weight))
		t.pieceStart = time.Now()
	}
}

// countBytes returns a reader of src that adds the cost of the bytes read to the cost of the
// request.
func (t *costTracker) countBytes(ctx context.Context, src io.Reader) io.Reader {
	t.pieceStart = time.Now()
	return &costReader{costTracker: t, ctx: ctx, src: src}
}

type costReader struct {
	*costTracker
	ctx  context.Context
	src  io.Reader
	read int // bytes since the last pause
}

// Read implements io.Reader.
func (r *costReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p[:min(len(p), pieceSize)])
	r.total += requestCost * int64(n)
	if r.read += n; r.read >= pieceSize {
		r.read = 0
		if err := r.ctx.Err(); err != nil {
			return n, err
		}
		r.pause(r.ctx, pieceSize)
	}
	return n, err
}

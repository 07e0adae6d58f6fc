// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"io"
	"time"
)

// requestCost is the cost of each byte of a request after decompression, or of its weight
// for admission if that is more. So a client is expensive if its requests become more than
// 128 times their bytes. Ordinary telemetry stays far below, see README.md.
const requestCost = 8

// inflatedPiece is how many bytes of an expensive request are decompressed at a time.
const inflatedPiece = 256 << 10

// toll is what a request costs its client, and the lane of a request that its client cannot
// afford.
//
// Requests have lanes of their own. A stream waits for admission with a lane, and a request
// waits for a lane with what it was admitted for: with common lanes they could wait for
// each other. An expensive request holds a lane while it is decompressed, which is done in
// pieces with a pause after each, and while it is decoded and processed.
type toll struct {
	lanes  *lanes
	who    *party
	wire   int64
	budget int64 // credit with that for the bytes of the request
	cost   int64
	lane   bool
	began  time.Time // of the work in the lane
	weight int64     // of the request
}

func newToll(l *lanes, who *party, wire int64) *toll {
	return &toll{lanes: l, who: who, wire: wire, budget: who.credit.balance() + creditPerByte*wire}
}

// affordable returns the number of bytes above which the request is expensive.
func (t *toll) affordable() int64 { return (t.budget - t.cost) / requestCost }

func (t *toll) expensive() bool { return t.cost > t.budget }

// settle charges the client. If the request is not expensive, its client counts as present.
func (t *toll) settle(weight int64) {
	t.cost = max(t.cost, requestCost*weight)
	t.who.credit.add(t.wire, t.cost)
	if !t.expensive() {
		t.lanes.cheap.Store(time.Now().UnixNano())
	}
	t.weight = weight
}

// refuse charges the client for a request that cannot be decoded, whose bytes add no credit.
// If the request has a lane, a pause follows.
func (t *toll) refuse(ctx context.Context) {
	t.who.credit.add(0, t.cost+errorCost)
	if t.lane {
		rest(ctx, restPerWork*streamWork)
	}
}

// enterLane takes a lane if the request is expensive and other clients are present.
func (t *toll) enterLane(ctx context.Context) (err error) {
	if !t.expensive() || t.lane {
		return nil
	}
	t.lane, err = t.lanes.enter(ctx, &t.who.requests)
	if err != nil {
		t.lane = false
	}
	t.began = time.Now()
	return err
}

// leaveLane returns the lane, if the request has one, without a pause.
func (t *toll) leaveLane() {
	if t.lane {
		t.lane = false
		t.lanes.release(&t.who.requests, 1)
	}
}

// pause waits after the work on a piece of weight bytes, if the request is expensive and
// clients that are not expensive are present.
func (t *toll) pause(ctx context.Context, weight int64) {
	if t.expensive() && t.lanes.contended() {
		rest(ctx, restAfter(time.Since(t.began), weight))
		t.began = time.Now()
	}
}

// charge returns a reader that charges for the bytes of src.
func (t *toll) charge(ctx context.Context, src io.Reader) io.Reader {
	t.began = time.Now()
	return &chargedReader{toll: t, ctx: ctx, src: src}
}

type chargedReader struct {
	*toll
	ctx  context.Context
	src  io.Reader
	read int // since the last pause
}

// Read implements io.Reader.
func (r *chargedReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p[:min(len(p), inflatedPiece)])
	r.cost += requestCost * int64(n)
	if r.read += n; r.read >= inflatedPiece {
		r.read = 0
		if err := r.ctx.Err(); err != nil {
			return n, err
		}
		r.pause(r.ctx, inflatedPiece)
	}
	return n, err
}

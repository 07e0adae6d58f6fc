// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"io"
	"time"
)

// requestCost is the cost of each byte of a request. The bytes are its size after decompression,
// or its weight for admission if that is larger. So a client is expensive if its requests become
// more than 128 times as large as on the wire. Ordinary telemetry stays far below, see README.md.
const requestCost = 8

// inflatedPiece is how many bytes of an expensive request are decompressed at a time.
const inflatedPiece = 256 << 10

// toll counts the cost of a request. If the cost exceeds the credit of the client, the request is
// expensive and needs a lane (see lanes).
//
// Requests have other lanes than streams. A stream holds a lane while it waits for
// admission, and a request holds admitted bytes while it waits for a lane: with common
// lanes they could block each other. An expensive request holds a lane while it is
// decompressed, decoded and processed. It is decompressed in pieces with a pause after each piece.
type toll struct {
	lanes  *lanes
	who    *party
	wire   int64
	budget int64 // credit of the client, including the credit for the bytes of the request
	cost   int64
	lane   bool
	began  time.Time // when the work on the current piece began
	weight int64     // weight of the request for admission
}

func newToll(l *lanes, who *party, wire int64) *toll {
	return &toll{lanes: l, who: who, wire: wire, budget: who.credit.balance() + creditPerByte*wire}
}

// affordable returns how many more bytes can be decompressed before the request becomes expensive.
func (t *toll) affordable() int64 { return (t.budget - t.cost) / requestCost }

func (t *toll) expensive() bool { return t.cost > t.budget }

// settle subtracts the cost of the request from the credit of the client. A request that is not expensive is also
// noted: while such clients send, expensive ones must wait (see lanes.contended).
func (t *toll) settle(weight int64) {
	t.cost = max(t.cost, requestCost*weight)
	t.who.credit.add(t.wire, t.cost)
	if !t.expensive() {
		t.lanes.cheap.Store(int64(time.Since(processStart)))
	}
	t.weight = weight
}

// abandon subtracts the cost of a request from the credit of the client if the client cancelled the
// request, or its deadline has passed. Without this cost, a client could cancel each request just
// before its end.
func (t *toll) abandon() { t.who.credit.add(t.wire, t.cost) }

// refuse subtracts the cost of a request that cannot be decoded from the credit of the client. The
// bytes of such a request add no credit. If the request has a lane, a pause follows.
func (t *toll) refuse(ctx context.Context) {
	t.who.credit.add(0, t.cost+errorCost)
	if t.lane {
		rest(ctx, restPerWork*streamWork)
	}
}

// enterLane acquires a lane (see lanes) if the request is expensive and other clients are present.
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

// leaveLane releases the lane (see lanes), if the request has one, without a pause.
func (t *toll) leaveLane() {
	if t.lane {
		t.lane = false
		t.lanes.release(&t.who.requests, 1)
	}
}

// pause waits after the work on a piece of weight bytes, if the request is expensive and clients
// that are cheap to serve are present.
func (t *toll) pause(ctx context.Context, weight int64) {
	if t.expensive() && t.lanes.contended() {
		rest(ctx, restAfter(time.Since(t.began), weight))
		t.began = time.Now()
	}
}

// charge returns a reader of src that adds the cost of the bytes read to the toll.
func (t *toll) charge(ctx context.Context, src io.Reader) io.Reader {
	t.began = time.Now()
	return &chargedReader{toll: t, ctx: ctx, src: src}
}

type chargedReader struct {
	*toll
	ctx  context.Context
	src  io.Reader
	read int // bytes since the last pause
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

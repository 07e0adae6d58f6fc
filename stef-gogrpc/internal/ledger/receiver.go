// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/otelstef/stef/stef-gogrpc/internal/wire"

// maxResponseRanges is the maximum number of ranges in one response. It keeps the size
// of a response far below the receive limit of any client.
const maxResponseRanges = 4096

// MaxUntold is the maximum number of rejected ranges that can wait to be sent before
// Backlogged reports true.
const MaxUntold = 4 * maxResponseRanges

// Receiver tracks the records of a receiver: which records are finished, and which
// finished records must still be reported to the sender.
type Receiver struct {
	mark     uint64 // all ids up to mark are finished
	told     uint64 // the last id acknowledged to the sender
	accepted set    // accepted ids above mark
	rejected set    // rejected ids that were not sent to the sender yet
}

// Finish notes that the records of a range are accepted.
func (l *Receiver) Finish(r wire.IDRange) {
	if r.From > r.To {
		return
	}
	// No record has the id 0. For From = 0, r.From-1 would wrap around.
	if r.From > 0 && r.From-1 > l.mark {
		l.accepted.add(r)
		return
	}
	l.mark = max(l.mark, r.To)
	l.advance()
}

// advance moves l.mark to the end of the finished ids that follow it without a gap.
func (l *Receiver) advance() {
	for {
		if r, ok := l.accepted.first(); ok && r.From-1 <= l.mark {
			l.mark = max(l.mark, r.To)
			l.accepted.pop()
		} else if r, ok := l.rejected.above(l.mark); ok && r.From-1 <= l.mark {
			l.mark = r.To
		} else {
			return
		}
	}
}

// Reject marks the records of a range as bad, and so as finished. They are
// reported to the sender in the same response as the acknowledgement that includes
// them, not earlier.
func (l *Receiver) Reject(r wire.IDRange) {
	r.From = max(r.From, 1)
	l.rejected.add(r)
	l.advance()
}

// Ack notes that all records up to id are finished.
func (l *Receiver) Ack(id uint64) { l.Finish(wire.IDRange{From: 0, To: id}) }

// Acked returns the id up to which all records are finished.
func (l *Receiver) Acked() uint64 { return l.mark }

// Ranges returns the number of stored ranges.
func (l *Receiver) Ranges() int { return l.accepted.n + l.rejected.n }

// Backlogged reports whether more than MaxUntold rejected ranges could be sent now.
func (l *Receiver) Backlogged() bool { return l.canSend(MaxUntold + 1) }

// canSend reports whether n rejected ranges can be sent, because the records before
// them are finished.
func (l *Receiver) canSend(n int) bool {
	r, ok := l.rejected.nth(n)
	return ok && r.From <= l.mark
}

// ahead reports whether records above l.mark are finished.
func (l *Receiver) ahead() bool {
	_, rejected := l.rejected.above(l.mark)
	return l.accepted.n > 0 || rejected
}

// Pending reports whether Take has a response to send.
func (l *Receiver) Pending() bool {
	return l.mark > l.told || l.canSend(1)
}

// Take returns the next response to send; ok is false if there is none. The response
// contains everything since the last response. If this is too much for one message,
// Pending remains true, and the next call of Take returns more.
func (l *Receiver) Take() (r wire.Response, ok bool) {
	if !l.Pending() {
		return wire.Response{}, false
	}
	// A range that begins at or below the mark also ends at or below it: all ids of
	// the range are finished, so the mark includes them.
	ack := l.mark
	for bad, ok := l.rejected.first(); ok && bad.From <= l.mark; bad, ok = l.rejected.first() {
		// A client ignores the acknowledged ids of a range that ends above them, see Sender.reject.
		split := bad.From <= l.told && bad.To > l.told
		if n := len(r.Rejected); n == maxResponseRanges || split && n == maxResponseRanges-1 {
			// A client ignores bad ids that are already acknowledged, so the
			// remaining ranges must not be acknowledged yet.
			ack = bad.From - 1
			break
		}
		if split {
			r.Rejected = append(r.Rejected, wire.IDRange{From: bad.From, To: l.told})
			bad.From = l.told + 1
		}
		r.Rejected = append(r.Rejected, bad)
		l.rejected.pop()
	}
	l.told = max(l.told, ack)
	r.Acked = l.told
	return r, true
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// maxResponseRanges is the maximum number of ranges in one response, so that it
// stays far below the receive limit of any client.
const maxResponseRanges = 4096

// MaxUntold is the number of rejected ranges that can be sent and are not, above which
// Backlogged reports true.
const MaxUntold = 4 * maxResponseRanges

// Receiver tracks the records of a receiver: which are finished, and which of
// these must still be reported to the sender.
type Receiver struct {
	mark     uint64      // all ids up to it are finished
	told     uint64      // the last id acknowledged to the sender
	accepted wire.Ranges // accepted ids above mark
	rejected wire.Ranges // not sent to the sender yet
}

// Finish notes that the records of a range are accepted.
func (l *Receiver) Finish(r wire.IDRange) {
	if r.From > r.To {
		return
	}
	// No record has the id 0. For From = 0, r.From-1 would wrap around.
	if r.From > 0 && r.From-1 > l.mark {
		l.accepted.Add(r)
		return
	}
	l.mark = max(l.mark, r.To)
	l.advance()
}

// advance moves the mark to the end of the finished ids that begin there.
func (l *Receiver) advance() {
	n, bad := 0, l.rejected[l.rejected.Above(l.mark):]
	for {
		switch {
		case n < len(l.accepted) && l.accepted[n].From-1 <= l.mark:
			l.mark = max(l.mark, l.accepted[n].To)
			n++
		case len(bad) > 0 && bad[0].From-1 <= l.mark:
			l.mark = max(l.mark, bad[0].To)
			bad = bad[1:]
		default:
			l.accepted = slices.Delete(l.accepted, 0, n)
			return
		}
	}
}

// Reject marks the records of a range as bad, and so as finished. They are
// reported to the sender in the same response as the acknowledgement that includes
// them, not earlier.
func (l *Receiver) Reject(r wire.IDRange) {
	r.From = max(r.From, 1)
	l.rejected.Add(r)
	l.advance()
}

// Ack notes that all records up to id are finished.
func (l *Receiver) Ack(id uint64) { l.Finish(wire.IDRange{From: 0, To: id}) }

// Acked returns the id up to which all records are finished.
func (l *Receiver) Acked() uint64 { return l.mark }

// Ranges returns the number of stored ranges.
func (l *Receiver) Ranges() int { return len(l.accepted) + len(l.rejected) }

// Backlogged reports whether more than MaxUntold rejected ranges can be sent and are not.
func (l *Receiver) Backlogged() bool { return l.canSend(MaxUntold + 1) }

// canSend reports whether n rejected ranges can be sent, because the records before
// them are finished.
func (l *Receiver) canSend(n int) bool {
	return len(l.rejected) >= n && l.rejected[n-1].From <= l.mark
}

// ahead reports whether records above the mark are finished.
func (l *Receiver) ahead() bool {
	n := len(l.rejected)
	return len(l.accepted) > 0 || n > 0 && l.rejected[n-1].To > l.mark
}

// Pending reports whether Take has a response to send.
func (l *Receiver) Pending() bool {
	return l.mark > l.told || l.canSend(1)
}

// Take returns the next response to send; ok is false if there is none. The response
// contains everything since the last response. If that is too much for one message,
// Pending remains true, and the next Take returns more.
func (l *Receiver) Take() (r wire.Response, ok bool) {
	if !l.Pending() {
		return wire.Response{}, false
	}
	// A range that begins at or below the mark also ends there: its ids are
	// finished, so the mark covers them.
	n, ack := 0, l.mark
	for n < len(l.rejected) && l.rejected[n].From <= l.mark {
		if n == maxResponseRanges {
			// A client ignores bad ids that are already acknowledged, so the
			// remaining ranges must not be acknowledged yet.
			ack = l.rejected[n].From - 1
			break
		}
		n++
	}
	l.told = max(l.told, ack)
	r.Acked = l.told
	if n > 0 {
		// The rest is not moved to the front: it can be long.
		r.Rejected, l.rejected = l.rejected[:n:n], l.rejected[n:]
		if len(l.rejected) == 0 {
			l.rejected = nil
		}
	}
	return r, true
}

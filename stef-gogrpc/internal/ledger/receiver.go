// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// maxResponseRanges is how many ranges one response holds at most, so that it
// stays far below the receive limit of any client.
const maxResponseRanges = 4096

// Receiver is the account of a receiver: which records are finished, and what
// of that the sender was not told yet.
type Receiver struct {
	mark     uint64      // all ids up to it are finished
	told     uint64      // the id the sender was told last
	finished wire.Ranges // above mark
	rejected wire.Ranges // not told
}

// Finish notes that the records of a range are accepted.
func (l *Receiver) Finish(r wire.IDRange) {
	if r.From > r.To {
		return
	}
	// r.From-1 is beyond all ids for 0, which is the id of no record.
	if r.From > 0 && r.From-1 > l.mark {
		l.finished.Add(r)
		return
	}
	l.mark = max(l.mark, r.To)
	n := 0
	for n < len(l.finished) && l.finished[n].From-1 <= l.mark {
		l.mark = max(l.mark, l.finished[n].To)
		n++
	}
	l.finished = slices.Delete(l.finished, 0, n)
}

// Reject notes that the records of a range are bad, and so finished. The sender
// is told with, not before, the acknowledgement that includes them.
func (l *Receiver) Reject(r wire.IDRange) {
	r.From = max(r.From, 1)
	l.rejected.Add(r)
	l.Finish(r)
}

// Ack notes that all records up to id are finished.
func (l *Receiver) Ack(id uint64) { l.Finish(wire.IDRange{From: 0, To: id}) }

// Acked returns the id up to which all records are finished.
func (l *Receiver) Acked() uint64 { return l.mark }

// Ranges returns how many ranges the ledger has to remember.
func (l *Receiver) Ranges() int { return len(l.finished) + len(l.rejected) }

// Pending says whether take has something to tell.
func (l *Receiver) Pending() bool {
	return l.mark > l.told || len(l.rejected) > 0 && l.rejected[0].From <= l.mark
}

// Take returns the next response to send, which tells everything since the last
// one unless that is too much for one message. pending says whether more is
// left.
func (l *Receiver) Take() (r wire.Response, ok bool) {
	if !l.Pending() {
		return wire.Response{}, false
	}
	// A range that begins at or below the mark ends there too: its ids are
	// finished, and the mark passes over those.
	n, ack := 0, l.mark
	for n < len(l.rejected) && l.rejected[n].From <= l.mark {
		if n == maxResponseRanges {
			// A client does not look at bad ids that it was told are
			// acknowledged, so the rest must not be acknowledged yet.
			ack = l.rejected[n].From - 1
			break
		}
		n++
	}
	l.told = max(l.told, ack)
	r.Acked = l.told
	if n > 0 {
		r.Rejected = slices.Clone(l.rejected[:n])
		l.rejected = slices.Delete(l.rejected, 0, n)
	}
	return r, true
}

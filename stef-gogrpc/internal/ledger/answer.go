// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Answer contains what the server has reported about a range of records.
type Answer struct {
	Acknowledged uint64         // number of records at the start of the range that are acknowledged or bad
	Rejected     []wire.IDRange // positions in the range, counted from 1
	Bad          uint64         // number of records in Rejected
	Complete     bool           // every record is answered
}

// Hold makes the ledger keep all bad ids until they are settled.
func (l *Sender) Hold() { l.held = true }

// Settle returns the answer for the records from first to last, and marks all ids up to last as
// settled: the caller will not ask for them again. If a server reports such an id as bad later, the
// report counts as late.
func (l *Sender) Settle(first, last uint64) Answer {
	a := l.Answer(first, last)
	l.settled = max(l.settled, last)
	l.truncateRejected(len(l.rejected) / 4) // not for each batch, because the remaining ids are copied
	return a
}

// AnsweredUpTo returns the last id up to which every record is answered: either acknowledged or reported
// as bad.
func (l *Sender) AnsweredUpTo() uint64 {
	through := l.acked
	for _, r := range l.rejected[l.rejected.Above(through):] {
		if r.From > through+1 {
			break
		}
		through = max(through, r.To)
	}
	return through
}

// Answer returns what is known about the records from first to last. Pass 0 as last if
// the last record is not known yet.
func (l *Sender) Answer(first, last uint64) Answer {
	var a Answer
	end := last
	if last == 0 {
		end = math.MaxUint64
	}
	if l.acked >= first {
		a.Acknowledged = min(l.acked, end) - first + 1
	}
	missing := end - first + 1 - a.Acknowledged
	for _, r := range l.rejected[l.rejected.Above(first-1):] {
		if r.From > end {
			break
		}
		from, to := max(r.From, first), min(r.To, end)
		a.Rejected = append(a.Rejected, wire.IDRange{From: from - first + 1, To: to - first + 1})
		a.Bad += to - from + 1
		if from = max(from, l.acked+1); from <= to {
			missing -= to - from + 1
		}
	}
	a.Complete = last != 0 && missing == 0
	return a
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"slices"
)

// The ledgers hold what each end has to know about the records of a stream.
// They are plain state, without goroutines, locks, clocks or I/O: everything
// that can be told about acknowledgements can be tested on them alone.

// Response is what a server says about the records it was sent.
//
// spec: #record-ids
type Response struct {
	// Acked is the id up to which all records are accepted or rejected.
	Acked uint64
	// Rejected are the ids of records that can never be accepted.
	Rejected []IDRange
}

// maxRejected is how many ranges of bad ids a sender remembers.
const maxRejected = 1 << 16

// sendLedger is the account of a sender: which records it sent, and what it was
// told about them. Whatever a server says, the ledger stays as large as what is
// not acknowledged and maxRejected allow.
type sendLedger struct {
	// chunks from head on are sent and not acknowledged, in order.
	chunks []sentChunk
	head   int
	bytes  int64 // in those chunks

	sent, acked uint64
	// uncounted says that chunks were sent whose records nobody counted, so
	// that nobody knows which ids are too high.
	uncounted bool
	rejected  idRanges
}

type sentChunk struct {
	last  uint64
	bytes int
}

// send notes a chunk that ends with record last.
func (l *sendLedger) send(last uint64, bytes int) error {
	if last < l.sent {
		return fmt.Errorf("stefgrpc: a chunk ends with record %d, an earlier one with record %d", last, l.sent)
	}
	l.sent = last
	if last <= l.acked {
		return nil // headers, or a frame without records: nobody acknowledges it
	}
	l.bytes += int64(bytes)
	if n := len(l.chunks); n > l.head && l.chunks[n-1].last == last {
		l.chunks[n-1].bytes += bytes
		return nil
	}
	l.chunks = append(l.chunks, sentChunk{last, bytes})
	return nil
}

// sendUncounted notes a chunk of records whose number is not known.
func (l *sendLedger) sendUncounted() { l.uncounted = true }

// receive takes what a server says and returns what is new in it, ok if
// anything is. A server that knows more than was sent is an error.
//
// spec: #record-ids
func (l *sendLedger) receive(r Response) (news Response, ok bool, err error) {
	if r.Acked > l.sent {
		if !l.uncounted {
			return Response{}, false, errorf(KindProtocol,
				"the server acknowledges record %d, and %d were sent", r.Acked, l.sent)
		}
		l.sent = r.Acked
	}
	bad := l.reject(r.Rejected)
	progress := r.Acked > l.acked
	if progress {
		l.acked = r.Acked
		l.settle()
	}
	return Response{Acked: l.acked, Rejected: bad}, progress || len(bad) > 0, nil
}

// reject adds to the bad ids and returns those that are new, so that each record
// counts once. Ids that were not sent are left out.
//
// The published receiver does two things that a ledger has to tell apart. It
// begins a range one record too low, at the last one it acknowledged: a range
// that ends above the acknowledged id therefore counts from there. And it
// acknowledges past records that it reports bad later: a range that ends at or
// below the acknowledged id counts as a whole.
func (l *sendLedger) reject(ranges []IDRange) idRanges {
	if len(ranges) == 0 {
		return nil
	}
	bad := make([]IDRange, len(ranges))
	for i, r := range ranges {
		bad[i] = IDRange{max(r.From, 1), min(r.To, l.sent)}
		if bad[i].To > l.acked {
			bad[i].From = max(bad[i].From, l.acked+1)
		}
	}
	news := normalize(bad)
	if len(news) == 0 {
		return nil
	}
	near := l.rejected.above(news[0].From - 1)
	news = news.without(l.rejected[near:])
	// The range before may end where a new one begins.
	at := max(0, near-1)
	tail := normalize(slices.Concat(l.rejected[at:], news))
	l.rejected = append(l.rejected[:at], tail...)
	if over := len(l.rejected) - maxRejected; over > 0 {
		l.rejected = slices.Delete(l.rejected, 0, over)
	}
	return news
}

// settle forgets the chunks that are acknowledged to their end.
func (l *sendLedger) settle() {
	for l.head < len(l.chunks) && l.chunks[l.head].last <= l.acked {
		l.bytes -= int64(l.chunks[l.head].bytes)
		l.head++
	}
	if l.head > len(l.chunks)/2 {
		l.chunks = slices.Delete(l.chunks, 0, l.head)
		l.head = 0
	}
}

// unacked returns what was sent and not acknowledged. A chunk counts until its
// last record is acknowledged.
func (l *sendLedger) unacked() (bytes int64, records uint64, chunks int) {
	return l.bytes, l.sent - l.acked, len(l.chunks) - l.head
}

// maxResponseRanges is how many ranges one response holds at most, so that it
// stays far below the receive limit of any client.
const maxResponseRanges = 4096

// recvLedger is the account of a receiver: which records are finished, and what
// of that the sender was not told yet.
type recvLedger struct {
	mark     uint64   // all ids up to it are finished
	told     uint64   // the id the sender was told last
	finished idRanges // above mark
	rejected idRanges // not told
}

// finish notes that the records of a range are accepted.
func (l *recvLedger) finish(r IDRange) {
	if r.From > r.To {
		return
	}
	// r.From-1 is beyond all ids for 0, which is the id of no record.
	if r.From > 0 && r.From-1 > l.mark {
		l.finished.add(r)
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

// reject notes that the records of a range are bad, and so finished. The sender
// is told with, not before, the acknowledgement that includes them.
func (l *recvLedger) reject(r IDRange) {
	r.From = max(r.From, 1)
	l.rejected.add(r)
	l.finish(r)
}

// ack notes that all records up to id are finished.
func (l *recvLedger) ack(id uint64) { l.finish(IDRange{0, id}) }

// acked returns the id up to which all records are finished.
func (l *recvLedger) acked() uint64 { return l.mark }

// ranges returns how many ranges the ledger has to remember.
func (l *recvLedger) ranges() int { return len(l.finished) + len(l.rejected) }

// pending says whether take has something to tell.
func (l *recvLedger) pending() bool {
	return l.mark > l.told || len(l.rejected) > 0 && l.rejected[0].From <= l.mark
}

// take returns the next response to send, which tells everything since the last
// one unless that is too much for one message. pending says whether more is
// left.
func (l *recvLedger) take() (r Response, ok bool) {
	if !l.pending() {
		return Response{}, false
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

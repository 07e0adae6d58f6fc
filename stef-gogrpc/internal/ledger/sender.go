// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// maxRejected bounds the ranges of bad ids that a sender stores. Ranges that Answer
// still needs are kept even beyond the bound.
const maxRejected = 1 << 16

// Sender tracks the records of a sender: which records were sent, and which of them the server
// acknowledged or reported as bad. The number of unacknowledged chunks and maxRejected bound its
// size, even if the server is hostile.
type Sender struct {
	// The chunks from index head on are sent and not acknowledged, in order.
	chunks []sentChunk
	head   int
	bytes  int64

	sent, acked uint64
	// uncounted reports that chunks with an unknown number of records were sent,
	// so ids that are too high cannot be detected.
	uncounted bool
	rejected  wire.Ranges

	// held reports that Answer will be called for all ids above settled.
	held    bool
	settled uint64
}

// News is the new information in a response.
type News struct {
	wire.Response
	// Progress reports that Acked is higher than before.
	Progress bool
	// Late is how many of the rejected ids were settled before, see Settle.
	Late uint64
}

type sentChunk struct {
	last  uint64
	bytes int
}

// Send notes a chunk that ends with record last.
func (l *Sender) Send(last uint64, bytes int) error {
	if last < l.sent {
		return fmt.Errorf("stefgrpc: a chunk ends with record %d, but an earlier chunk ended with record %d: a stream carries the records of one writer", last, l.sent)
	}
	l.sent = last
	if last <= l.acked {
		return nil // headers, or a frame without records: they are never acknowledged
	}
	l.bytes += int64(bytes)
	if n := len(l.chunks); n > l.head && l.chunks[n-1].last == last {
		l.chunks[n-1].bytes += bytes
		return nil
	}
	l.chunks = append(l.chunks, sentChunk{last, bytes})
	return nil
}

// Unsend reverts the last call of Send, whose chunk was not sent. before is the result of Sent before that
// call, and bytes is the size of the chunk.
func (l *Sender) Unsend(before uint64, bytes int) {
	if n := len(l.chunks); n > l.head && l.chunks[n-1].last == l.sent && l.sent > l.acked {
		l.bytes -= int64(bytes)
		if l.chunks[n-1].bytes -= bytes; l.sent > before {
			l.chunks = l.chunks[:n-1]
		}
	}
	l.sent = min(l.sent, before)
}

// SendUncounted notes that a chunk with an unknown number of records was sent.
func (l *Sender) SendUncounted() { l.uncounted = true }

// Receive processes a response and returns the new information in it. ok reports
// whether the response has new information. Receive returns an error if the server
// acknowledges records that were not sent.
//
// spec: #record-ids
func (l *Sender) Receive(r wire.Response) (news News, ok bool, err error) {
	if r.Acked > l.sent {
		if !l.uncounted {
			return News{}, false, fmt.Errorf("the server acknowledged record %d, but only %d records were sent", r.Acked, l.sent)
		}
		l.sent = r.Acked
	}
	bad := l.reject(r.Rejected)
	if news.Progress = r.Acked > l.acked; news.Progress {
		l.acked = r.Acked
		l.settle()
	}
	news.Acked, news.Rejected = l.acked, bad
	for _, x := range bad {
		news.Late += wire.IDRange{From: x.From, To: min(x.To, l.settled)}.Len()
	}
	return news, news.Progress || len(bad) > 0, nil
}

// reject adds ids to the bad ids and returns only the new bad ids, so that each record
// counts once. It ignores ids that were not sent.
//
// The ledger must distinguish two behaviours of the receiver of the reference implementation:
//   - It begins a range one record too low, at the last record it acknowledged. So if a
//     range ends above the acknowledged id, only its ids above the acknowledged id count.
//   - It acknowledges records and reports them as bad later. So if a range ends at or
//     below the acknowledged id, all ids of the range count.
func (l *Sender) reject(ranges []wire.IDRange) wire.Ranges {
	if len(ranges) == 0 {
		return nil
	}
	bad := make([]wire.IDRange, len(ranges))
	for i, r := range ranges {
		bad[i] = wire.IDRange{From: max(r.From, 1), To: min(r.To, l.sent)}
		if bad[i].To > l.acked {
			bad[i].From = max(bad[i].From, l.acked+1)
		}
	}
	news := wire.Normalize(bad)
	if len(news) == 0 {
		return nil
	}
	near := l.rejected.Above(news[0].From - 1)
	news = news.Without(l.rejected[near:])
	// The previous range may end where a new range begins.
	at := max(0, near-1)
	tail := wire.Normalize(slices.Concat(l.rejected[at:], news))
	l.rejected = append(l.rejected[:at], tail...)
	l.truncateRejected(0)
	return news
}

// truncateRejected drops the first ranges of bad ids until maxRejected remain. It keeps the ranges
// that Answer still needs. If it could drop only fewer than n ranges, it drops nothing.
func (l *Sender) truncateRejected(n int) {
	over := len(l.rejected) - maxRejected
	if l.held {
		over = min(over, l.rejected.Above(l.settled))
	}
	if over > 0 && over >= n {
		l.rejected = slices.Delete(l.rejected, 0, over)
	}
}

// settle removes the chunks whose records are all acknowledged.
func (l *Sender) settle() {
	for l.head < len(l.chunks) && l.chunks[l.head].last <= l.acked {
		l.bytes -= int64(l.chunks[l.head].bytes)
		l.head++
	}
	if l.head > len(l.chunks)/2 {
		l.chunks = slices.Delete(l.chunks, 0, l.head)
		l.head = 0
	}
}

// Unacked returns the bytes, records and chunks that were sent and not acknowledged. A
// chunk counts until its last record is acknowledged.
func (l *Sender) Unacked() (bytes int64, records uint64, chunks int) {
	return l.bytes, l.sent - l.acked, len(l.chunks) - l.head
}

// Larger returns the records of the first unacknowledged chunk with more bytes than the argument.
// It returns the zero value if there is none.
func (l *Sender) Larger(bytes int) wire.IDRange {
	from := l.acked + 1
	for _, c := range l.chunks[l.head:] {
		if c.bytes > bytes {
			return wire.IDRange{From: from, To: c.last}
		}
		from = c.last + 1
	}
	return wire.IDRange{}
}

// Sent returns the id of the last record that was sent, or is being sent.
func (l *Sender) Sent() uint64 { return l.sent }

// Acked returns the id up to which all records are acknowledged.
func (l *Sender) Acked() uint64 { return l.acked }

// Uncounted reports whether SendUncounted was called.
func (l *Sender) Uncounted() bool { return l.uncounted }

// Rejected returns the bad ids. The slice belongs to the ledger.
func (l *Sender) Rejected() wire.Ranges { return l.rejected }

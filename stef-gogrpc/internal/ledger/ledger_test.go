// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

type (
	IDRange  = wire.IDRange
	Response = wire.Response
	idRanges = wire.Ranges
)

const maxID = math.MaxUint64

func TestSendLedger(t *testing.T) {
	var l Sender
	state := func(wants string) {
		t.Helper()
		bytes, records, chunks := l.Unacked()
		require.Equal(t, wants, fmt.Sprintf("sent %d acked %d unacked %d bytes %d records %d chunks",
			l.sent, l.acked, bytes, records, chunks))
	}
	receive := func(wants *Response, r Response) {
		t.Helper()
		news, ok, err := l.Receive(r)
		require.NoError(t, err)
		require.Equal(t, wants != nil, ok)
		if wants != nil {
			require.Equal(t, wants.Acked, news.Acked)
			require.Equal(t, idRanges(wants.Rejected), idRanges(news.Rejected))
		}
	}
	require.NoError(t, l.Send(0, 7))
	require.NoError(t, l.Send(0, 30))
	state("sent 0 acked 0 unacked 0 bytes 0 records 0 chunks")
	require.NoError(t, l.Send(10, 100))
	require.NoError(t, l.Send(10, 5)) // a frame without records
	require.NoError(t, l.Send(15, 50))
	state("sent 15 acked 0 unacked 155 bytes 15 records 2 chunks")
	require.Error(t, l.Send(14, 1))

	receive(nil, Response{})
	receive(&Response{Acked: 9}, Response{Acked: 9})
	state("sent 15 acked 9 unacked 155 bytes 6 records 2 chunks")
	receive(nil, Response{Acked: 3})
	receive(&Response{Acked: 10}, Response{Acked: 10})
	state("sent 15 acked 10 unacked 50 bytes 5 records 1 chunks")
	receive(&Response{Acked: 15}, Response{Acked: 15})
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")
	require.NoError(t, l.Send(15, 9))
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")

	_, _, err := l.Receive(Response{Acked: 16})
	require.ErrorContains(t, err, "record 16, but only 15 records were sent")
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")
}

func TestSendLedgerRejected(t *testing.T) {
	f := func(wants idRanges, responses ...Response) {
		t.Helper()
		var l Sender
		require.NoError(t, l.Send(100, 1))
		var sum idRanges
		var records uint64
		for _, r := range responses {
			news, ok, err := l.Receive(r)
			require.NoError(t, err)
			require.True(t, ok || len(news.Rejected) == 0)
			for _, bad := range news.Rejected {
				sum.Add(bad)
				records += bad.Len()
			}
		}
		require.Equal(t, wants, sum)
		require.Equal(t, wants, l.rejected)
		for _, bad := range wants {
			records -= bad.Len()
		}
		require.Zero(t, records, "some records are reported twice")
	}
	f(nil, Response{Acked: 5})
	f(idRanges{{From: 2, To: 5}}, Response{Acked: 5, Rejected: []IDRange{{From: 2, To: 5}}})
	f(idRanges{{From: 1, To: 5}}, Response{Acked: 5, Rejected: []IDRange{{From: 0, To: 5}}})                     // there is no id 0
	f(idRanges{{From: 90, To: 100}}, Response{Acked: 100, Rejected: []IDRange{{From: 90, To: maxID}}})           // ids over 100 were not sent
	f(nil, Response{Acked: 100, Rejected: []IDRange{{From: 101, To: 200}, {From: 7, To: 3}, {}}})                //
	f(idRanges{{From: 4, To: 9}}, Response{Acked: 3}, Response{Acked: 9, Rejected: []IDRange{{From: 3, To: 9}}}) // begins one id too low
	// Records are reported bad after they were acknowledged. Each record counts once.
	f(idRanges{{From: 1, To: 3}}, Response{Acked: 3, Rejected: []IDRange{{From: 2, To: 3}}}, Response{Acked: 9, Rejected: []IDRange{{From: 1, To: 3}}})
	f(idRanges{{From: 2, To: 3}}, Response{Acked: 3}, Response{Acked: 3, Rejected: []IDRange{{From: 2, To: 3}}}, Response{Acked: 9, Rejected: []IDRange{{From: 2, To: 3}}})
	f(idRanges{{From: 1, To: 2}, {From: 5, To: 9}}, Response{Acked: 5, Rejected: []IDRange{{From: 5, To: 5}}}, Response{Acked: 9, Rejected: []IDRange{{From: 1, To: 2}, {From: 6, To: 9}}})
	f(idRanges{{From: 100, To: 100}}, Response{Acked: 100}, Response{Rejected: []IDRange{{From: 100, To: maxID}}})
	f(idRanges{{From: 2, To: 9}}, Response{Acked: 3, Rejected: []IDRange{{From: 2, To: 3}}}, Response{Acked: 9, Rejected: []IDRange{{From: 3, To: 9}}})
	f(idRanges{{From: 2, To: 9}}, Response{Acked: 1, Rejected: []IDRange{{From: 4, To: 7}}}, Response{Acked: 9, Rejected: []IDRange{{From: 2, To: 9}}})
	f(idRanges{{From: 2, To: 2}, {From: 4, To: 4}, {From: 6, To: 6}}, Response{Acked: 9, Rejected: []IDRange{{From: 6, To: 6}, {From: 4, To: 4}, {From: 2, To: 2}, {From: 4, To: 4}}})
	f(idRanges{{From: 2, To: 8}}, Response{Acked: 9, Rejected: []IDRange{{From: 6, To: 8}, {From: 2, To: 5}}})
	f(idRanges{{From: 4, To: 5}}, Response{Rejected: []IDRange{{From: 4, To: 5}}}, Response{Rejected: []IDRange{{From: 4, To: 5}}}, Response{Acked: 5})
}

// TestSendLedgerIsBounded: the memory of a client's ledger is bounded, even if the server reports bad
// ids forever.
func TestSendLedgerIsBounded(t *testing.T) {
	var l Sender
	for i := range uint64(2 * maxRejected / 1000) {
		require.NoError(t, l.Send((i+1)*2000, 100))
		var r Response
		for j := range uint64(1000) {
			r.Rejected = append(r.Rejected, IDRange{From: i*2000 + 2*j + 1, To: i*2000 + 2*j + 1})
		}
		r.Acked = (i + 1) * 2000
		news, ok, err := l.Receive(r)
		require.NoError(t, err)
		require.True(t, ok)
		require.Len(t, news.Rejected, 1000)
		require.LessOrEqual(t, cap(l.chunks), 4)
	}
	require.Len(t, l.rejected, maxRejected)
	require.Equal(t, l.sent-1, l.rejected[maxRejected-1].To)

	// A response that rejects 2^18 ranges of ids. It has about 4 MiB, the largest message that gRPC
	// accepts by default. The ranges are in descending order: a ledger that inserted each range into
	// its sorted list would have to move all earlier ranges each time.
	l = Sender{}
	require.NoError(t, l.Send(1<<40, 1))
	r := Response{Rejected: make([]IDRange, 1<<18)}
	for i := range uint64(1 << 18) {
		r.Rejected[i] = IDRange{From: 1<<40 - 2*i, To: 1<<40 - 2*i}
	}
	_, _, err := l.Receive(r)
	require.NoError(t, err)
	require.Len(t, l.rejected, maxRejected)
}

func TestSendLedgerUncounted(t *testing.T) {
	var l Sender
	require.NoError(t, l.Send(0, 7))
	l.SendUncounted()
	news, ok, err := l.Receive(Response{Acked: 70, Rejected: []IDRange{{From: 60, To: 90}}})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, Response{Acked: 70, Rejected: []IDRange{{From: 60, To: 70}}}, Response{Acked: news.Acked, Rejected: news.Rejected})
	_, records, _ := l.Unacked()
	require.Zero(t, records)
}

func TestRecvLedger(t *testing.T) {
	var l Receiver
	take := func(acked uint64, rejected ...IDRange) {
		t.Helper()
		require.True(t, l.Pending())
		r, ok := l.Take()
		require.True(t, ok)
		require.Equal(t, Response{Acked: acked, Rejected: rejected}, r)
	}
	none := func() {
		t.Helper()
		require.False(t, l.Pending())
		_, ok := l.Take()
		require.False(t, ok)
	}
	none()
	l.Ack(0)
	none()
	l.Ack(3)
	l.Ack(7)
	l.Ack(5)
	require.EqualValues(t, 7, l.Acked())
	take(7)
	none()

	l.Finish(IDRange{From: 10, To: 12}) // out of order
	l.Finish(IDRange{From: 14, To: 14})
	none()
	l.Finish(IDRange{From: 8, To: 9})
	take(12)
	l.Finish(IDRange{From: 13, To: 13})
	take(14)

	l.Reject(IDRange{From: 17, To: 18}) // is reported after the ids below 17 are finished
	none()
	require.Equal(t, 1, l.Ranges())
	l.Finish(IDRange{From: 15, To: 16})
	take(18, IDRange{From: 17, To: 18})
	require.Zero(t, l.Ranges())

	l.Reject(IDRange{From: 20, To: 21})
	l.Reject(IDRange{From: 19, To: 19})
	take(21, IDRange{From: 19, To: 21})
	l.Reject(IDRange{From: 5, To: 6}) // already acknowledged, but still reported
	take(21, IDRange{From: 5, To: 6})
	l.Reject(IDRange{From: 25, To: 30})
	l.Ack(27)
	take(30, IDRange{From: 25, To: 30})
	l.Reject(IDRange{From: 31, To: 33})
	l.Reject(IDRange{From: 29, To: 30}) // a client ignores acknowledged ids in a range that ends above them
	take(33, IDRange{From: 29, To: 30}, IDRange{From: 31, To: 33})
	l.Reject(IDRange{From: 0, To: 0})
	l.Finish(IDRange{From: 9, To: 2})
	l.Reject(IDRange{From: 9, To: 2})
	none()
	l.Ack(maxID)
	l.Reject(IDRange{From: maxID, To: maxID})
	take(maxID, IDRange{From: maxID, To: maxID})
	none()
}

// TestRecvLedgerCuts: bad ranges that do not fit into one response are sent in the next responses.
// No bad id is acknowledged before it is reported.
func TestRecvLedgerCuts(t *testing.T) {
	const bad = 2*maxResponseRanges + 10
	var receiver Receiver
	var sender Sender
	require.NoError(t, sender.Send(2*bad, 1))
	for i := range uint64(bad) {
		receiver.Reject(IDRange{From: 2*i + 2, To: 2*i + 2})
	}
	receiver.Ack(2 * bad)
	messages := 0
	for receiver.Pending() {
		r, ok := receiver.Take()
		require.True(t, ok)
		require.LessOrEqual(t, len(r.Rejected), maxResponseRanges)
		require.Less(t, proto.Size(wire.ServerMessage{Response: &r}.Proto()), 1<<20)
		_, ok, err := sender.Receive(r)
		require.NoError(t, err)
		require.True(t, ok)
		messages++
	}
	require.Equal(t, 3, messages)
	require.EqualValues(t, 2*bad, sender.acked)
	require.Len(t, sender.rejected, bad)

	// These ids are reported as bad after they were acknowledged. The acknowledged id in the responses
	// does not decrease.
	for i := range uint64(bad) {
		receiver.Reject(IDRange{From: 2*i + 1, To: 2*i + 1})
	}
	for receiver.Pending() {
		r, _ := receiver.Take()
		require.EqualValues(t, 2*bad, r.Acked)
	}

	// The last range of a full response has acknowledged and new ids, so it needs two ranges.
	receiver = Receiver{}
	receiver.Ack(2 * maxResponseRanges)
	_, _ = receiver.Take()
	for i := range uint64(maxResponseRanges) {
		receiver.Reject(IDRange{From: 2*i + 2, To: 2*i + 2})
	}
	receiver.Reject(IDRange{From: 2*maxResponseRanges + 1, To: 2*maxResponseRanges + 1})
	r, _ := receiver.Take()
	require.Len(t, r.Rejected, maxResponseRanges-1)
	r, _ = receiver.Take()
	require.Equal(t, wire.Response{Acked: 2*maxResponseRanges + 1, Rejected: wire.Ranges{{From: 2 * maxResponseRanges, To: 2 * maxResponseRanges},
		{From: 2*maxResponseRanges + 1, To: 2*maxResponseRanges + 1}}}, r)
}

// TestLedgers connects the ledgers of a client and of a server. Records finish in any order. The
// handler accepts some of them and rejects them later.
func TestLedgers(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var sender Sender
		var receiver Receiver
		var open, accepted, bad, told idRanges
		var next uint64
		for step := range 200 {
			switch {
			case rnd.IntN(3) == 0 && step < 150: // send
				n := 1 + rnd.Uint64N(5)
				require.NoError(t, sender.Send(next+n, int(n)))
				open = append(open, IDRange{From: next + 1, To: next + n})
				next += n
			case rnd.IntN(20) == 0 && len(accepted) > 0:
				r := accepted[rnd.IntN(len(accepted))]
				receiver.Reject(r)
				bad.Add(r)
				accepted = nil // not again: a receiver does not know what it has reported
			case rnd.IntN(2) == 0 && len(open) > 0: // finish
				i := rnd.IntN(len(open))
				if rnd.IntN(4) > 0 {
					receiver.Finish(open[i])
					accepted = append(accepted, open[i])
				} else {
					receiver.Reject(open[i])
					bad.Add(open[i])
				}
				open = append(open[:i:i], open[i+1:]...)
			default: // respond
				r, ok := receiver.Take()
				if !ok {
					continue
				}
				news, _, err := sender.Receive(r)
				require.NoError(t, err)
				for _, x := range news.Rejected {
					require.False(t, has(told, x.From), "reported twice")
					told.Add(x)
				}
			}
		}
		for _, r := range open {
			receiver.Finish(r)
		}
		for receiver.Pending() {
			r, _ := receiver.Take()
			_, _, err := sender.Receive(r)
			require.NoError(t, err)
		}
		require.Equal(t, next, sender.acked)
		require.Equal(t, bad, sender.rejected)
		bytes, records, chunks := sender.Unacked()
		require.Zero(t, uint64(bytes)+records+uint64(chunks))
		require.Zero(t, receiver.Ranges())
	}
}

func has(s idRanges, id uint64) bool {
	for _, r := range s {
		if r.From <= id && id <= r.To {
			return true
		}
	}
	return false
}

// TestUnsend: Unsend reverts the counts of a chunk that could not be sent.
func TestUnsend(t *testing.T) {
	var l Sender
	require.NoError(t, l.Send(0, 10)) // headers
	require.NoError(t, l.Send(5, 100))
	require.NoError(t, l.Send(5, 7))
	l.Unsend(5, 7) // a chunk without further records
	bytes, records, chunks := l.Unacked()
	require.Equal(t, []any{int64(100), uint64(5), 1, uint64(5)}, []any{bytes, records, chunks, l.Sent()})
	require.NoError(t, l.Send(9, 50))
	l.Unsend(5, 50)
	bytes, records, chunks = l.Unacked()
	require.Equal(t, []any{int64(100), uint64(5), 1, uint64(5)}, []any{bytes, records, chunks, l.Sent()})
	_, _, err := l.Receive(wire.Response{Acked: 5})
	require.NoError(t, err)
	require.NoError(t, l.Send(6, 50))
	l.Unsend(5, 50)
	bytes, records, chunks = l.Unacked()
	require.Equal(t, []any{int64(0), uint64(0), 0}, []any{bytes, records, chunks})
}

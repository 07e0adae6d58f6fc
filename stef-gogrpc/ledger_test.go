// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxID = math.MaxUint64

func TestRanges(t *testing.T) {
	f := func(wants idRanges, ranges ...IDRange) {
		t.Helper()
		var added idRanges
		for _, r := range ranges {
			added.add(r)
		}
		require.Equal(t, wants, added)
		if set := normalize(append([]IDRange(nil), ranges...)); len(wants) > 0 {
			require.Equal(t, wants, set)
		} else {
			require.Empty(t, set)
		}
	}
	f(nil)
	f(nil, IDRange{2, 1}, IDRange{maxID, 0})
	f(idRanges{{1, 3}}, IDRange{1, 1}, IDRange{3, 3}, IDRange{2, 2})
	f(idRanges{{1, 2}, {4, 5}}, IDRange{4, 5}, IDRange{1, 2})
	f(idRanges{{1, 9}}, IDRange{3, 4}, IDRange{6, 7}, IDRange{1, 9})
	f(idRanges{{1, 9}}, IDRange{1, 9}, IDRange{3, 4}, IDRange{6, 7})
	f(idRanges{{0, maxID}}, IDRange{0, 5}, IDRange{7, maxID}, IDRange{6, 6})
	f(idRanges{{5, maxID}}, IDRange{7, maxID}, IDRange{maxID, maxID}, IDRange{5, 6})
	f(idRanges{{1, 1}, {maxID, maxID}}, IDRange{maxID, maxID}, IDRange{1, 1})
}

// TestRangesAreSets compares with sets that need no thought.
func TestRangesAreSets(t *testing.T) {
	const ids = 40
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var sets [2]idRanges
		var plain [2][ids]bool
		for i := range sets {
			for range rnd.IntN(8) {
				from := rnd.Uint64N(ids)
				r := IDRange{from, min(ids-1, from+rnd.Uint64N(6))}
				sets[i].add(r)
				for id := r.From; id <= r.To; id++ {
					plain[i][id] = true
				}
			}
		}
		diff := sets[0].without(sets[1])
		above := rnd.Uint64N(ids)
		at := sets[0].above(above)
		for id := range uint64(ids) {
			require.Equal(t, plain[0][id], has(sets[0], id))
			require.Equal(t, plain[0][id] && !plain[1][id], has(diff, id))
			if id > above {
				require.Equal(t, has(sets[0], id), has(sets[0][at:], id))
			}
		}
		for _, set := range append(sets[:], diff) {
			for i := 1; i < len(set); i++ {
				require.False(t, touches(set[i-1], set[i]), "%v", set)
			}
		}
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

func TestSendLedger(t *testing.T) {
	var l sendLedger
	state := func(wants string) {
		t.Helper()
		bytes, records, chunks := l.unacked()
		require.Equal(t, wants, fmt.Sprintf("sent %d acked %d unacked %d bytes %d records %d chunks",
			l.sent, l.acked, bytes, records, chunks))
	}
	receive := func(wants *Response, r Response) {
		t.Helper()
		news, ok, err := l.receive(r)
		require.NoError(t, err)
		require.Equal(t, wants != nil, ok)
		if wants != nil {
			require.Equal(t, wants.Acked, news.Acked)
			require.Equal(t, idRanges(wants.Rejected), idRanges(news.Rejected))
		}
	}
	require.NoError(t, l.send(0, 7))
	require.NoError(t, l.send(0, 30))
	state("sent 0 acked 0 unacked 0 bytes 0 records 0 chunks")
	require.NoError(t, l.send(10, 100))
	require.NoError(t, l.send(10, 5)) // a frame without records
	require.NoError(t, l.send(15, 50))
	state("sent 15 acked 0 unacked 155 bytes 15 records 2 chunks")
	require.Error(t, l.send(14, 1))

	receive(nil, Response{})
	receive(&Response{Acked: 9}, Response{Acked: 9})
	state("sent 15 acked 9 unacked 155 bytes 6 records 2 chunks")
	receive(nil, Response{Acked: 3})
	receive(&Response{Acked: 10}, Response{Acked: 10})
	state("sent 15 acked 10 unacked 50 bytes 5 records 1 chunks")
	receive(&Response{Acked: 15}, Response{Acked: 15})
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")
	require.NoError(t, l.send(15, 9))
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")

	_, _, err := l.receive(Response{Acked: 16})
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, KindProtocol, e.Kind)
	require.ErrorContains(t, err, "record 16, and 15 were sent")
	state("sent 15 acked 15 unacked 0 bytes 0 records 0 chunks")
}

func TestSendLedgerRejected(t *testing.T) {
	f := func(wants idRanges, responses ...Response) {
		t.Helper()
		var l sendLedger
		require.NoError(t, l.send(100, 1))
		var sum idRanges
		var records uint64
		for _, r := range responses {
			news, ok, err := l.receive(r)
			require.NoError(t, err)
			require.True(t, ok || len(news.Rejected) == 0)
			for _, bad := range news.Rejected {
				sum.add(bad)
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
	f(idRanges{{2, 5}}, Response{Acked: 5, Rejected: []IDRange{{2, 5}}})
	f(idRanges{{1, 5}}, Response{Acked: 5, Rejected: []IDRange{{0, 5}}})                     // no record has the id 0
	f(idRanges{{90, 100}}, Response{Acked: 100, Rejected: []IDRange{{90, maxID}}})           // nor one that was not sent
	f(nil, Response{Acked: 100, Rejected: []IDRange{{101, 200}, {7, 3}, {}}})                //
	f(idRanges{{4, 9}}, Response{Acked: 3}, Response{Acked: 9, Rejected: []IDRange{{3, 9}}}) // one too low
	// Reported after they were acknowledged, and once.
	f(idRanges{{1, 3}}, Response{Acked: 3, Rejected: []IDRange{{2, 3}}}, Response{Acked: 9, Rejected: []IDRange{{1, 3}}})
	f(idRanges{{2, 3}}, Response{Acked: 3}, Response{Acked: 3, Rejected: []IDRange{{2, 3}}}, Response{Acked: 9, Rejected: []IDRange{{2, 3}}})
	f(idRanges{{1, 2}, {5, 9}}, Response{Acked: 5, Rejected: []IDRange{{5, 5}}}, Response{Acked: 9, Rejected: []IDRange{{1, 2}, {6, 9}}})
	f(idRanges{{100, 100}}, Response{Acked: 100}, Response{Rejected: []IDRange{{100, maxID}}})
	f(idRanges{{2, 9}}, Response{Acked: 3, Rejected: []IDRange{{2, 3}}}, Response{Acked: 9, Rejected: []IDRange{{3, 9}}})
	f(idRanges{{2, 9}}, Response{Acked: 1, Rejected: []IDRange{{4, 7}}}, Response{Acked: 9, Rejected: []IDRange{{2, 9}}})
	f(idRanges{{2, 2}, {4, 4}, {6, 6}}, Response{Acked: 9, Rejected: []IDRange{{6, 6}, {4, 4}, {2, 2}, {4, 4}}})
	f(idRanges{{2, 8}}, Response{Acked: 9, Rejected: []IDRange{{6, 8}, {2, 5}}})
	f(idRanges{{4, 5}}, Response{Rejected: []IDRange{{4, 5}}}, Response{Rejected: []IDRange{{4, 5}}}, Response{Acked: 5})
}

// TestSendLedgerIsBounded: a server can report bad ids for ever.
func TestSendLedgerIsBounded(t *testing.T) {
	var l sendLedger
	for i := range uint64(2 * maxRejected / 1000) {
		require.NoError(t, l.send((i+1)*2000, 100))
		var r Response
		for j := range uint64(1000) {
			r.Rejected = append(r.Rejected, IDRange{i*2000 + 2*j + 1, i*2000 + 2*j + 1})
		}
		r.Acked = (i + 1) * 2000
		news, ok, err := l.receive(r)
		require.NoError(t, err)
		require.True(t, ok)
		require.Len(t, news.Rejected, 1000)
		require.LessOrEqual(t, cap(l.chunks), 4)
	}
	require.Len(t, l.rejected, maxRejected)
	require.Equal(t, l.sent-1, l.rejected[maxRejected-1].To)

	// The longest message that gRPC receives by default, in the worst order.
	l = sendLedger{}
	require.NoError(t, l.send(1<<40, 1))
	r := Response{Rejected: make([]IDRange, 1<<18)}
	for i := range uint64(1 << 18) {
		r.Rejected[i] = IDRange{1<<40 - 2*i, 1<<40 - 2*i}
	}
	_, _, err := l.receive(r)
	require.NoError(t, err)
	require.Len(t, l.rejected, maxRejected)
}

func TestSendLedgerUncounted(t *testing.T) {
	var l sendLedger
	require.NoError(t, l.send(0, 7))
	l.sendUncounted()
	news, ok, err := l.receive(Response{Acked: 70, Rejected: []IDRange{{60, 90}}})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, Response{Acked: 70, Rejected: []IDRange{{60, 70}}}, Response{news.Acked, news.Rejected})
	_, records, _ := l.unacked()
	require.Zero(t, records)
}

func TestRecvLedger(t *testing.T) {
	var l recvLedger
	take := func(acked uint64, rejected ...IDRange) {
		t.Helper()
		require.True(t, l.pending())
		r, ok := l.take()
		require.True(t, ok)
		require.Equal(t, Response{Acked: acked, Rejected: rejected}, r)
	}
	none := func() {
		t.Helper()
		require.False(t, l.pending())
		_, ok := l.take()
		require.False(t, ok)
	}
	none()
	l.ack(0)
	none()
	l.ack(3)
	l.ack(7)
	l.ack(5)
	require.EqualValues(t, 7, l.acked())
	take(7)
	none()

	l.finish(IDRange{10, 12}) // out of order
	l.finish(IDRange{14, 14})
	none()
	l.finish(IDRange{8, 9})
	take(12)
	l.finish(IDRange{13, 13})
	take(14)

	l.reject(IDRange{17, 18}) // not before the ids below it are finished
	none()
	require.Equal(t, 2, l.ranges())
	l.finish(IDRange{15, 16})
	take(18, IDRange{17, 18})
	require.Zero(t, l.ranges())

	l.reject(IDRange{20, 21})
	l.reject(IDRange{19, 19})
	take(21, IDRange{19, 21})
	l.reject(IDRange{5, 6}) // too late: said all the same
	take(21, IDRange{5, 6})
	l.reject(IDRange{25, 30})
	l.ack(27)
	take(30, IDRange{25, 30})
	l.reject(IDRange{0, 0})
	l.finish(IDRange{9, 2})
	l.reject(IDRange{9, 2})
	none()
	l.ack(maxID)
	l.reject(IDRange{maxID, maxID})
	take(maxID, IDRange{maxID, maxID})
	none()
}

// TestRecvLedgerCuts: what does not fit one response comes in the next ones, and
// no id is acknowledged before it is reported.
func TestRecvLedgerCuts(t *testing.T) {
	const bad = 2*maxResponseRanges + 10
	var receiver recvLedger
	var sender sendLedger
	require.NoError(t, sender.send(2*bad, 1))
	for i := range uint64(bad) {
		receiver.reject(IDRange{2*i + 2, 2*i + 2})
	}
	receiver.ack(2 * bad)
	messages := 0
	for receiver.pending() {
		r, ok := receiver.take()
		require.True(t, ok)
		require.LessOrEqual(t, len(r.Rejected), maxResponseRanges)
		m := serverMessage{response: &r}
		require.Less(t, m.size(), 1<<20)
		_, ok, err := sender.receive(r)
		require.NoError(t, err)
		require.True(t, ok)
		messages++
	}
	require.Equal(t, 3, messages)
	require.EqualValues(t, 2*bad, sender.acked)
	require.Len(t, sender.rejected, bad)

	// Reported after they were acknowledged, which is too late to be of use: what
	// is acknowledged does not go back for it.
	for i := range uint64(bad) {
		receiver.reject(IDRange{2*i + 1, 2*i + 1})
	}
	for receiver.pending() {
		r, _ := receiver.take()
		require.EqualValues(t, 2*bad, r.Acked)
	}
}

// TestLedgers has both ends talk about records that finish in any order.
func TestLedgers(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var sender sendLedger
		var receiver recvLedger
		var open, bad, told idRanges
		var next uint64
		for step := range 200 {
			switch {
			case rnd.IntN(3) == 0 && step < 150: // send
				n := 1 + rnd.Uint64N(5)
				require.NoError(t, sender.send(next+n, int(n)))
				open = append(open, IDRange{next + 1, next + n})
				next += n
			case rnd.IntN(2) == 0 && len(open) > 0: // finish
				i := rnd.IntN(len(open))
				if rnd.IntN(4) > 0 {
					receiver.finish(open[i])
				} else {
					receiver.reject(open[i])
					bad.add(open[i])
				}
				open = append(open[:i:i], open[i+1:]...)
			default: // respond
				r, ok := receiver.take()
				if !ok {
					continue
				}
				news, _, err := sender.receive(r)
				require.NoError(t, err)
				for _, x := range news.Rejected {
					require.False(t, has(told, x.From), "reported twice")
					told.add(x)
				}
			}
		}
		for _, r := range open {
			receiver.finish(r)
		}
		for receiver.pending() {
			r, _ := receiver.take()
			_, _, err := sender.receive(r)
			require.NoError(t, err)
		}
		require.Equal(t, next, sender.acked)
		require.Equal(t, bad, sender.rejected)
		bytes, records, chunks := sender.unacked()
		require.Zero(t, uint64(bytes)+records+uint64(chunks))
		require.Zero(t, receiver.ranges())
	}
}

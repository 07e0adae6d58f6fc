// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked returns the ledger of a client that has sent 30 records. The first 10 are settled: their
// batch has its result. Then the ledger receives the responses.
func asked(t *testing.T, responses ...Response) *Sender {
	t.Helper()
	l := new(Sender)
	l.Hold()
	require.NoError(t, l.Send(30, 1))
	l.Settle(1, 10)
	for _, r := range responses {
		_, _, err := l.Receive(r)
		require.NoError(t, err)
	}
	return l
}

func TestAnswer(t *testing.T) {
	// A batch with the records 11 to 20.
	f := func(acked uint64, bad []IDRange, want Answer) {
		t.Helper()
		require.Equal(t, want, asked(t, Response{Rejected: bad}, Response{Acked: acked}).Answer(11, 20))
		require.Equal(t, want, asked(t, Response{Acked: acked, Rejected: bad}).Answer(11, 20))
	}
	f(0, nil, Answer{})
	f(10, nil, Answer{})
	f(11, nil, Answer{Acknowledged: 1})
	f(19, nil, Answer{Acknowledged: 9})
	f(20, nil, Answer{Acknowledged: 10, Complete: true})
	f(30, nil, Answer{Acknowledged: 10, Complete: true})
	f(0, []IDRange{{From: 1, To: 99}}, Answer{Rejected: []IDRange{{From: 1, To: 10}}, Bad: 10, Complete: true})
	f(15, []IDRange{{From: 11, To: 15}}, Answer{Acknowledged: 5, Rejected: []IDRange{{From: 1, To: 5}}, Bad: 5})
	f(15, []IDRange{{From: 14, To: 20}}, Answer{Acknowledged: 5, Rejected: []IDRange{{From: 4, To: 10}}, Bad: 7, Complete: true})
	f(15, []IDRange{{From: 20, To: math.MaxUint64}, {From: 12, To: 12}}, Answer{Acknowledged: 5, Rejected: []IDRange{{From: 2, To: 2}, {From: 10, To: 10}}, Bad: 2})

	// The last record of a batch is not known while the batch is being encoded.
	l := asked(t, Response{Acked: 14, Rejected: []IDRange{{From: 13, To: 14}}})
	require.Equal(t, Answer{Acknowledged: 4, Rejected: []IDRange{{From: 3, To: 4}}, Bad: 2}, l.Answer(11, 0))
}

func TestAnsweredUpTo(t *testing.T) {
	f := func(want, acked uint64) {
		t.Helper()
		l := asked(t, Response{Rejected: []IDRange{{From: 13, To: 14}}}, Response{Rejected: []IDRange{{From: 16, To: 18}}}, Response{Acked: acked})
		require.Equal(t, want, l.AnsweredUpTo())
	}
	f(11, 11)
	f(14, 12)
	f(18, 15)
	f(10, 10)
	f(30, 30)
}

// TestLate: if a server rejects a record after the batch of the record was settled, the record counts
// as late. Each record counts once.
func TestLate(t *testing.T) {
	l := asked(t, Response{Acked: 12})
	late := func(want uint64, bad ...IDRange) {
		t.Helper()
		news, _, err := l.Receive(Response{Acked: 12, Rejected: bad})
		require.NoError(t, err)
		require.Equal(t, want, news.Late)
	}
	late(3, IDRange{From: 2, To: 4})
	late(0, IDRange{From: 2, To: 4})
	late(2, IDRange{From: 1, To: 5})
	late(2, IDRange{From: 9, To: 12}) // 11 and 12 are acknowledged, but not settled
	late(0, IDRange{From: 13, To: 20})
	require.Equal(t, Answer{Acknowledged: 2, Rejected: []IDRange{{From: 1, To: 10}}, Bad: 10, Complete: true}, l.Answer(11, 20))
}

// TestHeldRangesAreKept: the answer for a batch has all bad ids of the batch, even if there are more
// than maxRejected.
func TestHeldRangesAreKept(t *testing.T) {
	const n = 3 * maxRejected
	l := new(Sender)
	l.Hold()
	require.NoError(t, l.Send(2*n, 1))
	var r Response
	for i := range uint64(n) {
		r.Rejected = append(r.Rejected, IDRange{From: 2*i + 1, To: 2*i + 1})
	}
	_, _, err := l.Receive(r)
	require.NoError(t, err)
	_, _, err = l.Receive(Response{Acked: 2 * n})
	require.NoError(t, err)
	require.EqualValues(t, n, l.Answer(1, 2*n).Bad)
	l.Settle(1, 2*n)
	require.Len(t, l.Rejected(), maxRejected)
}

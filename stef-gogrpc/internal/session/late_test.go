// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// interrupted is a ledger that receives a response of the server while the machine of the session
// calls the ledger. This can happen, because the machine runs on the goroutine that encodes, and
// another goroutine receives.
type interrupted struct {
	*ledger.Sender
	after func()
}

func (l *interrupted) Answer(first, last uint64) ledger.Answer {
	defer l.after()
	return l.Sender.Answer(first, last)
}

func (l *interrupted) Settle(first, last uint64) ledger.Answer {
	defer l.after()
	return l.Sender.Settle(first, last)
}

// TestLateRejectionMeanwhile: the server acknowledges a batch before the machine knows that the batch
// is encoded. It rejects two records of the batch while the machine settles the batch. Each of the
// two counts once.
func TestLateRejectionMeanwhile(t *testing.T) {
	var l ledger.Sender
	l.Hold()
	var news []ledger.News
	receive := func(r wire.Response) {
		n, ok, err := l.Receive(r)
		require.NoError(t, err)
		if ok {
			news = append(news, n)
		}
	}
	m := New(Config{Streams: 1, MaxUnackedBatches: 10, MaxUnackedBytes: -1, FlushInterval: -1, AckTimeout: time.Minute})
	x := NewStream("X", 0, &interrupted{&l, func() {
		receive(wire.Response{Acked: 10, Rejected: []wire.IDRange{{From: 3, To: 4}}})
	}})
	now := time.Unix(0, 0)
	var out Decisions
	m.Opened(x, nil, now, &out)
	m.Submit(&Batch{}, false, now, &out)
	b, _ := m.Take(x, now, &out)
	require.NoError(t, l.Send(10, 1))
	receive(wire.Response{Acked: 10})
	m.Encoded(x, b, Encoding{Last: 10, SentTo: 10}, now, &out)
	for _, n := range news {
		m.Answered(x, n, now, &out)
	}
	counts := m.Status().Counts
	require.EqualValues(t, 2, counts.RejectedRecords+counts.LateRecords, "%+v", counts)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBadRecords(t *testing.T) {
	// A batch with the records 11 to 20.
	f := func(acked uint64, bad []IDRange, want answer) {
		t.Helper()
		var b badRecords
		b.add(bad, 10)
		require.Equal(t, want, b.answerTo(11, 20, acked))
	}
	f(0, nil, answer{})
	f(10, nil, answer{})
	f(11, nil, answer{acknowledged: 1})
	f(19, nil, answer{acknowledged: 9})
	f(20, nil, answer{acknowledged: 10, whole: true})
	f(99, nil, answer{acknowledged: 10, whole: true})
	f(0, []IDRange{{1, 99}}, answer{rejected: []IDRange{{1, 10}}, bad: 10, whole: true})
	f(15, []IDRange{{11, 15}}, answer{acknowledged: 5, rejected: []IDRange{{1, 5}}, bad: 5})
	f(15, []IDRange{{14, 20}}, answer{acknowledged: 5, rejected: []IDRange{{4, 10}}, bad: 7, whole: true})
	f(15, []IDRange{{20, math.MaxUint64}, {12, 12}}, answer{acknowledged: 5, rejected: []IDRange{{2, 2}, {10, 10}}, bad: 2})

	// The end of a batch that is being encoded is not known.
	var b badRecords
	b.add([]IDRange{{13, 14}}, 10)
	require.Equal(t, answer{acknowledged: 4, rejected: []IDRange{{3, 4}}, bad: 2}, b.answerTo(11, 0, 14))

	b.add([]IDRange{{16, 18}, {1, 5}}, 10)
	require.EqualValues(t, 11, b.after(11))
	require.EqualValues(t, 14, b.after(12))
	require.EqualValues(t, 18, b.after(15))
	require.EqualValues(t, 10, b.after(10))
	b.forget(13)
	require.Equal(t, idRanges{{14, 14}, {16, 18}}, b.ids)
	b.forget(14)
	b.forget(15)
	require.Equal(t, idRanges{{16, 18}}, b.ids)
	b.forget(math.MaxUint64)
	require.Empty(t, b.ids)
}

func TestSessionConfig(t *testing.T) {
	f := func(want string, change func(*SessionConfig)) {
		t.Helper()
		c := SessionConfig{}
		change(&c)
		_, err := startSession[load](nil, nil, c)
		require.ErrorContains(t, err, want)
	}
	f("Streams is -1", func(c *SessionConfig) { c.Streams = -1 })
	f("Streams is 1025", func(c *SessionConfig) { c.Streams = 1025 })
	f("Jitter is 1.5", func(c *SessionConfig) { c.Jitter = 1.5 })
	f("Jitter is NaN", func(c *SessionConfig) { c.Jitter = math.NaN() })
	f("Senders", func(c *SessionConfig) { c.Senders = -1 })
	f("MaxUnackedBatches", func(c *SessionConfig) { c.MaxUnackedBatches = -1 })
	f("AckTimeout", func(c *SessionConfig) { c.AckTimeout = -1 })
	f("DrainTimeout", func(c *SessionConfig) { c.DrainTimeout = -1 })
	f("Backoff.Initial", func(c *SessionConfig) { c.Backoff.Initial = -1 })
	f("Backoff.Max is 1ms, at least 100ms", func(c *SessionConfig) { c.Backoff.Max = time.Millisecond })
	f("Backoff.Multiplier", func(c *SessionConfig) { c.Backoff.Multiplier = 0.5 })
	f("Backoff.Jitter", func(c *SessionConfig) { c.Backoff.Jitter = 2 })

	require.NoError(t, SessionConfig{}.Validate())
	defaults := SessionConfig{}.withDefaults()
	require.Equal(t, defaults, defaults.withDefaults())
	for field, value := range reflect.ValueOf(defaults).Fields() {
		switch field.Name {
		case "Senders", "Rand", "Events":
		default:
			require.False(t, value.IsZero(), "%s has no default", field.Name)
		}
	}
	off := SessionConfig{MaxLifetime: -1, Jitter: -1, FlushInterval: -1, FlushBytes: -1, MaxUnackedBytes: -1, Probe: -1,
		Backoff: Backoff{Jitter: -1}}
	require.NoError(t, off.Validate())
	require.Zero(t, off.lifetime(0, true))
}

func TestSessionNames(t *testing.T) {
	require.Equal(t, "ack timeout", CloseAckTimeout.String())
	require.Equal(t, "close reason 99", CloseReason(99).String())
	require.Equal(t, "stefgrpc: batch cannot be encoded: EOF", (&BatchError{io.EOF}).Error())
	require.Equal(t, "stefgrpc: 3 records rejected by the destination: records 1 to 2 of the batch and 1 more ranges",
		(&RejectedError{Ranges: []IDRange{{1, 2}, {9, 9}}, Records: 3}).Error())
}

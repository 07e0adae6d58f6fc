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

func TestSessionConfig(t *testing.T) {
	f := func(want string, change func(*SessionConfig)) {
		t.Helper()
		c := SessionConfig{}
		change(&c)
		_, err := startSession[load](nil, nil, c)
		require.ErrorContains(t, err, want)
	}
	f("Streams is -1: must be at least 1, or 0 for the default", func(c *SessionConfig) { c.Streams = -1 })
	f("Streams is 1025: must be at most 1024", func(c *SessionConfig) { c.Streams = 1025 })
	f("LifetimeJitter is 1.5: must be at most 1", func(c *SessionConfig) { c.LifetimeJitter = 1.5 })
	f("LifetimeJitter is NaN", func(c *SessionConfig) { c.LifetimeJitter = math.NaN() })
	f("Senders is -1: must be at least 0", func(c *SessionConfig) { c.Senders = -1 })
	f("MaxUnackedBatches", func(c *SessionConfig) { c.MaxUnackedBatches = -1 })
	f("AckTimeout is -1ns: must not be negative", func(c *SessionConfig) { c.AckTimeout = -1 })
	f("DrainTimeout", func(c *SessionConfig) { c.DrainTimeout = -1 })
	f("Backoff.Initial", func(c *SessionConfig) { c.Backoff.Initial = -1 })
	f("Backoff.Max is 1ms: must be at least 100ms, or 0 for the default", func(c *SessionConfig) { c.Backoff.Max = time.Millisecond })
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
	off := SessionConfig{MaxLifetime: -1, LifetimeJitter: -1, FlushInterval: -1, FlushBytes: -1, MaxUnackedBytes: -1, ProbeInterval: -1,
		Backoff: Backoff{Jitter: -1}}
	require.NoError(t, off.Validate())
	require.Zero(t, off.lifetime(0, true))
}

func TestSessionNames(t *testing.T) {
	require.Equal(t, "ack timeout", CloseAckTimeout.String())
	require.Equal(t, "close reason 99", CloseReason(99).String())
	require.Equal(t, "stefgrpc: batch cannot be encoded: EOF", (&BatchError{Err: io.EOF}).Error())
	require.Equal(t, "stefgrpc: batch delivered in part: EOF", (&BatchError{Err: io.EOF, Delivered: true}).Error())
	require.Equal(t, "stefgrpc: 3 records rejected by the destination: records 1 to 2 of the batch and 1 more range",
		(&RejectedError{Ranges: []IDRange{{From: 1, To: 2}, {From: 9, To: 9}}, Records: 3}).Error())
	require.Equal(t, "stefgrpc: 1 record rejected by the destination: record 3 of the batch",
		(&RejectedError{Ranges: []IDRange{{From: 3, To: 3}}, Records: 1}).Error())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configretry"

	"github.com/otelstef/stef/internal/backoff"
)

// TestNext: the pauses are those of exporterhelper.
func TestNext(t *testing.T) {
	f := func(initial, longest time.Duration, multiplier float64, want ...time.Duration) {
		t.Helper()
		b := backoff.BackOff{Config: configretry.BackOffConfig{InitialInterval: initial, MaxInterval: longest, Multiplier: multiplier}}
		for _, pause := range want {
			require.Equal(t, pause, b.Next())
		}
	}
	f(2, 20, 2, 2, 4, 8, 16, 20, 20)
	f(30, 20, 2, 30, 20, 20)
	f(2, 0, 2, 2, 2, 2, 2)
	f(0, 20, 2, 0, 0)
	f(2, 20, 0, 2, 2, 2)
	f(time.Second, time.Minute, 1e12, time.Second, time.Minute, time.Minute) // the product does not fit in an int64
}

func TestRandomPart(t *testing.T) {
	b := backoff.BackOff{Config: configretry.BackOffConfig{InitialInterval: 1000, MaxInterval: 1000, Multiplier: 1, RandomizationFactor: 0.5}}
	least, most := b.Next(), b.Next()
	for range 1000 {
		pause := b.Next()
		require.InDelta(t, 1000, pause, 500)
		least, most = min(least, pause), max(most, pause)
	}
	require.Less(t, least, time.Duration(600))
	require.Greater(t, most, time.Duration(1400))
}

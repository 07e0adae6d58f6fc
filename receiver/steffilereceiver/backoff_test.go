// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The pause between attempts to deliver a batch grows up to max_interval. If max_interval is 0, the
// pause does not grow, as in exporters of the Collector.
func TestMaxInterval(t *testing.T) {
	for highest, want := range map[time.Duration]time.Duration{0: time.Second, 30 * time.Second: 30 * time.Second} {
		b := backOff{config: createDefaultConfig().(*Config).RetryConfig}
		b.config.MaxInterval, b.config.RandomizationFactor, b.config.Multiplier = highest, 0, 3
		var wait time.Duration
		for n := range 100 {
			last, again := wait, false
			wait, again = b.next()
			require.True(t, again)
			require.GreaterOrEqual(t, wait, last, n)
			require.LessOrEqual(t, wait, want, n)
		}
		require.Equal(t, want, wait)
	}
}

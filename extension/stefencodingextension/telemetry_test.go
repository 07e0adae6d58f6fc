// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The first event is logged, and then at most one for each period.
func TestLogPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel := newEncoding(t, "{}").telemetry
		for range 3 {
			require.True(t, tel.mayLog())
			time.Sleep(logPeriod - 1)
			require.False(t, tel.mayLog())
			time.Sleep(time.Nanosecond)
		}
	})
}

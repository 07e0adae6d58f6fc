// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// If the clock of the machine steps back, logging does not pause until the former time.
func TestLogAfterClockStepsBack(t *testing.T) {
	tel := newEncoding(t, "{}").telemetry
	require.True(t, tel.mayLog())
	require.False(t, tel.mayLog())
	tel.logged.Store(time.Now().Add(time.Hour).UnixNano())
	require.True(t, tel.mayLog())
	require.False(t, tel.mayLog())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs often log SessionStats as a whole, so CloseCounts prints its reasons by name.
func TestCloseCounts(t *testing.T) {
	var stats SessionStats
	require.Contains(t, fmt.Sprintf("%+v", stats), " Closed:[] ")
	stats.Closed[CloseLost], stats.Closed[CloseAckTimeout] = 1, 20
	require.Contains(t, fmt.Sprintf("%+v", stats), " Closed:[lost 1, ack timeout 20] ")
	stats = SessionStats{}
	for i := range stats.Closed {
		stats.Closed[i] = 1
	}
	require.Equal(t, "[close reason 0 1, rotated 1, server 1, lost 1, ack timeout 1, encoder 1, shutdown 1, idle 1]", stats.Closed.String())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"testing"

	"github.com/stretchr/testify/require"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestReasonOf checks the reason in the metrics for a stream that the peer ended: "busy" if its error
// is retryable and has RetryInfo, otherwise "lost".
func TestReasonOf(t *testing.T) {
	f := func(want string, reason stefgrpc.CloseReason, err *stefgrpc.Error) {
		t.Helper()
		require.Equal(t, want, reasonOf(reason, err).Value.AsString())
	}
	f("rotated", stefgrpc.CloseRotated, nil)
	f("ack_timeout", stefgrpc.CloseAckTimeout, nil)
	f("lost", stefgrpc.CloseLost, nil)
	f("lost", stefgrpc.CloseLost, &stefgrpc.Error{Kind: stefgrpc.KindUnavailable})
	f("lost", stefgrpc.CloseLost, &stefgrpc.Error{Kind: stefgrpc.KindInvalid, HasRetryInfo: true})
	f("busy", stefgrpc.CloseLost, &stefgrpc.Error{Kind: stefgrpc.KindUnavailable, HasRetryInfo: true})
}

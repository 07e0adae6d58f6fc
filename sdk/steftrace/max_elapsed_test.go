// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
)

// TestMaxElapsedTime: if no stream can be opened, an export gives up after MaxElapsedTime, before its
// timeout. An export that waits for an acknowledgement continues.
func TestMaxElapsedTime(t *testing.T) {
	peer := sdktest.NewPeer(t, netfault.Link{})
	const most = 200 * time.Millisecond
	x := exporter(t, peer.Options(stefsdk.WithTimeout(5*time.Minute), stefsdk.WithRetry(stefsdk.RetryConfig{
		Enabled: true, InitialInterval: 5 * time.Millisecond, MaxInterval: 20 * time.Millisecond, MaxElapsedTime: most,
	})))
	down := func() {
		t.Helper()
		start := time.Now()
		err := x.ExportSpans(context.Background(), batch("lost", 3))
		require.ErrorContains(t, err, "MaxElapsedTime (200ms) is over")
		require.ErrorContains(t, err, "unavailable")
		require.GreaterOrEqual(t, time.Since(start), most)
		require.Less(t, time.Since(start), most+time.Minute)
	}
	down()
	peer.Answer(func(int) error {
		time.Sleep(3 * most)
		return nil
	})
	peer.Start(t)
	require.Eventually(t, func() bool { return x.ExportSpans(context.Background(), batch("slow", 3)) == nil }, time.Minute, time.Millisecond)
	require.NoError(t, x.ExportSpans(context.Background(), batch("slow", 3)))
	peer.Kill()
	// This export may use the stream whose end the exporter has not noticed yet. If MaxElapsedTime is over
	// when the exporter notices it, the error is another one.
	require.Error(t, x.ExportSpans(context.Background(), batch("lost", 3)))
	down()
	require.EqualValues(t, 6, x.Stats().Delivered)
}

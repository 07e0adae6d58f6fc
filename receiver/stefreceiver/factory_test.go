// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// TestProfiles checks that the receiver refuses profiles, and that the error says which receiver to
// use.
func TestProfiles(t *testing.T) {
	f := NewFactory().(xreceiver.Factory)
	_, err := f.CreateProfiles(context.Background(), receivertest.NewNopSettings(metadata.Type), f.CreateDefaultConfig(), consumertest.NewNop())
	require.ErrorContains(t, err, "STEF has no profiles yet: receive them with the otlp receiver")
}

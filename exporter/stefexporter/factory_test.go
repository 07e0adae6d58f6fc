// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

// TestProfiles checks that the error says what to use.
func TestProfiles(t *testing.T) {
	f := NewFactory().(xexporter.Factory)
	_, err := f.CreateProfiles(context.Background(), exportertest.NewNopSettings(metadata.Type), f.CreateDefaultConfig())
	require.ErrorContains(t, err, "STEF has no profiles yet: send them with the otlp_grpc exporter")
}

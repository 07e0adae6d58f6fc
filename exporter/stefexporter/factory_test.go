// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
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

// failing is a component that does not start.
type failing struct{ err error }

func (f failing) Start(context.Context, component.Host) error { return f.err }
func (f failing) Shutdown(context.Context) error              { return nil }

// TestStorageInUse checks that the error of a storage that another process uses says so.
func TestStorageInUse(t *testing.T) {
	start := func(text string, stored bool) error {
		return (&lifecycle{Component: failing{errors.New(text)}, stored: stored}).Start(context.Background(), nil)
	}
	require.EqualError(t, start("timeout", true),
		"the storage of sending_queue cannot be opened: is another Collector using this storage directory? (timeout)")
	require.EqualError(t, start("timeout", false), "timeout")
	require.EqualError(t, start("disk on fire", true), "disk on fire")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/otelstef/stef/exporter/stefexporter/internal/metadata"
)

func TestProfiles(t *testing.T) {
	f := NewFactory().(xexporter.Factory)
	_, err := f.CreateProfiles(context.Background(), exportertest.NewNopSettings(metadata.Type), f.CreateDefaultConfig())
	require.ErrorContains(t, err, "STEF has no profiles yet: send them with the otlp_grpc exporter")
}

type failing struct{ err error }

func (f failing) Start(context.Context, component.Host) error { return f.err }
func (f failing) Shutdown(context.Context) error              { return nil }

// TestStorageFails checks the error texts for a storage that another process uses, and for a
// storage with a damaged file.
func TestStorageFails(t *testing.T) {
	start := func(text, storage string) error {
		return (&lifecycle{Component: failing{errors.New(text)}, storage: storage, signal: "logs"}).Start(context.Background(), nil)
	}
	require.EqualError(t, start("invalid database", "file_storage/q"), "the storage of sending_queue cannot be opened: invalid database "+
		"(a file of file_storage/q for logs is damaged: move it away; what was queued in it is lost)")
	require.ErrorContains(t, start("file size too small 4096", "file_storage"), "file size too small 4096 (a file of file_storage for logs is damaged: move it away")
	require.EqualError(t, start("invalid database", ""), "invalid database")
	require.EqualError(t, start("timeout", "file_storage"),
		"the storage of sending_queue cannot be opened: is another Collector using this storage directory? (timeout)")
	require.EqualError(t, start("timeout", ""), "timeout")
	require.EqualError(t, start("disk on fire", "file_storage"), "disk on fire")
}

// TestHeaderNames: gRPC would refuse every stream and request with one of these headers. So creating
// the exporter fails, and a queue on disk keeps its batches.
func TestHeaderNames(t *testing.T) {
	for _, name := range []string{"a b", ":path", "größe", ""} {
		c := testConfig("localhost:4320")
		c.ClientConfig.Headers.Set(name, "secret")
		require.NoError(t, c.Validate())
		f, settings := NewFactory(), exportertest.NewNopSettings(metadata.Type)
		_, err := f.CreateTraces(context.Background(), settings, c)
		require.ErrorContains(t, err, fmt.Sprintf("headers: the header %q is not valid: use letters", name))
		require.NotContains(t, err.Error(), "secret")
		_, err = f.CreateMetrics(context.Background(), settings, c)
		require.Error(t, err)
		_, err = f.CreateLogs(context.Background(), settings, c)
		require.Error(t, err)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/netfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/internal/sdktest"
	"github.com/otelstef/stef/sdk/steftrace"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// Spans that are in a file count as written, even if the file cannot be finished.
func TestWrittenToUnfinishedFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	x, err := steftrace.NewFile(dir, stefsdk.WithCompression(stef.None), stefsdk.WithRotation(4096, -1))
	require.NoError(t, err)
	require.NoError(t, x.ExportSpans(ctx, batch("a", 1)))
	active, err := filepath.Glob(filepath.Join(dir, "*"+rotate.ActiveSuffix))
	require.NoError(t, err)
	require.Len(t, active, 1)
	require.NoError(t, os.Mkdir(strings.TrimSuffix(active[0], rotate.ActiveSuffix)+rotate.Suffix, 0o700)) // a folder already has the name of the finished file
	exported := uint64(1)
	for err == nil {
		err = x.ExportSpans(ctx, batch("b", 10))
		exported += 10
		require.Less(t, exported, uint64(10_000))
	}
	var fault *rotate.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "finish", fault.Op)
	require.Zero(t, fault.Lost)
	stats := x.Stats()
	require.Equal(t, exported, stats.Files.Records)
	require.Equal(t, exported, stats.Written)
	require.Zero(t, stats.Failed)
	require.NoError(t, x.Shutdown(ctx))
}

// Spans that are exported after Shutdown count as failed.
func TestFailedAfterShutdown(t *testing.T) {
	ctx := context.Background()
	peer := sdktest.NewPeer(t, netfault.Link{})
	peer.Start(t)
	x := exporter(t, peer.Options(fast))
	require.NoError(t, x.Shutdown(ctx))
	require.ErrorIs(t, x.ExportSpans(ctx, batch("a", 5)), stefsdk.ErrShutdown)
	require.EqualValues(t, 5, x.Stats().Failed)

	files, err := steftrace.NewFile(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, files.Shutdown(ctx))
	require.ErrorIs(t, files.ExportSpans(ctx, batch("a", 5)), stefsdk.ErrShutdown)
	require.EqualValues(t, 5, files.Stats().Failed)
}

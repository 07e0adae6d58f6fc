// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/internal/diskfault"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steftrace"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// If a disk is full, items that did not reach a file do not count as written, even if the batch
// has an omitted item.
func TestOmittedOnFullDisk(t *testing.T) {
	ctx := context.Background()
	dir := diskfault.Small(t, 256<<10)
	x, err := steftrace.NewFile(filepath.Join(dir, "telemetry"), stefsdk.WithCompression(stef.None))
	require.NoError(t, err)
	var many []attribute.KeyValue
	for i := range stef.MaxPairs + 1 {
		many = append(many, attribute.Int(fmt.Sprint(i), i))
	}
	spans := append(batch("good", 3), batch("omitted", 1, many...)...)
	var left *stefsdk.OmittedError
	err = x.ExportSpans(ctx, spans)
	require.ErrorAs(t, err, &left)

	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	require.NoError(t, ballast.Close())
	exports := uint64(1)
	for failed := false; !failed; exports++ {
		require.Less(t, exports, uint64(10_000))
		err := x.ExportSpans(ctx, spans)
		require.ErrorAs(t, err, &left)
		var full *rotate.Error
		failed = errors.As(err, &full)
	}
	require.NoError(t, x.Shutdown(ctx))
	stats := x.Stats()
	require.Equal(t, stats.Files.Records, stats.Written)
	require.Equal(t, exports, stats.Omitted)
	require.EqualValues(t, 3, stats.Failed)
}

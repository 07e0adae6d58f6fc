// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
)

// Every real file can be converted to STEF and back to the same items, in each mode.
// The order is the same if the mode keeps the order.
func TestRealFilesRoundTrip(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(teltest.Data(t), "*", "*-otel*.zst"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 8)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			in, err := file.Open("-", bytes.NewReader(data))
			require.NoError(t, err)
			plain, err := io.ReadAll(in)
			require.NoError(t, err)
			in.Close()
			for _, mode := range []convert.Mode{convert.Ordered, convert.Sorted} {
				packed, res := mustRun(t, data, convert.Options{To: convert.STEF, Mode: mode, Compression: stef.Zstd})
				require.Zero(t, res.Skipped)
				back, _ := mustRun(t, packed, convert.Options{To: convert.OTLPParts})
				sorted := mode == convert.Sorted
				want, _ := itemsOf(t, plain)
				got, _ := itemsOf(t, back)
				require.EqualValues(t, want.count(), res.Items)
				requireSame(t, want, got, sorted)
			}
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/stat"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	stef "github.com/otelstef/stef/stef-go"
)

// For any bytes, the result is a report with correct sums, or an error.
func FuzzMeasure(f *testing.F) {
	for _, restart := range []stef.FrameFlags{0, stef.RestartAll} {
		for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
			f.Add(sample(f, stef.WithRestart(restart), stef.WithCompression(compression)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, root := range stream.Roots() {
			r, err := stat.Measure(bytes.NewReader(data), root)
			if err != nil {
				continue
			}
			requireSums(t, r, int64(len(data))-r.Whole.Lost)
			require.NoError(t, r.Print(io.Discard, stat.Options{All: true, Frames: true}))
		}
	})
}

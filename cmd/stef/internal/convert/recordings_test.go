// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
)

// counted counts bytes.
type counted int

func (c *counted) Write(b []byte) (int, error) {
	*c += counted(len(b))
	return len(b), nil
}

// recordings returns the names of the recordings of the repository.
func recordings(t *testing.T) []string {
	t.Helper()
	short, err := filepath.Glob("../../../../internal/fixtures/*.otlp.zst")
	require.NoError(t, err)
	long, err := filepath.Glob("../../../../internal/fixtures/recordings/*.otlp.zst")
	require.NoError(t, err)
	names := append(short, long...)
	require.Len(t, names, 17)
	return names
}

// A compressed recording is flushed after each batch. The README says how many bytes this costs.
func TestBytesOfFlushes(t *testing.T) {
	names := recordings(t)
	// size returns the bytes of a recording, with or without flushes.
	size := func(name, end string, flushes bool) float64 {
		in, err := file.Open(name, nil)
		require.NoError(t, err)
		defer in.Close()
		var out counted
		var w *BatchWriter
		for b, err := range Batches(in, nil, func([]otlpfile.UnknownField) {}) {
			require.NoError(t, err)
			if w == nil {
				w, err = NewBatchWriter(&out, "x"+end, b.Signal)
				require.NoError(t, err)
			}
			write := w.Write
			if !flushes {
				write = w.sink.Write
			}
			require.NoError(t, write(b))
		}
		require.NoError(t, w.Close())
		return float64(out)
	}
	for end, most := range map[string]float64{".stef.zst": 1.03, ".parts.zst": 1.13, ".json.zst": 1.30, ".stef.gz": 1.10, ".parts.gz": 1.12} {
		var ratios []float64
		for _, name := range names {
			ratio := size(name, end, true) / size(name, end, false)
			t.Logf("%s of %s: %.3f", end, filepath.Base(name), ratio)
			ratios = append(ratios, ratio)
		}
		slices.Sort(ratios)
		t.Logf("%s: %.3f to %.3f, median %.3f", end, ratios[0], ratios[len(ratios)-1], ratios[len(ratios)/2])
		require.LessOrEqual(t, ratios[len(ratios)-1], most, end)
	}
}

// The README says how much larger streams of level fastest are than streams of the default level.
func TestBytesOfFastest(t *testing.T) {
	size := func(name string, level stef.Level) float64 {
		in, err := file.Open(name, nil)
		require.NoError(t, err)
		defer in.Close()
		var out counted
		_, err = Run(in, &out, Options{To: STEF, Compression: stef.Zstd, Level: level})
		require.NoError(t, err)
		return float64(out)
	}
	var large []string
	for _, name := range recordings(t) {
		ratio := size(name, stef.LevelFastest) / size(name, stef.LevelDefault)
		t.Logf("%s: %.3f", filepath.Base(name), ratio)
		if ratio > 1.055 {
			large = append(large, filepath.Base(name))
		}
		require.Greater(t, ratio, 1.014)
		require.Less(t, ratio, 1.115)
	}
	require.Equal(t, []string{"metrics.otlp.zst", "collector-metrics.otlp.zst", "go-metrics.otlp.zst"}, large)
}

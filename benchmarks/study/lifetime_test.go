// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package study

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/format"
	"github.com/otelstef/stef/internal/otlpfile"
)

// TestLifetime compares one stream for a whole recording of 12 minutes with three streams of about
// four minutes each, because the exporter replaces a stream after five minutes by default
// (stef::max_stream_lifetime). Each new stream sends its dictionaries again: three streams need
// more bytes than one, but fewer than OTLP.
func TestLifetime(t *testing.T) {
	const lives = 3
	bytes := func(f format.Format, batches []otlpfile.Batch) float64 {
		t.Helper()
		sizes, err := SizesOf(f, batches)
		require.NoError(t, err)
		if f.Name() == format.OTLP().Name() {
			return float64(sizes[format.Zstd])
		}
		return float64(sizes[format.Own])
	}
	type sums struct{ one, three, sets float64 }
	for _, merged := range []bool{false, true} {
		mean := map[otlpfile.Signal]*sums{}
		for _, ref := range dataset.Recorded() {
			set := ref.Load(t)
			batches, order := set.Parts, format.Sorted
			if merged {
				batches = set.ItemBatches(min(8192, set.Items/16))
			}
			if set.Signal == otlpfile.Logs {
				order = format.Ordered
			}
			otlp, stef := bytes(format.OTLP(), batches), format.STEF(order)
			one, three := bytes(stef, batches)/otlp, 0.0
			for i := range lives {
				three += bytes(stef, batches[i*len(batches)/lives:(i+1)*len(batches)/lives]) / otlp
			}
			require.Greater(t, three, one)
			require.Less(t, three, 1.0)
			t.Logf("%s, %d batches: %.3f times OTLP in one stream, %.3f in %d", ref.Title(), len(batches), one, three, lives)
			if mean[ref.Signal] == nil {
				mean[ref.Signal] = &sums{}
			}
			m := mean[ref.Signal]
			m.one, m.three, m.sets = m.one+one, m.three+three, m.sets+1
		}
		for _, signal := range otlpfile.Signals() {
			m := mean[signal]
			t.Logf("%s, merged %t: mean %.2f times OTLP in one stream, %.2f in %d", signal, merged, m.one/m.sets, m.three/m.sets, lives)
		}
	}
}

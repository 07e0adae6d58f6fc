// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/lake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMemory: the memory of a writer does not grow with the number of row groups and batches
// that it has written.
func TestMemory(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		batches := recorded(t, s)
		w, err := lake.NewWriter(io.Discard, f, s, lake.WriterOptions{RowGroupRows: 2000})
		require.NoError(t, err)
		const rounds = 16
		var halves [2]uint64 // the largest live heap
		var stats runtime.MemStats
		for round := range rounds {
			for _, items := range batches {
				require.NoError(t, w.Write(items))
			}
			runtime.GC()
			runtime.ReadMemStats(&stats)
			half := &halves[round*2/rounds]
			*half = max(*half, stats.HeapAlloc)
		}
		require.Greater(t, w.Items(), uint64(8*2000))
		require.NoError(t, w.Close())
		t.Logf("%d items, live heap of %d and then %d KiB", w.Items(), halves[0]>>10, halves[1]>>10)
		require.Less(t, halves[1], halves[0]*5/4+1<<20)
	})
}

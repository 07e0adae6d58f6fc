// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
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
		var halves [2]uint64 // the largest live heap in each half of the rounds
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

// TestLargeRows: a reader needs no more memory than the writer, whatever the size of the rows. Each
// batch has rows of one row group only, and large rows are read in smaller batches.
func TestLargeRows(t *testing.T) {
	for name, c := range map[string]struct{ size, rows, group, limit int }{
		"small row groups": {16 << 10, 5000, 1 << 20, 32 << 20},
		"large row groups": {256 << 10, 900, 1 << 30, 224 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("0123456789abcdef", c.size/16)
			var out bytes.Buffer
			w, err := lake.NewWriter(&out, lake.Parquet, lake.Logs, lake.WriterOptions{RowGroupBytes: c.group})
			require.NoError(t, err)
			for i := range c.rows {
				ld := plog.NewLogs()
				ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(strconv.Itoa(i) + text)
				require.NoError(t, w.WriteLogs(ld))
			}
			require.NoError(t, w.Close())
			r, err := lake.NewParquetReader(bytes.NewReader(out.Bytes()), lake.Limits{MemoryBytes: int64(c.limit)})
			require.NoError(t, err)
			defer r.Close()
			for n := 0; ; {
				b, err := r.Next()
				if err == io.EOF {
					require.Equal(t, c.rows, n)
					return
				}
				require.NoError(t, err)
				for _, rl := range b.Logs.ResourceLogs().All() {
					for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
						require.True(t, lr.Body().Str() == strconv.Itoa(n)+text)
						n++
					}
				}
			}
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/teltest/randtel"
	"github.com/otelstef/stef/lake"
)

func schemaOf(t *testing.T) *arrow.Schema {
	t.Helper()
	b, err := lake.NewBuilder(lake.Arrow, lake.Logs, nil)
	require.NoError(t, err)
	defer b.Release()
	return b.Schema()
}

// TestHostileRows: a batch with more rows than the limit is refused. A batch with exactly as
// many rows as the limit is accepted.
func TestHostileRows(t *testing.T) {
	schema := schemaOf(t)
	file := func(rows int) []byte {
		columns := make([]arrow.Array, len(schema.Fields()))
		for i, f := range schema.Fields() {
			columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, rows)
		}
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		require.NoError(t, w.Write(array.NewRecordBatch(schema, columns, int64(rows))))
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	got, err := read(lake.Arrow, file(1<<16), lake.Limits{})
	require.NoError(t, err)
	require.Equal(t, 1<<16, got[0].Logs.LogRecordCount())
	_, err = read(lake.Arrow, file(1<<16+1), lake.Limits{})
	require.ErrorIs(t, err, lake.ErrLimit)
	require.ErrorContains(t, err, "65537 rows")
	require.ErrorContains(t, err, "write_table(t, max_chunksize=65536)")
}

// TestHostileDeltas: dictionaries that grow by deltas are refused.
func TestHostileDeltas(t *testing.T) {
	schema := schemaOf(t)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true))
	for _, service := range []string{"cart", "checkout"} {
		for i, f := range b.Fields() {
			if schema.Field(i).Name == "service_name" {
				require.NoError(t, f.(*array.BinaryDictionaryBuilder).AppendString(service))
			} else {
				f.AppendNull()
			}
		}
		require.NoError(t, w.Write(b.NewRecordBatch()))
	}
	require.NoError(t, w.Close())
	got, err := read(lake.Arrow, out.Bytes(), lake.Limits{})
	require.ErrorIs(t, err, lake.ErrLimit)
	require.ErrorContains(t, err, "write whole dictionaries")
	require.Len(t, got, 1)
}

// TestHostileExpansion: a small file that decompresses to more than the limit is refused.
func TestHostileExpansion(t *testing.T) {
	ld := plog.NewLogs()
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(strings.Repeat("x", 64<<20))
	for _, f := range formats {
		content := write(t, f, lake.Logs, lake.WriterOptions{}, lake.Batch{Signal: lake.Logs, Logs: ld})
		require.Less(t, len(content), 1<<20)
		_, err := read(f, content, lake.Limits{MemoryBytes: 16 << 20})
		require.ErrorIs(t, err, lake.ErrLimit, f.String())
		_, err = read(f, content, lake.Limits{})
		require.NoError(t, err, f.String())
	}
}

// TestHostileSizes: a false size in a file does not make a reader allocate that much memory.
// The test overwrites 4 bytes with a very large number, at one position at a time: at every
// seventh field of 4 bytes or, with STEF_LONG=1, at every field.
func TestHostileSizes(t *testing.T) {
	const limit, bound = 16 << 20, 64 << 20
	step := 28
	if os.Getenv("STEF_LONG") != "" {
		step = 4
	}
	for _, f := range formats {
		content := write(t, f, lake.Traces, lake.WriterOptions{RowGroupRows: 20}, random(lake.Traces, randtel.New(3)))
		// The sizes in a Parquet file are in the headers of its pages and in its footer. The sizes
		// in an Arrow stream are in the metadata of its messages.
		from := max(len(content)-(16<<10), 0)
		if f == lake.Arrow {
			from = 0
		}
		var before, after runtime.MemStats
		for at := from; at+4 <= min(len(content), from+(16<<10)); at += step {
			for _, size := range []uint32{1<<31 - 1, 1<<32 - 1} {
				damaged := bytes.Clone(content)
				binary.LittleEndian.PutUint32(damaged[at:], size)
				runtime.ReadMemStats(&before)
				_, err := read(f, damaged, lake.Limits{MemoryBytes: limit})
				runtime.ReadMemStats(&after)
				if err != nil {
					requireKind(t, err)
				}
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(bound), "%s, %#x at offset %d", f, size, at)
			}
		}
	}
}

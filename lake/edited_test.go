// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest/randtel"
	"github.com/otelstef/stef/lake"
)

// edit returns a copy of a file in which a column is null. rows counts the rows that had
// a value in this column and in the column otlp.
func edit(t *testing.T, f lake.Format, s lake.Signal, content []byte, column string) (edited []byte, rows int) {
	t.Helper()
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, f, s, lake.WriterOptions{})
	require.NoError(t, err)
	b, err := lake.NewBuilder(f, s, nil)
	require.NoError(t, err)
	defer b.Release()
	r, err := open(f, content, lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	for {
		batch, err := r.NextRecordBatch()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		columns := append([]arrow.Array(nil), batch.Columns()...)
		otlp := columns[batch.Schema().FieldIndices("otlp")[0]]
		at := batch.Schema().FieldIndices(column)[0]
		for i := range otlp.Len() {
			if otlp.IsValid(i) && columns[at].IsValid(i) {
				rows++
			}
		}
		columns[at] = array.MakeArrayOfNull(memory.DefaultAllocator, columns[at].DataType(), otlp.Len())
		require.NoError(t, w.WriteRecordBatch(array.NewRecordBatch(b.Schema(), columns, int64(otlp.Len()))))
	}
	require.NoError(t, w.Close())
	return out.Bytes(), rows
}

// Edited counts the rows with OTLP whose other columns were changed. It counts no other rows.
func TestEdited(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		var batches []lake.Batch
		for seed := range uint64(40) {
			batches = append(batches, random(s, randtel.New(seed)))
		}
		count := func(content []byte) (fromOTLP, edited uint64) {
			r, err := open(f, content, lake.Limits{})
			require.NoError(t, err)
			defer r.Close()
			for err == nil {
				_, err = r.Next()
			}
			require.Equal(t, io.EOF, err)
			return r.FromOTLP(), r.Edited()
		}
		content := write(t, f, s, lake.WriterOptions{}, batches...)
		all, edited := count(content)
		require.Greater(t, all, uint64(20))
		require.Zero(t, edited)
		for _, column := range []string{"scope_name", map[lake.Signal]string{lake.Metrics: "time", lake.Traces: "name", lake.Logs: "severity_text"}[s]} {
			changed, rows := edit(t, f, s, content, column)
			require.Positive(t, rows)
			require.Less(t, rows, int(all))
			_, edited = count(changed)
			require.EqualValues(t, rows, edited, column)
		}
		// Changes of columns that are not read, and of rows without OTLP, are not counted.
		changed, _ := edit(t, f, s, content, "service_name")
		_, edited = count(changed)
		require.Zero(t, edited)
		changed, _ = edit(t, f, s, content, "otlp")
		all, edited = count(changed)
		require.Zero(t, all)
		require.Zero(t, edited)
	})
}

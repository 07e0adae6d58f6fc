// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// A file that another program wrote, or that is cut, has an error that says so.
func TestForeignAndCutFiles(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "name", Type: arrow.BinaryTypes.String}}, nil)
	for _, stored := range []bool{false, true} {
		var properties []pqarrow.WriterOption
		if stored {
			properties = append(properties, pqarrow.WithStoreSchema())
		}
		var buf bytes.Buffer
		w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(properties...))
		require.NoError(t, err)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.StringBuilder).Append("a")
		require.NoError(t, w.Write(b.NewRecordBatch()))
		require.NoError(t, w.Close())
		_, err = NewParquetReader(bytes.NewReader(buf.Bytes()), Limits{})
		require.ErrorIs(t, err, ErrSchema)
		require.ErrorContains(t, err, ": stef did not write it, or another program dropped its metadata (pyarrow keeps it)")

		for _, n := range []int{1, buf.Len() - 1} {
			_, err = NewParquetReader(bytes.NewReader(buf.Bytes()[:n]), Limits{})
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, "the file is cut or not complete: Parquet has its index at the end")
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/lake"
)

// withoutColumns overwrites the chunks of columns of a Parquet file.
func withoutColumns(t *testing.T, content []byte, names ...string) []byte {
	t.Helper()
	in, err := file.NewParquetReader(bytes.NewReader(content))
	require.NoError(t, err)
	damaged := bytes.Clone(content)
	for g := range in.NumRowGroups() {
		for _, name := range names {
			chunk, err := in.MetaData().RowGroup(g).ColumnChunk(in.MetaData().Schema.ColumnIndexByName(name))
			require.NoError(t, err)
			begin := chunk.DataPageOffset()
			if chunk.HasDictionaryPage() {
				begin = min(begin, chunk.DictionaryPageOffset())
			}
			for i := range chunk.TotalCompressedSize() {
				damaged[begin+i] = 0xff
			}
		}
	}
	return damaged
}

// TestNeeded: Next reads only the columns that items are made of. It does not read columns
// derived from other columns, or columns that the package does not know, such as the
// columns of WriterOptions.Columns.
func TestNeeded(t *testing.T) {
	for s, unneeded := range map[lake.Signal][]string{
		lake.Metrics: {"service_name", "resource.service.name"},
		lake.Traces:  {"service_name", "duration_ns", "resource.service.name"},
		lake.Logs:    {"service_name", "resource.service.name"},
	} {
		t.Run(s.String(), func(t *testing.T) {
			batches := recorded(t, s)
			content := write(t, lake.Parquet, s, lake.WriterOptions{RowGroupRows: 2000, Columns: []string{"resource:service.name"}}, batches...)
			damaged := withoutColumns(t, content, unneeded...)
			got, err := read(lake.Parquet, damaged, lake.Limits{})
			require.NoError(t, err)
			require.Empty(t, diff(s, batches, got))

			requireTyped(t, lake.Parquet, withoutColumns(t, content, "scope_name"))
			_, err = read(lake.Parquet, withoutColumns(t, content, "scope_name"), lake.Limits{})
			require.ErrorIs(t, err, lake.ErrCorrupt)
			r, err := open(lake.Parquet, damaged, lake.Limits{})
			require.NoError(t, err)
			defer r.Close()
			_, err = r.NextRecordBatch()
			require.ErrorIs(t, err, lake.ErrCorrupt)
		})
	}
}

// TestAllColumns: record batches have all columns of the file, unless Next was called before.
func TestAllColumns(t *testing.T) {
	content := write(t, lake.Parquet, lake.Traces, lake.WriterOptions{Columns: []string{"http.route"}}, recorded(t, lake.Traces)...)
	has := func(r *lake.Reader) bool {
		batch, err := r.NextRecordBatch()
		require.NoError(t, err)
		return batch.Schema().HasField("http.route") && batch.Schema().HasField("duration_ns")
	}
	r, err := open(lake.Parquet, content, lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	require.True(t, has(r))
	items, err := r.Next()
	require.NoError(t, err)
	require.Positive(t, items.Traces.SpanCount())

	r, err = open(lake.Parquet, content, lake.Limits{})
	require.NoError(t, err)
	_, err = r.Next()
	require.NoError(t, err)
	require.False(t, has(r))
	r.Close()
	_, err = r.Next()
	require.Error(t, err)
	require.NotEqual(t, io.EOF, err)
}

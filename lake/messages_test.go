// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// If columns are missing, the table is refused, and the error names all missing columns.
func TestMissingColumns(t *testing.T) {
	whole := schemaOf(Logs, Arrow, nil)
	metadata := whole.Metadata()
	f := func(want string, missing ...string) {
		t.Helper()
		var fields []arrow.Field
		for _, field := range whole.Fields() {
			if !slices.Contains(missing, field.Name) {
				fields = append(fields, field)
			}
		}
		err := new(Reader).check(arrow.NewSchema(fields, &metadata))
		require.ErrorIs(t, err, ErrSchema)
		require.Equal(t, "lake: unsupported table: "+want, err.Error())
	}
	f("the column body is missing", "body")
	f("these columns are missing: severity_text, body, otlp", "otlp", "body", "severity_text")
	twice := arrow.NewSchema(append(whole.Fields(), otlpColumn), &metadata)
	require.ErrorContains(t, new(Reader).check(twice), "it has 2 columns named otlp, not 1")
}

// DuckDB writes times with its own time zone, but the values are in UTC. Times with another
// unit or without a time zone are refused, also inside of lists.
func TestZones(t *testing.T) {
	f := func(signal Signal, unit arrow.TimeUnit, zone, want string) {
		t.Helper()
		whole := schemaOf(signal, Parquet, nil)
		metadata, fields := whole.Metadata(), whole.Fields()
		for i, field := range fields {
			fields[i].Type = retimed(field.Type, &arrow.TimestampType{Unit: unit, TimeZone: zone})
		}
		err := new(Reader).check(arrow.NewSchema(fields, &metadata))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorIs(t, err, ErrSchema)
		require.Equal(t, "lake: unsupported table: "+want, err.Error())
	}
	for _, signal := range []Signal{Metrics, Traces, Logs} {
		for _, zone := range []string{"UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT", "Europe/Berlin"} {
			f(signal, arrow.Nanosecond, zone, "")
		}
	}
	f(Logs, arrow.Nanosecond, "", "the column time has type timestamp[ns], not timestamp[ns, tz=UTC]: cast the table to the schema of the original file")
	f(Traces, arrow.Microsecond, "Etc/UTC", "the column start_time has type timestamp[us, tz=Etc/UTC], not timestamp[ns, tz=UTC]: cast the table to the schema of the original file")
}

// retimed returns a copy of t in which times replaces all types of timestamps, at any depth.
func retimed(t arrow.DataType, times *arrow.TimestampType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		return times
	case *arrow.ListType:
		return arrow.ListOf(retimed(t.Elem(), times))
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i].Type = retimed(fields[i].Type, times)
		}
		return arrow.StructOf(fields...)
	}
	return t
}

// Any text may be a dictionary. Other columns with dictionaries, such as categories of pandas, are
// refused.
func TestDictionaries(t *testing.T) {
	whole := schemaOf(Logs, Parquet, nil)
	metadata := whole.Metadata()
	for i, field := range whole.Fields() {
		fields := whole.Fields()
		fields[i].Type = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: field.Type}
		err := new(Reader).check(arrow.NewSchema(fields, &metadata))
		if field.Type.ID() == arrow.STRING || derived(field.Name) {
			require.NoError(t, err, field.Name)
			continue
		}
		require.ErrorIs(t, err, ErrSchema, field.Name)
		require.ErrorContains(t, err, "the column "+field.Name+" has type dictionary<")
	}
}

// If another program wrote a file, or if a file is cut, the error says so.
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
		require.ErrorContains(t, err, ": stef did not write it, or another program dropped its metadata (pyarrow keeps it): docs/data-lake.md says how to restore it")

		for _, n := range []int{1, 4, buf.Len() - 1} {
			_, err = NewParquetReader(bytes.NewReader(buf.Bytes()[:n]), Limits{})
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorContains(t, err, "the file is cut or not complete: Parquet has its index at the end")
		}
	}
}

// The error for a wrong name of a value names the column.
func TestWrongName(t *testing.T) {
	_, err := spanKinds.parse("SERVERR", "kind")
	require.EqualError(t, err, `column kind: "SERVERR" is not one of ["internal" "server" "client" "producer" "consumer"]`)
}

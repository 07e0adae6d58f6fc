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
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/teltest/randtel"
	"github.com/otelstef/stef/lake"
)

// replaceTexts returns a copy of a file of logs in which a column of text has other values.
func replaceTexts(t *testing.T, f lake.Format, content []byte, column string, of func(row int, old string) string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, f, lake.Logs, lake.WriterOptions{})
	require.NoError(t, err)
	b, err := lake.NewBuilder(f, lake.Logs, nil)
	require.NoError(t, err)
	defer b.Release()
	r, err := open(f, content, lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	row := 0
	for {
		batch, err := r.NextRecordBatch()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		columns := append([]arrow.Array(nil), batch.Columns()...)
		at := batch.Schema().FieldIndices(column)[0]
		made := array.NewBuilder(memory.DefaultAllocator, b.Schema().Field(at).Type)
		for i := range columns[at].Len() {
			text := ""
			if columns[at].IsValid(i) {
				text = columns[at].ValueStr(i)
			}
			if text = of(row, text); text == "" {
				made.AppendNull()
			} else {
				require.NoError(t, made.AppendValueFromString(text))
			}
			row++
		}
		columns[at] = made.NewArray()
		require.NoError(t, w.WriteRecordBatch(array.NewRecordBatch(b.Schema(), columns, int64(columns[at].Len()))))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// recordsOf reads the log records of a file, and the number of values that became text.
func recordsOf(t *testing.T, f lake.Format, content []byte) (records []plog.LogRecord, retyped uint64, err error) {
	t.Helper()
	r, err := open(f, content, lake.Limits{})
	require.NoError(t, err)
	defer r.Close()
	for {
		b, err := r.Next()
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return records, r.Retyped(), err
		}
		for _, rl := range b.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, lr := range sl.LogRecords().All() {
					records = append(records, lr)
				}
			}
		}
	}
}

// bothFormats runs a test with a Parquet file and with an Arrow stream. They have a log
// record for each type of body. Each record has a text attribute and a number attribute.
func bothFormats(t *testing.T, test func(t *testing.T, f lake.Format, content []byte)) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, raw := range []any{"text", 1, 1.5, true, []byte{1}, []any{"a"}, map[string]any{"a": "b"}, nil} {
		lr := records.AppendEmpty()
		require.NoError(t, lr.Body().FromRaw(raw))
		lr.Attributes().PutStr("a", "b")
		lr.Attributes().PutInt("n", 7)
	}
	for name, f := range map[string]lake.Format{"parquet": lake.Parquet, "arrow": lake.Arrow} {
		t.Run(name, func(t *testing.T) {
			test(t, f, write(t, f, lake.Logs, lake.WriterOptions{}, lake.Batch{Signal: lake.Logs, Logs: ld}))
		})
	}
}

// If a text replaces a body, readers return this text, whatever the type of the body was.
func TestReplacedBodies(t *testing.T) {
	bothFormats(t, func(t *testing.T, f lake.Format, content []byte) {
		for _, text := range []string{"*redacted*", "[redacted]", "{", `{"a":1} b`, "[1"} {
			records, retyped, err := recordsOf(t, f, replaceTexts(t, f, content, "body", func(int, string) string { return text }))
			require.NoError(t, err)
			require.Len(t, records, 8)
			for _, lr := range records {
				require.Equal(t, pcommon.ValueTypeStr, lr.Body().Type(), text)
				require.Equal(t, text, lr.Body().Str())
			}
			require.EqualValues(t, 7, retyped, text) // all bodies except the body that was text
		}
		records, retyped, err := recordsOf(t, f, replaceTexts(t, f, content, "body", func(_ int, old string) string { return old }))
		require.NoError(t, err)
		require.Zero(t, retyped)
		require.Equal(t, pcommon.ValueTypeMap, records[6].Body().Type())
		require.Equal(t, pcommon.ValueTypeEmpty, records[7].Body().Type())
	})
}

// An attribute whose value is not valid for its type becomes text. Letters of types that
// are missing, additional or unknown cause an error that names the row and the column.
func TestReplacedAttributes(t *testing.T) {
	bothFormats(t, func(t *testing.T, f lake.Format, content []byte) {
		records, retyped, err := recordsOf(t, f, replaceTexts(t, f, content, "attributes_types", func(int, string) string { return "ii" }))
		require.NoError(t, err)
		require.EqualValues(t, len(records), retyped)
		require.Equal(t, map[string]any{"a": "b", "n": int64(7)}, records[0].Attributes().AsRaw())

		f2 := func(letters, want string) {
			t.Helper()
			_, _, err := recordsOf(t, f, replaceTexts(t, f, content, "attributes_types", func(row int, old string) string {
				if row == 5 {
					return letters
				}
				return old
			}))
			require.ErrorIs(t, err, lake.ErrCorrupt)
			require.EqualError(t, err, want)
		}
		f2("sii", "lake: row 5, column attributes: the number of attributes is 2, but that of letters in attributes_types is 3: edit the letters, too, or set them to null, which makes all values text")
		f2("sz", "lake: row 5, column attributes_types: unknown letter 'z': use s, i, d, b, x, a, m or n, or set the letters to null")
	})
}

// The row number in an error counts from the start of the file, not from the start of the batch.
func TestRowOfError(t *testing.T) {
	for _, f := range []lake.Format{lake.Parquet, lake.Arrow} {
		const n, bad = 10_000, 9_000 // several batches
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for range n {
			records.AppendEmpty().Body().SetInt(1)
		}
		content := write(t, f, lake.Logs, lake.WriterOptions{}, lake.Batch{Signal: lake.Logs, Logs: ld})
		_, _, err := recordsOf(t, f, replaceTexts(t, f, content, "body_type", func(row int, old string) string {
			if row == bad {
				return "integer"
			}
			return old
		}))
		require.EqualError(t, err, `lake: row 9000, column body_type: unknown type "integer": use null for text, or one of ["array" "bool" "bytes" "double" "int" "map" "none"]`)
	}
}

// The texts of a writer are valid for their types, even texts that only approximate a value, such
// as a list that is nested too deeply. Without the column otlp, the reader uses these texts.
func TestWrittenTextsFit(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		var batches []lake.Batch
		for seed := range uint64(40) {
			batches = append(batches, random(s, randtel.New(seed)))
		}
		content, _ := edit(t, f, s, write(t, f, s, lake.WriterOptions{}, batches...), "otlp")
		r, err := open(f, content, lake.Limits{})
		require.NoError(t, err)
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		require.Equal(t, io.EOF, err)
		require.Zero(t, r.Retyped())
	})
	for _, f := range []lake.Format{lake.Parquet, lake.Arrow} {
		ld := plog.NewLogs()
		body := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
		for range 80 {
			body = body.SetEmptySlice().AppendEmpty()
		}
		content, _ := edit(t, f, lake.Logs, write(t, f, lake.Logs, lake.WriterOptions{}, lake.Batch{Signal: lake.Logs, Logs: ld}), "otlp")
		records, retyped, err := recordsOf(t, f, content)
		require.NoError(t, err)
		require.Zero(t, retyped)
		require.Equal(t, pcommon.ValueTypeSlice, records[0].Body().Type())
	}
}

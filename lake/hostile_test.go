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
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

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

// TestHostileNesting: values in the column otlp that are nested too deeply are refused, at each
// place of a value. pdata would end the process by a stack overflow.
func TestHostileNesting(t *testing.T) {
	nest := func(v pcommon.Value, depth int, inMap bool) {
		for range depth {
			if inMap {
				v = v.SetEmptyMap().PutEmpty("k")
			} else {
				v = v.SetEmptySlice().AppendEmpty()
			}
		}
		v.SetStr("\xff") // not UTF-8, so the item is also in the column otlp
	}
	made := map[string]func(put func(pcommon.Map)) lake.Batch{}
	places := func(s lake.Signal, name string, f func(b lake.Batch, put func(pcommon.Map))) {
		made[s.String()+", "+name] = func(put func(pcommon.Map)) lake.Batch {
			b := lake.Batch{Signal: s, Metrics: pmetric.NewMetrics(), Traces: ptrace.NewTraces(), Logs: plog.NewLogs()}
			f(b, put)
			return b
		}
	}
	span := func(b lake.Batch) ptrace.Span {
		return b.Traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	}
	places(lake.Traces, "span", func(b lake.Batch, put func(pcommon.Map)) { put(span(b).Attributes()) })
	places(lake.Traces, "event", func(b lake.Batch, put func(pcommon.Map)) { put(span(b).Events().AppendEmpty().Attributes()) })
	places(lake.Traces, "link", func(b lake.Batch, put func(pcommon.Map)) { put(span(b).Links().AppendEmpty().Attributes()) })
	places(lake.Traces, "resource", func(b lake.Batch, put func(pcommon.Map)) {
		span(b)
		put(b.Traces.ResourceSpans().At(0).Resource().Attributes())
	})
	places(lake.Traces, "scope", func(b lake.Batch, put func(pcommon.Map)) {
		span(b)
		put(b.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes())
	})
	record := func(b lake.Batch) plog.LogRecord {
		return b.Logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	}
	places(lake.Logs, "record", func(b lake.Batch, put func(pcommon.Map)) { put(record(b).Attributes()) })
	places(lake.Logs, "body", func(b lake.Batch, put func(pcommon.Map)) { put(record(b).Body().SetEmptyMap()) })
	metric := func(b lake.Batch) pmetric.Metric {
		return b.Metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	}
	places(lake.Metrics, "metadata", func(b lake.Batch, put func(pcommon.Map)) {
		m := metric(b)
		m.SetEmptyGauge().DataPoints().AppendEmpty()
		put(m.Metadata())
	})
	places(lake.Metrics, "gauge", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptyGauge().DataPoints().AppendEmpty().Attributes())
	})
	places(lake.Metrics, "sum", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptySum().DataPoints().AppendEmpty().Exemplars().AppendEmpty().FilteredAttributes())
	})
	places(lake.Metrics, "histogram", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptyHistogram().DataPoints().AppendEmpty().Attributes())
	})
	places(lake.Metrics, "exemplar of a histogram", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptyHistogram().DataPoints().AppendEmpty().Exemplars().AppendEmpty().FilteredAttributes())
	})
	places(lake.Metrics, "exponential histogram", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Attributes())
	})
	places(lake.Metrics, "exemplar of an exponential histogram", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Exemplars().AppendEmpty().FilteredAttributes())
	})
	places(lake.Metrics, "summary", func(b lake.Batch, put func(pcommon.Map)) {
		put(metric(b).SetEmptySummary().DataPoints().AppendEmpty().Attributes())
	})
	for name, batchOf := range made {
		for _, inMap := range []bool{false, true} {
			for _, depth := range []int{1500, 1501} { // stef reads OTLP with up to 1,500 levels
				inside := depth
				if strings.HasSuffix(name, ", body") {
					inside-- // the body is a map
				}
				b := batchOf(func(m pcommon.Map) { nest(m.PutEmpty("k"), inside, inMap) })
				if depth == 1500 {
					got, err := read(lake.Arrow, write(t, lake.Arrow, b.Signal, lake.WriterOptions{}, b), lake.Limits{})
					require.NoError(t, err, name)
					require.Len(t, got, 1)
					continue
				}
				_, err := read(lake.Arrow, deepFile(t, batchOf, b), lake.Limits{})
				require.ErrorIs(t, err, lake.ErrLimit, name)
				require.ErrorContains(t, err, "row 0, column otlp: values are nested more than 1500 levels deep")

				// A writer does not write what a reader refuses.
				w, err := lake.NewWriter(new(bytes.Buffer), lake.Parquet, b.Signal, lake.WriterOptions{})
				require.NoError(t, err)
				require.NoError(t, w.Write(batchOf(func(pcommon.Map) {})))
				err = w.Write(b)
				require.ErrorIs(t, err, lake.ErrLimit, name)
				require.ErrorContains(t, err, "item 2 has a value that is nested more than 1500 levels deep")
				require.NoError(t, w.Close())
				require.EqualValues(t, 1, w.Items())
			}
		}
	}
}

// deepFile returns an Arrow stream of one row that has deep in the column otlp.
func deepFile(t *testing.T, batchOf func(func(pcommon.Map)) lake.Batch, deep lake.Batch) []byte {
	message, err := (&plog.ProtoMarshaler{}).MarshalLogs(deep.Logs)
	switch deep.Signal {
	case lake.Metrics:
		message, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(deep.Metrics)
	case lake.Traces:
		message, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(deep.Traces)
	}
	require.NoError(t, err)
	builder, err := lake.NewBuilder(lake.Arrow, deep.Signal, nil)
	require.NoError(t, err)
	made, err := builder.RecordBatches(batchOf(func(pcommon.Map) {}))
	require.NoError(t, err)
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	b.Append(message)
	row, err := made[0].SetColumn(builder.Schema().FieldIndices("otlp")[0], b.NewArray())
	require.NoError(t, err)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(builder.Schema()))
	require.NoError(t, w.Write(row))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestHostileMessages: a batch whose column otlp has more messages than the limit, or an encoding
// that could hide messages, is refused.
func TestHostileMessages(t *testing.T) {
	schema := schemaOf(t)
	field := func(tag byte, content []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag}, uint64(len(content))), content...)
	}
	file := func(item []byte) []byte {
		columns := make([]arrow.Array, len(schema.Fields()))
		for i, f := range schema.Fields() {
			columns[i] = array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 1)
		}
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		b.Append(field(1<<3|2, field(2<<3|2, field(2<<3|2, item))))
		columns[schema.FieldIndices("otlp")[0]] = b.NewArray()
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithZstd())
		require.NoError(t, w.Write(array.NewRecordBatch(schema, columns, 1)))
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	small := file(bytes.Repeat([]byte{6<<3 | 2, 0}, 1<<25)) // empty attributes
	require.Less(t, len(small), 1<<16)
	_, err := read(lake.Arrow, small, lake.Limits{})
	require.ErrorIs(t, err, lake.ErrLimit)
	_, err = read(lake.Arrow, file(bytes.Repeat([]byte{6<<3 | 2, 0}, 10)), lake.Limits{})
	require.NoError(t, err)
	for name, item := range map[string][]byte{
		"field 0":             {0, 0},
		"a number of 65 bits": append(bytes.Repeat([]byte{0xff}, 9), 2),
		"a large field":       binary.AppendUvarint(nil, 1<<35|1<<3),
		"a group":             {1<<3 | 3, 1<<3 | 4},
		"a length":            {6<<3 | 2, 1},
		"a fixed number":      {1<<3 | 1, 1, 2, 3},
		"a tag":               {0x80},
	} {
		_, err := read(lake.Arrow, file(item), lake.Limits{})
		require.ErrorIs(t, err, lake.ErrCorrupt, name)
		require.ErrorContains(t, err, "row 0, column otlp: it is not a valid message of OTLP", name)
	}
}

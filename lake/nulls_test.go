// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/lake"
)

// readEdited writes items to a table of each format, replaces a column, and reads the table.
func readEdited(t *testing.T, items lake.Batch, column string, replace func(arrow.Array) arrow.Array, check func(lake.Batch, error)) {
	t.Helper()
	for _, f := range []lake.Format{lake.Parquet, lake.Arrow} {
		b, err := lake.NewBuilder(f, items.Signal, nil)
		require.NoError(t, err)
		defer b.Release()
		batches, err := b.RecordBatches(items)
		require.NoError(t, err)
		columns := append([]arrow.Array(nil), batches[0].Columns()...)
		at := b.Schema().FieldIndices(column)[0]
		columns[at] = replace(columns[at])
		var out bytes.Buffer
		w, err := lake.NewWriter(&out, f, items.Signal, lake.WriterOptions{})
		require.NoError(t, err)
		require.NoError(t, w.WriteRecordBatch(array.NewRecordBatch(b.Schema(), columns, batches[0].NumRows())))
		require.NoError(t, w.Close())
		r, err := open(f, out.Bytes(), lake.Limits{})
		require.NoError(t, err)
		check(r.Next())
		r.Close()
	}
}

// pointsAndSpans returns a point of each type with lists, and a span with an event and a link. The
// items have all lists, with two elements.
func pointsAndSpans() (points, spans lake.Batch) {
	points = lake.Batch{Signal: lake.Metrics, Metrics: pmetric.NewMetrics()}
	metrics := points.Metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	h := metrics.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	h.SetTimestamp(1)
	h.BucketCounts().FromRaw([]uint64{7, 8})
	h.ExplicitBounds().FromRaw([]float64{1, 2})
	e := metrics.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	e.Positive().BucketCounts().FromRaw([]uint64{7, 8})
	e.Negative().BucketCounts().FromRaw([]uint64{7, 8})
	s := metrics.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty()
	spans = lake.Batch{Signal: lake.Traces, Traces: ptrace.NewTraces()}
	span := spans.Traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetEndTimestamp(1)
	for range 2 {
		h.Exemplars().AppendEmpty().SetTimestamp(1)
		s.QuantileValues().AppendEmpty().SetValue(1)
		span.Events().AppendEmpty().SetTimestamp(1)
		span.Links().AppendEmpty().SetFlags(1)
	}
	return points, spans
}

// withData returns an array like a with other buffers, children and number of nulls.
func withData(a arrow.Array, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.Array {
	d := a.Data()
	return array.MakeFromData(array.NewData(d.DataType(), d.Len(), buffers, children, array.UnknownNullCount, d.Offset()))
}

// withNull returns a with element i set to null. The value of the element remains in the memory.
func withNull(a arrow.Array, i int) arrow.Array {
	bits := bytes.Repeat([]byte{0xff}, (a.Len()+7)/8)
	bits[i/8] &^= 1 << (i % 8)
	buffers := append([]*memory.Buffer{memory.NewBufferBytes(bits)}, a.Data().Buffers()[1:]...)
	return withData(a, buffers, a.Data().Children())
}

// TestNullElements: a reader refuses a null in a list. In the place of the null, the array stores an
// arbitrary value, such as the value of another row.
func TestNullElements(t *testing.T) {
	second := func(list arrow.Array) arrow.Array {
		elements := withNull(list.(*array.List).ListValues(), 1)
		return withData(list, list.Data().Buffers(), []arrow.ArrayData{elements.Data()})
	}
	field := func(n int) func(arrow.Array) arrow.Array {
		return func(list arrow.Array) arrow.Array {
			elements := list.(*array.List).ListValues()
			fields := append([]arrow.ArrayData(nil), elements.Data().Children()...)
			fields[n] = withNull(elements.(*array.Struct).Field(n), 1).Data()
			elements = withData(elements, elements.Data().Buffers(), fields)
			return withData(list, list.Data().Buffers(), []arrow.ArrayData{elements.Data()})
		}
	}
	points, spans := pointsAndSpans()
	f := func(items lake.Batch, column, suffix string, replace func(arrow.Array) arrow.Array) {
		t.Helper()
		readEdited(t, items, column, replace, func(_ lake.Batch, err error) {
			require.ErrorIs(t, err, lake.ErrCorrupt)
			require.ErrorContains(t, err, ", column "+column+suffix+": element 1 of the list is null")
		})
	}
	for _, column := range []string{"bucket_counts", "explicit_bounds", "positive_bucket_counts", "negative_bucket_counts", "quantiles", "exemplars"} {
		f(points, column, "", second)
	}
	f(points, "quantiles", ".quantile", field(0))
	f(points, "quantiles", ".value", field(1))
	f(spans, "events", "", second)
	f(spans, "links", "", second)
}

// TestEarlyTimes: a reader refuses a time before 1970. In OTLP it would become a time after 2554.
func TestEarlyTimes(t *testing.T) {
	early := func(a arrow.Array) arrow.Array {
		b := array.NewTimestampBuilder(memory.DefaultAllocator, a.DataType().(*arrow.TimestampType))
		for range a.Len() {
			b.Append(-1)
		}
		return b.NewArray()
	}
	nested := func(list arrow.Array) arrow.Array {
		elements := list.(*array.List).ListValues()
		fields := append([]arrow.ArrayData(nil), elements.Data().Children()...)
		fields[0] = early(elements.(*array.Struct).Field(0)).Data()
		elements = withData(elements, elements.Data().Buffers(), fields)
		return withData(list, list.Data().Buffers(), []arrow.ArrayData{elements.Data()})
	}
	points, spans := pointsAndSpans()
	records := lake.Batch{Signal: lake.Logs, Logs: plog.NewLogs()}
	records.Logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	f := func(items lake.Batch, column, suffix string, replace func(arrow.Array) arrow.Array) {
		t.Helper()
		readEdited(t, items, column, replace, func(_ lake.Batch, err error) {
			require.ErrorIs(t, err, lake.ErrCorrupt)
			require.ErrorContains(t, err, "row 0, column "+column+suffix+": the time 1969-12-31 23:59:59.999999999 +0000 UTC is before 1970")
		})
	}
	for _, column := range []string{"time", "start_time"} {
		f(points, column, "", early)
	}
	f(points, "exemplars", ".time", nested)
	for _, column := range []string{"start_time", "end_time"} {
		f(spans, column, "", early)
	}
	f(spans, "events", ".time", nested)
	for _, column := range []string{"time", "observed_time"} {
		f(records, column, "", early)
	}
}

// TestNullMap: a row whose map is null has no attributes. In the test, the array stores attributes for
// the null, and they equal the attributes of the row before.
func TestNullMap(t *testing.T) {
	items := lake.Batch{Signal: lake.Logs, Logs: plog.NewLogs()}
	for range 2 {
		rl := items.Logs.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("user", "alice")
		rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	}
	replace := func(a arrow.Array) arrow.Array { return withNull(a, 1) }
	readEdited(t, items, "resource_attributes", replace, func(b lake.Batch, err error) {
		require.NoError(t, err)
		require.Equal(t, 2, b.Logs.ResourceLogs().Len())
		require.Equal(t, 1, b.Logs.ResourceLogs().At(0).Resource().Attributes().Len())
		require.Zero(t, b.Logs.ResourceLogs().At(1).Resource().Attributes().Len())
	})
}

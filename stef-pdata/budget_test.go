// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"

	"github.com/otelstef/stef/internal/fixtures"
)

// budgetCase is a signal whose items have attributes.
type budgetCase[T any] struct {
	batch  func(n int, fill func(i int, resource, item pcommon.Map)) T
	encode func(*bytes.Buffer, T) error
	record func(*bytes.Buffer) (*otelstef.Attributes, recordWriter)
	decode func(*bytes.Buffer, ...DecoderOption) (func() (T, error), *int, func() uint64)
	items  func(T) int
	size   func(T) int
	parse  func([]byte) (T, error)
}

type recordWriter interface {
	Write() error
	Close() error
}

var budgetTraces = budgetCase[ptrace.Traces]{
	batch: func(n int, fill func(int, pcommon.Map, pcommon.Map)) ptrace.Traces {
		td := ptrace.NewTraces()
		for i := range n {
			rs := td.ResourceSpans().AppendEmpty()
			fill(i, rs.Resource().Attributes(), rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes())
		}
		return td
	},
	encode: func(dst *bytes.Buffer, td ptrace.Traces) error {
		w, err := otelstef.NewSpansWriter(dst)
		if err != nil {
			return err
		}
		if err := NewTracesEncoder(w).Encode(td); err != nil {
			return err
		}
		return w.Close()
	},
	record: func(dst *bytes.Buffer) (*otelstef.Attributes, recordWriter) {
		w, err := otelstef.NewSpansWriter(dst)
		if err != nil {
			panic(err)
		}
		return w.Record().Span().Attributes(), w
	},
	decode: func(src *bytes.Buffer, options ...DecoderOption) (func() (ptrace.Traces, error), *int, func() uint64) {
		r, err := otelstef.NewSpansReader(src)
		if err != nil {
			panic(err)
		}
		d := NewTracesDecoder(r, options...)
		return d.Decode, &d.build.Spent, d.Records
	},
	items: ptrace.Traces.SpanCount,
	size:  new(ptrace.ProtoMarshaler).TracesSize,
	parse: new(ptrace.ProtoUnmarshaler).UnmarshalTraces,
}

var budgetMetrics = budgetCase[pmetric.Metrics]{
	batch: func(n int, fill func(int, pcommon.Map, pcommon.Map)) pmetric.Metrics {
		md := pmetric.NewMetrics()
		for i := range n {
			rm := md.ResourceMetrics().AppendEmpty()
			m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
			fill(i, rm.Resource().Attributes(), m.SetEmptyGauge().DataPoints().AppendEmpty().Attributes())
		}
		return md
	},
	encode: func(dst *bytes.Buffer, md pmetric.Metrics) error {
		w, err := otelstef.NewMetricsWriter(dst)
		if err != nil {
			return err
		}
		if err := NewMetricsEncoder(w).Encode(md); err != nil {
			return err
		}
		return w.Close()
	},
	record: func(dst *bytes.Buffer) (*otelstef.Attributes, recordWriter) {
		w, err := otelstef.NewMetricsWriter(dst)
		if err != nil {
			panic(err)
		}
		return w.Record().Attributes(), w
	},
	decode: func(src *bytes.Buffer, options ...DecoderOption) (func() (pmetric.Metrics, error), *int, func() uint64) {
		r, err := otelstef.NewMetricsReader(src)
		if err != nil {
			panic(err)
		}
		d := NewMetricsDecoder(r, options...)
		return d.Decode, &d.build.Spent, d.Records
	},
	items: pmetric.Metrics.DataPointCount,
	size:  new(pmetric.ProtoMarshaler).MetricsSize,
	parse: new(pmetric.ProtoUnmarshaler).UnmarshalMetrics,
}

var budgetLogs = budgetCase[plog.Logs]{
	batch: func(n int, fill func(int, pcommon.Map, pcommon.Map)) plog.Logs {
		ld := plog.NewLogs()
		for i := range n {
			rl := ld.ResourceLogs().AppendEmpty()
			fill(i, rl.Resource().Attributes(), rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Attributes())
		}
		return ld
	},
	encode: func(dst *bytes.Buffer, ld plog.Logs) error {
		w, err := otelstef.NewLogsWriter(dst)
		if err != nil {
			return err
		}
		if err := NewLogsEncoder(w).Encode(ld); err != nil {
			return err
		}
		return w.Close()
	},
	record: func(dst *bytes.Buffer) (*otelstef.Attributes, recordWriter) {
		w, err := otelstef.NewLogsWriter(dst)
		if err != nil {
			panic(err)
		}
		return w.Record().Record().Attributes(), w
	},
	decode: func(src *bytes.Buffer, options ...DecoderOption) (func() (plog.Logs, error), *int, func() uint64) {
		r, err := otelstef.NewLogsReader(src)
		if err != nil {
			panic(err)
		}
		d := NewLogsDecoder(r, options...)
		return d.Decode, &d.build.Spent, d.Records
	},
	items: plog.Logs.LogRecordCount,
	size:  new(plog.ProtoMarshaler).LogsSize,
	parse: new(plog.ProtoUnmarshaler).UnmarshalLogs,
}

// TestMaxBytes uses records that share a text. OTLP repeats the text, but the size of each batch
// as OTLP is within the limit. No record is lost.
func TestMaxBytes(t *testing.T) {
	t.Run("traces", func(t *testing.T) { testMaxBytes(t, &budgetTraces) })
	t.Run("metrics", func(t *testing.T) { testMaxBytes(t, &budgetMetrics) })
	t.Run("logs", func(t *testing.T) { testMaxBytes(t, &budgetLogs) })
}

func testMaxBytes[T any](t *testing.T, c *budgetCase[T]) {
	const limit, text, records = 1 << 20, 100 << 10, 64
	shared := strings.Repeat("x", text)
	for _, inResource := range []bool{false, true} {
		var stream bytes.Buffer
		require.NoError(t, c.encode(&stream, c.batch(records, func(i int, resource, item pcommon.Map) {
			item.PutInt("number", int64(i))
			if inResource {
				resource.PutInt("number", int64(i))
				resource.PutStr("text", shared)
			} else {
				item.PutStr("text", shared)
			}
		})))
		require.Less(t, stream.Len(), 2*text)
		decode, spent, _ := c.decode(&stream, WithMaxBytes(limit))
		items, most := 0, 0
		for {
			batch, err := decode()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			require.LessOrEqual(t, c.size(batch), *spent, "the estimate must not be below the size")
			items, most = items+c.items(batch), max(most, c.size(batch))
		}
		require.Equal(t, records, items)
		require.Less(t, most, limit+2*text)
		require.Greater(t, most, limit/2)
	}
}

// TestRoomOfManyRecords: a decoder reserves no more memory than a batch of WithMaxBytes can need.
// This holds even if the frame has 500,000 equal records and WithMaxItems sets no bound.
func TestRoomOfManyRecords(t *testing.T) {
	t.Run("traces", func(t *testing.T) { testRoomOfManyRecords(t, &budgetTraces) })
	t.Run("metrics", func(t *testing.T) { testRoomOfManyRecords(t, &budgetMetrics) })
	t.Run("logs", func(t *testing.T) { testRoomOfManyRecords(t, &budgetLogs) })
}

func testRoomOfManyRecords[T any](t *testing.T, of *budgetCase[T]) {
	var stream bytes.Buffer
	_, w := of.record(&stream)
	for range 500_000 {
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	decode, spent, _ := of.decode(&stream, WithMaxItems(math.MaxInt), WithMaxBytes(64<<10))
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		batch, err := decode()
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Less(t, of.items(batch), 500)
		require.GreaterOrEqual(t, *spent, 64<<10)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
	}
}

// TestHugeRecord uses a record whose attributes all share a text, so that its size as OTLP
// exceeds the limit of a record. The decoder returns the records before this record.
func TestHugeRecord(t *testing.T) {
	t.Run("traces", func(t *testing.T) { testHugeRecord(t, &budgetTraces) })
	t.Run("metrics", func(t *testing.T) { testHugeRecord(t, &budgetMetrics) })
	t.Run("logs", func(t *testing.T) { testHugeRecord(t, &budgetLogs) })
}

func testHugeRecord[T any](t *testing.T, c *budgetCase[T]) {
	text := strings.Repeat("x", 60<<10)
	// The batch encoder rejects such a record, so the test uses the record writer.
	write := func(keys int) *bytes.Buffer {
		var stream bytes.Buffer
		attrs, w := c.record(&stream)
		for i := range 3 {
			attrs.SetLen(0)
			if i == 2 {
				attrs.SetLen(keys)
				for k := range keys {
					attrs.SetString(k, strings.Repeat("k", k+1), text)
				}
			}
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		return &stream
	}
	decode, _, records := c.decode(write(900))
	batch, err := decode()
	require.ErrorIs(t, err, stef.ErrLimit)
	require.ErrorContains(t, err, "record 3")
	require.Equal(t, 2, c.items(batch))
	require.Less(t, c.size(batch), 1000)
	require.EqualValues(t, 2, records(), "record 3 is in no batch")
	_, err = decode()
	require.ErrorIs(t, err, stef.ErrLimit)
	require.EqualValues(t, 2, records())

	decode, _, records = c.decode(write(300))
	batch, err = decode()
	require.NoError(t, err)
	require.Equal(t, 3, c.items(batch))
	require.Greater(t, c.size(batch), 300*len(text))
	require.EqualValues(t, 3, records())
}

// TestEstimate compares the estimate for recordings with their size as OTLP.
func TestEstimate(t *testing.T) {
	t.Run("traces", func(t *testing.T) { testEstimate(t, &budgetTraces, fixtures.Traces()) })
	t.Run("metrics", func(t *testing.T) { testEstimate(t, &budgetMetrics, fixtures.Metrics()) })
	t.Run("logs", func(t *testing.T) { testEstimate(t, &budgetLogs, fixtures.Logs()) })
}

func testEstimate[T any](t *testing.T, c *budgetCase[T], file []byte) {
	parts, err := fixtures.Parts(file)
	require.NoError(t, err)
	var size, estimate int
	for _, part := range parts {
		batch, err := c.parse(part)
		require.NoError(t, err)
		if c.items(batch) == 0 {
			continue
		}
		var stream bytes.Buffer
		require.NoError(t, c.encode(&stream, batch))
		decode, spent, _ := c.decode(&stream)
		batch, err = decode()
		require.NoError(t, err)
		require.LessOrEqual(t, c.size(batch), *spent)
		size, estimate = size+c.size(batch), estimate+*spent
	}
	t.Logf("the estimate is %.2f times the size as OTLP", float64(estimate)/float64(size))
	require.Less(t, estimate, 4*size)
}

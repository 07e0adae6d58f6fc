// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Format is the format of a file.
type Format uint8

// The formats.
const (
	// Parquet is an Apache Parquet file with zstd.
	Parquet Format = iota
	// Arrow is an Arrow IPC stream with zstd, whose batches have dictionaries of their
	// own.
	Arrow
)

// String returns the name of the format.
func (f Format) String() string { return [...]string{"parquet", "arrow"}[f] }

// The defaults of WriterOptions.
const (
	DefaultRowGroupRows  = 1 << 17
	DefaultRowGroupBytes = 64 << 20
)

const (
	// A batch ends at this many rows or bytes.
	batchRows  = 1 << 13
	batchBytes = 4 << 20
)

// WriterOptions are the options of a writer. The zero value has the defaults.
type WriterOptions struct {
	// Columns are keys of attributes that get columns of their own, in addition to the
	// map: http.route of the item, resource:host.name, scope:name. A column has the
	// texts of the values, under the key with a dot in place of the colon.
	Columns []string
	// RowGroupRows and RowGroupBytes end a row group of Parquet. Bytes count before
	// encoding and compression; they bound the memory of the writer. An item that is
	// larger has a row group of its own.
	RowGroupRows, RowGroupBytes int
}

// Writer writes a table of one signal. It is not safe for use by several goroutines at
// once.
type Writer struct {
	signal Signal
	rows   *rows
	points *pointRows
	spans  *spanRows
	logs   *logRows
	sink   sink
	count  uint64
	err    error
}

// sink writes record batches to a file. bytes estimates the size of a batch before it is
// encoded.
type sink interface {
	write(batch arrow.RecordBatch, bytes int) error
	close() error
}

// NewWriter returns a writer of a file of the format. Close completes the file and does
// not close dst.
func NewWriter(dst io.Writer, f Format, s Signal, o WriterOptions) (*Writer, error) {
	chosen := parseKeys(o.Columns)
	schema := schemaOf(s, f, chosen)
	known := map[string]bool{}
	for _, field := range schema.Fields() {
		if known[field.Name] {
			return nil, fmt.Errorf("lake: there is a column %s already", field.Name)
		}
		known[field.Name] = true
	}
	w := &Writer{signal: s, rows: newRows(schema, chosen)}
	switch s {
	case Metrics:
		w.points = newPointRows(w.rows)
	case Traces:
		w.spans = newSpanRows(w.rows)
	default:
		w.logs = newLogRows(w.rows)
	}
	var err error
	if f == Parquet {
		w.sink, err = newParquetSink(dst, schema, o)
	} else {
		w.sink = &arrowSink{w: ipc.NewWriter(struct{ io.Writer }{dst}, ipc.WithSchema(schema), ipc.WithZstd())}
	}
	return w, err
}

// Items returns how many items were written.
func (w *Writer) Items() uint64 { return w.count }

// WriteMetrics writes the points of md, which it does not change.
func (w *Writer) WriteMetrics(md pmetric.Metrics) error {
	if w.points == nil {
		return w.other(Metrics)
	}
	p := w.points
	for _, rm := range md.ResourceMetrics().All() {
		p.setResource(rm.Resource(), rm.SchemaUrl())
		for _, sm := range rm.ScopeMetrics().All() {
			p.setScope(sm.Scope(), sm.SchemaUrl())
			for _, m := range sm.Metrics().All() {
				p.enter(m)
				switch m.Type() {
				case pmetric.MetricTypeGauge:
					addEach(w, m.Gauge().DataPoints(), p.addNumber)
				case pmetric.MetricTypeSum:
					addEach(w, m.Sum().DataPoints(), p.addNumber)
				case pmetric.MetricTypeHistogram:
					addEach(w, m.Histogram().DataPoints(), p.addHistogram)
				case pmetric.MetricTypeExponentialHistogram:
					addEach(w, m.ExponentialHistogram().DataPoints(), p.addExponential)
				case pmetric.MetricTypeSummary:
					addEach(w, m.Summary().DataPoints(), p.addSummary)
				}
			}
		}
	}
	return w.err
}

// WriteTraces writes the spans of td, which it does not change.
func (w *Writer) WriteTraces(td ptrace.Traces) error {
	if w.spans == nil {
		return w.other(Traces)
	}
	for _, rs := range td.ResourceSpans().All() {
		w.spans.setResource(rs.Resource(), rs.SchemaUrl())
		for _, ss := range rs.ScopeSpans().All() {
			w.spans.setScope(ss.Scope(), ss.SchemaUrl())
			addEach(w, ss.Spans(), w.spans.add)
		}
	}
	return w.err
}

// WriteLogs writes the log records of ld, which it does not change.
func (w *Writer) WriteLogs(ld plog.Logs) error {
	if w.logs == nil {
		return w.other(Logs)
	}
	for _, rl := range ld.ResourceLogs().All() {
		w.logs.setResource(rl.Resource(), rl.SchemaUrl())
		for _, sl := range rl.ScopeLogs().All() {
			w.logs.setScope(sl.Scope(), sl.SchemaUrl())
			addEach(w, sl.LogRecords(), w.logs.add)
		}
	}
	return w.err
}

func (w *Writer) other(s Signal) error {
	return fmt.Errorf("%w: %s into a table of %s", ErrSignal, s, w.signal)
}

// addEach adds items until one fails.
func addEach[T any, S interface {
	Len() int
	At(int) T
}](w *Writer, items S, add func(T) error) {
	for i := range items.Len() {
		if w.err != nil {
			return
		}
		if w.err = add(items.At(i)); w.err != nil {
			return
		}
		w.count++
		if w.rows.n >= batchRows || w.rows.bytes >= batchBytes {
			w.flush()
		}
	}
}

// flush writes a batch.
func (w *Writer) flush() {
	if w.err != nil || w.rows.n == 0 {
		return
	}
	w.err = guard(func() error {
		bytes := w.rows.bytes
		batch := w.rows.batch()
		defer batch.Release()
		return w.sink.write(batch, bytes)
	})
}

// Close completes the file.
func (w *Writer) Close() error {
	w.flush()
	if w.err != nil {
		return w.err
	}
	w.err = fmt.Errorf("lake: the writer is closed")
	return guard(w.sink.close)
}

// arrowSink writes an Arrow stream.
type arrowSink struct{ w *ipc.Writer }

func (s *arrowSink) write(batch arrow.RecordBatch, _ int) error { return s.w.Write(batch) }
func (s *arrowSink) close() error                               { return s.w.Close() }

// parquetSink writes a Parquet file.
type parquetSink struct {
	w           *pqarrow.FileWriter
	rows, bytes int // of the row group
	o           WriterOptions
}

func newParquetSink(dst io.Writer, schema *arrow.Schema, o WriterOptions) (*parquetSink, error) {
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.RowGroupBytes <= 0 {
		o.RowGroupBytes = DefaultRowGroupBytes
	}
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithVersion(parquet.V2_LATEST), // unsigned integers and nanoseconds
		parquet.WithCreatedBy("github.com/otelstef/stef/lake"),
		// Roll over by the rules here only.
		parquet.WithMaxRowGroupLength(int64(o.RowGroupRows) + batchRows),
	}
	// Values that do not repeat have no dictionary, nor have doubles: a dictionary has one
	// NaN for all.
	for _, name := range []string{"time", "start_time", "end_time", "observed_time", "span_id", "parent_span_id", "duration_ns", "otlp",
		"double_value", "sum", "min", "max", "zero_threshold", "explicit_bounds.list.element",
		"quantiles.list.element.quantile", "quantiles.list.element.value", "exemplars.list.element.double_value"} {
		properties = append(properties, parquet.WithDictionaryFor(name, false))
	}
	w, err := pqarrow.NewFileWriter(schema, struct{ io.Writer }{dst}, parquet.NewWriterProperties(properties...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	return &parquetSink{w: w, o: o}, nil
}

func (s *parquetSink) write(batch arrow.RecordBatch, bytes int) error {
	if s.rows > 0 && (s.rows+int(batch.NumRows()) > s.o.RowGroupRows || s.bytes+bytes > s.o.RowGroupBytes) {
		if err := s.w.NewBufferedRowGroupChecked(); err != nil {
			return err
		}
		s.rows, s.bytes = 0, 0
	}
	s.rows += int(batch.NumRows())
	s.bytes += bytes
	return s.w.WriteBuffered(batch)
}

func (s *parquetSink) close() error { return s.w.Close() }

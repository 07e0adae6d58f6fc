// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/lake/internal/columnfile"
)

// Format is the format of a file.
type Format uint8

// The formats.
const (
	// Parquet is an Apache Parquet file with zstd.
	Parquet Format = iota
	// Arrow is an Arrow IPC stream with zstd. Each record batch has its own
	// dictionaries.
	Arrow
)

// String returns the name of the format.
func (f Format) String() string { return [...]string{"parquet", "arrow"}[f] }

// The defaults of WriterOptions.
const (
	DefaultRowGroupRows  = 1 << 17
	DefaultRowGroupBytes = 64 << 20
)

// WriterOptions are the options of a writer. The zero value has the defaults.
type WriterOptions struct {
	// Columns are keys of attributes that get columns of their own, in addition to the map.
	// Examples: http.request.method of the item, resource:host.name, scope:name. The name of a
	// column is its key, with a dot in place of the colon. The column contains the values as
	// text.
	Columns []string
	// RowGroupRows and RowGroupBytes are the maximum sizes of a row group of Parquet. Bytes are
	// counted before encoding and compression, so they bound the memory of the writer. A record
	// batch that exceeds one of these sizes has a row group of its own.
	RowGroupRows, RowGroupBytes int
	// Uncompressed disables compression with zstd.
	Uncompressed bool
}

// Writer writes a table of one signal. It is not safe for use by several goroutines at
// once.
type Writer struct {
	signal Signal
	schema *arrow.Schema
	chosen []chosenKey
	// builder is nil until items are written.
	builder *Builder
	sink    sink
	count   uint64
	err     error
}

// sink writes rows to a file. It becomes the owner of the batches and releases them.
type sink interface {
	write(b built) error
	batches() int
	close() error
}

// NewWriter returns a writer of a file of the format. Close completes the file and does
// not close dst.
func NewWriter(dst io.Writer, f Format, s Signal, o WriterOptions) (*Writer, error) {
	chosen := parseKeys(o.Columns)
	schema, err := checkedSchema(s, f, chosen)
	if err != nil {
		return nil, err
	}
	w := &Writer{signal: s, schema: schema, chosen: chosen}
	if f == Parquet {
		w.sink, err = newParquetSink(dst, schema, o)
	} else {
		w.sink = newArrowSink(dst, schema, o)
	}
	return w, err
}

// Items returns how many items were written.
func (w *Writer) Items() uint64 { return w.count }

// Batches returns the number of record batches of an Arrow stream, or of row groups of a
// Parquet file. Call it after Close, because Close may write a batch or row group.
func (w *Writer) Batches() int { return w.sink.batches() }

// InOTLP returns how many of the items are also in the column otlp, because the readable
// columns only approximate them. Rows of WriteRecordBatch are not considered.
func (w *Writer) InOTLP() uint64 {
	if w.builder == nil {
		return 0
	}
	return w.builder.rows.kept
}

// EmptyColumn is a column of WriterOptions.Columns without a value.
type EmptyColumn struct {
	Key string
	// Meant is the key that the caller probably meant: an item, its resource or its scope has this
	// attribute. For the keys service.name and resource.service.name, Meant can be
	// resource:service.name. Meant is empty if there is no such key.
	Meant string
}

// EmptyColumns returns the columns of WriterOptions.Columns that are empty because no item
// had the attribute so far. Their keys may be misspelt. Rows of WriteRecordBatch are not
// considered.
func (w *Writer) EmptyColumns() []EmptyColumn {
	var empty []EmptyColumn
	for i, c := range w.chosen {
		switch {
		case w.builder == nil:
			empty = append(empty, EmptyColumn{Key: c.text})
		case !w.builder.rows.chosenFound[i]:
			empty = append(empty, EmptyColumn{c.text, w.builder.rows.chosenMeant[i]})
		}
	}
	return empty
}

// WriteMetrics writes the points of md, which it does not change.
func (w *Writer) WriteMetrics(md pmetric.Metrics) error {
	return w.Write(Batch{Signal: Metrics, Metrics: md})
}

// WriteTraces writes the spans of td, which it does not change.
func (w *Writer) WriteTraces(td ptrace.Traces) error {
	return w.Write(Batch{Signal: Traces, Traces: td})
}

// WriteLogs writes the log records of ld, which it does not change.
func (w *Writer) WriteLogs(ld plog.Logs) error {
	return w.Write(Batch{Signal: Logs, Logs: ld})
}

// Write writes the items of a batch, which it does not change. It leaves out items that readers
// refuse, because their values are nested too deep or because they have too many elements in lists
// and maps (docs/data-lake.md), writes all others, and returns *ItemErrors, which wraps ErrLimit.
// After any other error the writer cannot be used any more.
func (w *Writer) Write(items Batch) error {
	if w.err != nil {
		return w.err
	}
	if items.Signal != w.signal {
		return fmt.Errorf("%w: %s cannot be written to a table of %s", ErrSignal, items.Signal, w.signal)
	}
	if w.builder == nil {
		// The builder has dictionary columns for both formats. For Parquet, the columns of resource
		// and scope have one row for each run of rows.
		_, parquet := w.sink.(*parquetSink)
		schema := w.schema
		if parquet {
			schema = schemaOf(w.signal, Arrow, w.chosen)
		}
		w.builder = newBuilder(w.signal, schema, w.chosen, parquet)
	}
	err := guard(func() error { return w.builder.add(items, w.added) })
	if !errors.As(err, new(*ItemErrors)) {
		w.err = err
	}
	return err
}

// added counts an item, and ends the record batch if it is large enough.
func (w *Writer) added() error {
	w.count++
	if w.builder.full() {
		return w.flush()
	}
	return nil
}

// WriteRecordBatch writes the rows of a batch of a [Builder] for the same format, signal
// and columns.
func (w *Writer) WriteRecordBatch(batch arrow.RecordBatch) error {
	if w.err == nil && !batch.Schema().Equal(w.schema) {
		return fmt.Errorf("%w: the record batch was not built by a Builder of this table", ErrSchema)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	batch.Retain()
	w.err = guard(func() error { return w.sink.write(built{rows: batch, bytes: recordSize(batch)}) })
	if w.err == nil {
		w.count += uint64(batch.NumRows())
	}
	return w.err
}

// recordSize returns the bytes of the buffers of a record batch.
func recordSize(batch arrow.RecordBatch) (size int) {
	for _, c := range batch.Columns() {
		size += dataSize(c.Data())
	}
	return size
}

func dataSize(d arrow.ArrayData) (size int) {
	for _, b := range d.Buffers() {
		if b != nil {
			size += b.Len()
		}
	}
	for _, child := range d.Children() {
		size += dataSize(child)
	}
	return size
}

// Flush ends the record batch. Readers of an Arrow stream then receive the rows so far.
// In Parquet, the rows stay in the row group until it is written.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = guard(w.flush)
	}
	return w.err
}

func (w *Writer) flush() error {
	if w.builder == nil || w.builder.rows.n == 0 {
		return nil
	}
	return w.sink.write(w.builder.rows.batch())
}

// Close completes the file.
func (w *Writer) Close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.err = fmt.Errorf("lake: the writer is closed")
	return guard(w.sink.close)
}

type arrowSink struct {
	w *ipc.Writer
	n int
}

func newArrowSink(dst io.Writer, schema *arrow.Schema, o WriterOptions) *arrowSink {
	options := []ipc.Option{ipc.WithSchema(schema)}
	if !o.Uncompressed {
		options = append(options, ipc.WithZstd())
	}
	return &arrowSink{w: ipc.NewWriter(struct{ io.Writer }{dst}, options...)}
}

func (s *arrowSink) write(b built) error {
	defer b.rows.Release()
	s.n++
	return s.w.Write(b.rows)
}

func (s *arrowSink) batches() int { return s.n }

func (s *arrowSink) close() error { return s.w.Close() }

type parquetSink struct {
	w           *columnfile.Writer
	rows, bytes int // size of the row group
	groups      int
	o           WriterOptions
}

func newParquetSink(dst io.Writer, schema *arrow.Schema, o WriterOptions) (*parquetSink, error) {
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.RowGroupBytes <= 0 {
		o.RowGroupBytes = DefaultRowGroupBytes
	}
	w, err := columnfile.NewWriter(dst, schema, columnfile.Options{
		Uncompressed: o.Uncompressed,
		CreatedBy:    "github.com/otelstef/stef/lake",
		// Columns of doubles, and other columns whose values rarely repeat, have no dictionary.
		Plain: []string{"time", "start_time", "end_time", "observed_time", "span_id", "parent_span_id", "duration_ns", "otlp",
			"double_value", "sum", "min", "max", "zero_threshold", "explicit_bounds.list.element",
			"quantiles.list.element.quantile", "quantiles.list.element.value", "exemplars.list.element.double_value"},
	})
	if err != nil {
		return nil, fmt.Errorf("lake: %w", err)
	}
	return &parquetSink{w: w, o: o}, nil
}

func (s *parquetSink) write(b built) error {
	rows := int(b.rows.NumRows())
	if s.rows > 0 && (s.rows+rows > s.o.RowGroupRows || s.bytes+b.bytes > s.o.RowGroupBytes) {
		if err := s.w.EndRowGroup(); err != nil {
			return err
		}
		s.rows, s.bytes = 0, 0
	}
	if s.rows == 0 && rows > 0 {
		s.groups++
	}
	s.rows += rows
	s.bytes += b.bytes
	return s.w.Write(columnfile.Table{Rows: b.rows, Shared: b.shared, Runs: b.runs})
}

func (s *parquetSink) batches() int { return s.groups }

func (s *parquetSink) close() error { return s.w.Close() }

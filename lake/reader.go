// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// DefaultMemoryBytes is the default of Limits.MemoryBytes.
const DefaultMemoryBytes = 1 << 30

// Limits bound the resources of a reader. The zero value has the defaults.
type Limits struct {
	// MemoryBytes is the maximum size of the buffers of the reader. A batch of rows
	// with its texts, and a page of each column, must fit into these buffers.
	MemoryBytes int64
}

// Batch contains items of one signal.
type Batch struct {
	Signal  Signal
	Metrics pmetric.Metrics
	Traces  ptrace.Traces
	Logs    plog.Logs
}

// Reader reads a table that a Writer wrote. It is not safe for use by several goroutines
// at once.
type Reader struct {
	source  *source
	signal  Signal
	at      map[string]int
	start   func(all bool) // sets next and release; nil after it has set them
	next    func() (arrow.RecordBatch, error)
	release func()
	err     error
	batches int    // row groups of a Parquet file, or record batches of a stream that were read
	otlp    uint64 // rows whose item is in the column otlp
	edited  uint64 // rows counted in otlp whose other columns do not describe the item
	retyped uint64 // values whose text is not valid for their type
	rows    uint64 // rows read so far, including the current batch
}

// readRows is the maximum number of rows of Parquet that are read at a time.
const readRows = 1 << 12

// NewParquetReader returns a reader of a Parquet file. The caller releases it with Close. The
// errors of a reader wrap the error that src returned, or one of the errors of this package.
func NewParquetReader(src parquet.ReaderAtSeeker, l Limits) (r *Reader, err error) {
	from := new(source)
	err = guard(func() error {
		r, err = newParquetReader(fileSource{from, src}, l)
		return err
	})
	if err != nil {
		return nil, from.typed(err)
	}
	r.source = from
	return r, nil
}

func newParquetReader(src parquet.ReaderAtSeeker, l Limits) (*Reader, error) {
	mem := newLimited(l)
	properties := parquet.NewReaderProperties(mem)
	properties.BufferedStreamEnabled = true // reads one page at a time, not a whole column of a row group
	f, err := file.NewParquetReader(src, file.WithReadProps(properties))
	if err != nil && !ended(src) {
		return nil, fmt.Errorf("%w: the file is cut or not complete: Parquet has its index at the end: %w", ErrCorrupt, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	if err := checkStoredSchema(f); err != nil {
		return nil, err
	}
	size, err := src.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if err := checkChunks(f, size); err != nil {
		return nil, err
	}
	in, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: readRows}, mem)
	if err != nil {
		return nil, err
	}
	schema, err := in.Schema()
	if err != nil {
		return nil, err
	}
	r := &Reader{batches: f.NumRowGroups()}
	if err := r.check(schema); err != nil {
		return nil, err
	}
	r.start = func(all bool) {
		groups := &rowGroups{in: in}
		if !all {
			groups.leaves = neededLeaves(f, r.signal)
		}
		r.start, r.release = nil, groups.release
		r.next = func() (arrow.RecordBatch, error) {
			batch, err := groups.next()
			if err == nil && r.rows == 0 { // batches may have fewer columns than the file, so find the columns again
				err = r.locate(batch.Schema())
			}
			return batch, err
		}
	}
	return r, nil
}

// rowGroups reads the rows of a Parquet file, one row group after another. Each batch has rows of
// only one row group, so reading a row group needs no more memory than writing it.
type rowGroups struct {
	in      *pqarrow.FileReader
	leaves  []int // the leaf columns to read; nil for all
	n       int   // number of row groups that were begun
	rows    int64 // rows of the row group that were not read yet
	records pqarrow.RecordReader
}

func (g *rowGroups) next() (arrow.RecordBatch, error) {
	file := g.in.ParquetReader()
	for {
		if g.records != nil {
			batch, err := nextRecord(g.records)
			if err == nil {
				g.rows -= batch.NumRows()
			}
			if err != io.EOF {
				return batch, err
			}
			if g.rows != 0 { // the library does not compare the pages with the number of rows
				rows := file.MetaData().RowGroup(g.n - 1).NumRows()
				return nil, corrupt("row group %d has %d rows, but its pages have %d", g.n-1, rows, rows-g.rows)
			}
			g.release()
		}
		if g.n == file.NumRowGroups() {
			return nil, io.EOF
		}
		g.in.Props.BatchSize = batchSize(file.MetaData().RowGroup(g.n))
		records, err := g.in.GetRecordReader(context.Background(), g.leaves, []int{g.n})
		if err != nil {
			return nil, err
		}
		g.records, g.rows = records, file.MetaData().RowGroup(g.n).NumRows()
		g.n++
	}
}

func (g *rowGroups) release() {
	if g.records != nil {
		g.records.Release()
		g.records = nil
	}
}

// readBytes is approximately the maximum size of the rows that are read at a time, before
// their dictionaries are resolved. Row groups of other programs may be larger.
const readBytes = 64 << 20

func batchSize(group *metadata.RowGroupMetaData) int64 {
	rows, size := group.NumRows(), group.TotalByteSize()
	if size <= readBytes {
		return readRows
	}
	return max(min(int64(float64(rows)/float64(size)*readBytes), readRows), 1)
}

// ended reports whether a file ends with the magic bytes of Parquet. It also returns true if
// it cannot read the end.
func ended(src io.ReaderAt) bool {
	const magic = "PAR1"
	var end [len(magic)]byte
	s, ok := src.(io.Seeker)
	if !ok {
		return true
	}
	size, err := s.Seek(0, io.SeekEnd)
	if err != nil || size < 2*int64(len(end)) { // a whole file begins and ends with the magic bytes
		return err != nil
	}
	_, err = src.ReadAt(end[:], size-int64(len(end)))
	return err != nil || string(end[:]) == magic
}

// neededLeaves returns the leaf columns of a Parquet file from which items are read. It omits
// columns that are derived from other columns, and columns that this package does not know.
func neededLeaves(f *file.Reader, s Signal) (leaves []int) {
	needed := map[string]bool{}
	for _, field := range schemaOf(s, Parquet, nil).Fields() {
		needed[field.Name] = !derived(field.Name)
	}
	schema := f.MetaData().Schema
	for i := range schema.NumColumns() {
		if needed[schema.ColumnRoot(i).Name()] {
			leaves = append(leaves, i)
		}
	}
	return leaves
}

// begin starts to read: all columns of the file, or only the columns from which items are read.
func (r *Reader) begin(all bool) {
	if r.start != nil {
		r.start(all)
	}
}

// foreign is the likely cause of missing metadata, and what to do.
const foreign = "stef did not write it, or another program dropped its metadata (pyarrow keeps it): docs/data-lake.md says how to restore it"

// checkStoredSchema checks the sizes in the Arrow schema that a Parquet file has in its
// metadata.
func checkStoredSchema(f *file.Reader) error {
	stored := f.MetaData().KeyValueMetadata().FindValue(storedSchema)
	if stored == nil {
		return fmt.Errorf("%w: the file has no Arrow schema: %s", ErrSchema, foreign)
	}
	_, err := io.Copy(io.Discard, &checkedStream{src: base64.NewDecoder(base64.StdEncoding, strings.NewReader(*stored))})
	return err
}

// checkChunks checks the offsets and sizes of all column chunks. The library opens some
// of them in its own goroutines, where guard cannot recover from a panic.
func checkChunks(f *file.Reader, size int64) error {
	columns := f.MetaData().Schema.NumColumns()
	for g := range f.NumRowGroups() {
		group := f.MetaData().RowGroup(g)
		if group.NumColumns() != columns || group.NumRows() < 0 {
			return corrupt("row group %d has %d columns and %d rows, the schema has %d columns", g, group.NumColumns(), group.NumRows(), columns)
		}
		for i := range columns {
			chunk, err := group.ColumnChunk(i)
			if err != nil {
				return err
			}
			start, length := chunk.DataPageOffset(), chunk.TotalCompressedSize()
			if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
				start = min(start, chunk.DictionaryPageOffset())
			}
			if start < 0 || length < 0 || start > size || length > size-start || chunk.NumValues() < 0 {
				return corrupt("row group %d, column %d has %d values in %d bytes at offset %d, which does not fit in the file of %d bytes", g, i, chunk.NumValues(), length, start, size)
			}
		}
	}
	return nil
}

// storedSchema is the key of the Arrow schema in the metadata of a Parquet file.
const storedSchema = "ARROW:schema"

// NewArrowReader returns a reader of an Arrow stream. The caller releases it with Close. For its
// errors, see [NewParquetReader].
func NewArrowReader(src io.Reader, l Limits) (r *Reader, err error) {
	from := new(source)
	err = guard(func() error {
		mem := newLimited(l)
		in, err := ipc.NewReader(&checkedStream{src: streamSource{from, src}}, ipc.WithAllocator(mem), ipc.WithMetadataSizeLimit(maxMetadata), ipc.WithBodySizeLimit(mem.max))
		if err != nil {
			return err
		}
		r = &Reader{source: from, release: in.Release}
		r.next = func() (arrow.RecordBatch, error) {
			batch, err := nextRecord(in)
			if err == nil {
				r.batches++
			}
			return batch, err
		}
		return r.check(in.Schema())
	})
	if err != nil {
		return nil, from.typed(err)
	}
	return r, nil
}

// maxMetadata is the maximum size of the metadata of an Arrow message, in bytes.
const maxMetadata = 16 << 20

// maxRows is the maximum number of rows of an Arrow batch.
const maxRows = 1 << 16

// records is the common interface of the readers of both formats.
type records interface {
	Next() bool
	RecordBatch() arrow.RecordBatch
	Err() error
}

func nextRecord(r records) (arrow.RecordBatch, error) {
	if r.Next() {
		return r.RecordBatch(), nil
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, io.EOF
}

// check finds the signal of a table and the columns of its items. It refuses a table without a
// signal or without one of these columns.
func (r *Reader) check(schema *arrow.Schema) error {
	name, ok := schema.Metadata().GetValue(signalKey)
	if !ok {
		return fmt.Errorf("%w: its metadata has no %s: %s", ErrSchema, signalKey, foreign)
	}
	at := slices.Index(signalNames[:], name)
	if at < 0 {
		return fmt.Errorf("%w: unknown signal: %s is %q", ErrSchema, signalKey, name)
	}
	r.signal = Signal(at)
	return r.locate(schema)
}

// locate stores the indexes of the columns from which items are read.
func (r *Reader) locate(schema *arrow.Schema) error {
	r.at = map[string]int{}
	var missing []string
	for _, want := range schemaOf(r.signal, Parquet, nil).Fields() {
		if derived(want.Name) {
			continue
		}
		indices := schema.FieldIndices(want.Name)
		if len(indices) == 0 {
			missing = append(missing, want.Name)
			continue
		}
		if len(indices) > 1 {
			return fmt.Errorf("%w: it has %d columns named %s, not 1", ErrSchema, len(indices), want.Name)
		}
		if got := schema.Field(indices[0]).Type; !sameType(want.Type, got) {
			return fmt.Errorf("%w: the column %s has type %s, not %s: cast the table to the schema of the original file", ErrSchema, want.Name, got, want.Type)
		}
		r.at[want.Name] = indices[0]
	}
	if len(missing) == 1 {
		return fmt.Errorf("%w: the column %s is missing", ErrSchema, missing[0])
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: these columns are missing: %s", ErrSchema, strings.Join(missing, ", "))
	}
	return nil
}

// Batches returns the number of row groups of a Parquet file, or the number of record batches
// that were read from an Arrow stream so far.
func (r *Reader) Batches() int { return r.batches }

// Signal returns the signal of the table.
func (r *Reader) Signal() Signal { return r.signal }

// Next returns the items of the next rows, or io.EOF after the last row. The texts of the items
// share memory. Next reads only those columns of a Parquet file that are part of items. After an
// error, further calls return the same error.
func (r *Reader) Next() (b Batch, err error) {
	b.Signal = r.signal
	if r.err != nil {
		return b, r.err
	}
	r.err = r.source.typed(guard(func() error {
		r.begin(false)
		batch, err := r.record()
		if err != nil {
			return err
		}
		c := newColumns(batch, r.at)
		c.first = r.rows - uint64(c.n)
		b, err = itemsOf(c, r.signal)
		if err == nil {
			r.retyped += c.retyped
			otlp := batch.Column(r.at[otlpColumn.Name])
			r.otlp += uint64(otlp.Len() - otlp.NullN())
			_ = guard(func() error { return r.countEdited(batch) }) // an error only makes the count too low
		}
		return err
	}))
	return b, r.err
}

// FromOTLP returns how many of the items that Next returned were read from the column otlp.
// Edits of the other columns of these rows have no effect.
func (r *Reader) FromOTLP() uint64 { return r.otlp }

// Edited returns how many of the rows that FromOTLP counts were edited by another program. The
// readable columns of such a row differ from its item in the column otlp. Next returned the
// item without the edits.
func (r *Reader) Edited() uint64 { return r.edited }

// Retyped returns how many values of attributes and bodies Next returned as text, because the
// text in the table is not valid for the type of the value. Only edited tables have such values.
func (r *Reader) Retyped() uint64 { return r.retyped }

// NextRecordBatch returns the next rows as a record batch, or io.EOF after the last row. The
// batch is valid until the next call. It has all columns of the file, unless Next was called
// before for a Parquet file: then it has only the columns that Next reads. After an error,
// further calls return the same error.
func (r *Reader) NextRecordBatch() (batch arrow.RecordBatch, err error) {
	if r.err != nil {
		return nil, r.err
	}
	r.err = r.source.typed(guard(func() error {
		r.begin(true)
		batch, err = r.record()
		return err
	}))
	if r.err != nil {
		return nil, r.err
	}
	return batch, nil
}

func (r *Reader) record() (arrow.RecordBatch, error) {
	batch, err := r.next()
	if err != nil {
		return nil, err
	}
	if batch.NumRows() > maxRows {
		return nil, fmt.Errorf("%w: a batch has %d rows, at most %d are allowed: pyarrow writes smaller batches with write_table(t, max_chunksize=%d)", ErrLimit, batch.NumRows(), maxRows, maxRows)
	}
	for i, c := range batch.Columns() {
		if int64(c.Len()) != batch.NumRows() { // the library accepts longer columns
			return nil, corrupt("a batch has %d rows, and its column %s has %d", batch.NumRows(), batch.ColumnName(i), c.Len())
		}
	}
	r.rows += uint64(batch.NumRows())
	return batch, nil
}

func itemsOf(c *columns, s Signal) (b Batch, err error) {
	b.Signal = s
	switch s {
	case Metrics:
		b.Metrics, err = c.metrics()
	case Traces:
		b.Traces, err = c.traces()
	default:
		b.Logs, err = c.logs()
	}
	return b, err
}

// Items returns the items of a record batch that has the columns of this package, such as a
// batch of a [Builder]. The texts of the items share memory.
func Items(batch arrow.RecordBatch) (b Batch, err error) {
	err = typed(guard(func() error {
		var r Reader
		if err := r.check(batch.Schema()); err != nil {
			return err
		}
		b, err = itemsOf(newColumns(batch, r.at), r.signal)
		return err
	}))
	return b, err
}

// Close releases the reader. It does not close the source.
func (r *Reader) Close() {
	if r.release != nil {
		_ = guard(func() error { r.release(); return nil })
		r.release = nil
	}
	if r.err == nil {
		r.err = errors.New("lake: the reader is closed")
	}
}

// typed wraps an error of the libraries in ErrCorrupt. It returns io.EOF and the errors of this
// package unchanged.
func typed(err error) error {
	if err == nil || err == io.EOF || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrSchema) || errors.Is(err, ErrLimit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// limited is an allocator with a limit. The libraries do not expect errors of
// allocators, so it panics at the limit, and guard recovers.
type limited struct {
	memory.Allocator
	max  int64
	used atomic.Int64
}

func newLimited(l Limits) *limited {
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = DefaultMemoryBytes
	}
	return &limited{Allocator: memory.NewGoAllocator(), max: l.MemoryBytes}
}

// limitReached is the value of a panic at a limit. guard returns it as an error.
type limitReached struct{ text string }

func (e *limitReached) Error() string { return fmt.Sprintf("%v: %s", ErrLimit, e.text) }

func (e *limitReached) Unwrap() error { return ErrLimit }

func (l *limited) count(n int) {
	if l.used.Add(int64(n)) > l.max {
		l.used.Add(-int64(n))
		panic(&limitReached{fmt.Sprintf("the file needs more than the %d MiB of memory that a reader may use", l.max>>20)})
	}
}

// Allocate returns size bytes.
func (l *limited) Allocate(size int) []byte {
	l.count(size)
	return l.Allocator.Allocate(size)
}

// Reallocate returns b with the given size.
func (l *limited) Reallocate(size int, b []byte) []byte {
	if size > len(b) {
		l.count(size - len(b))
	} else {
		l.used.Add(int64(size - len(b)))
	}
	return l.Allocator.Reallocate(size, b)
}

// Free releases b.
func (l *limited) Free(b []byte) {
	l.used.Add(-int64(len(b)))
	l.Allocator.Free(b)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/klauspost/compress/zstd"
)

const magic = "PAR1"

// Options are the options of a writer.
type Options struct {
	// Uncompressed disables compression with zstd.
	Uncompressed bool
	// CreatedBy names the program in the file.
	CreatedBy string
	// Plain lists the paths of the leaf columns that are written without dictionaries, such as
	// columns whose values rarely repeat.
	Plain []string
}

// Table contains rows to write. The columns of the schema are the columns of Shared, if it is
// not nil, followed by the columns of Rows.
type Table struct {
	// Rows has a row for each row of the table.
	Rows arrow.RecordBatch
	// Shared has one row for each run of rows that have equal values in the columns of Shared.
	// Runs contains the lengths of the runs. Shared and Runs may be nil.
	Shared arrow.RecordBatch
	Runs   []int
}

func (t Table) release() {
	t.Rows.Release()
	if t.Shared != nil {
		t.Shared.Release()
	}
}

type column struct {
	field  arrow.Field
	leaves []*leaf
}

// Writer writes a file. It encodes a table while the caller prepares the next table. It is
// not safe for use by several goroutines at once.
type Writer struct {
	dst     *counted
	codec   compress.Compression
	meta    *metadata.FileMetaDataBuilder
	columns []column
	leaves  []*leaf
	rows    int // number of rows of the row group so far
	groups  int
	scratch sync.Pool  // pools *arena
	pending chan error // receives the result of encoding a table; nil while no table is encoded
}

type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Tell returns how many bytes were written.
func (c *counted) Tell() int64 { return c.n }

// NewWriter returns a writer of a file. Text columns of the schema must not be dictionaries,
// but text columns of tables may be. Close completes the file and does not close dst.
func NewWriter(dst io.Writer, schema *arrow.Schema, o Options) (*Writer, error) {
	properties := []parquet.WriterProperty{parquet.WithVersion(parquet.V2_LATEST), parquet.WithCreatedBy(o.CreatedBy)}
	codec := compress.Codecs.Uncompressed
	var encoder *zstd.Encoder
	if !o.Uncompressed {
		codec = compress.Codecs.Zstd
		var err error
		if encoder, err = zstd.NewWriter(nil, zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true),
			zstd.WithWindowSize(pageBytes), zstd.WithLowerEncoderMem(true)); err != nil {
			return nil, err
		}
	}
	props := parquet.NewWriterProperties(append(properties, parquet.WithCompression(codec))...)
	empty, err := emptyFile(schema, props)
	if err != nil {
		return nil, err
	}
	w := &Writer{dst: &counted{w: dst}, codec: codec,
		meta: metadata.NewFileMetadataBuilder(empty.Schema, props, empty.KeyValueMetadata())}
	plain := map[string]bool{}
	for _, path := range o.Plain {
		plain[path] = true
	}
	for _, f := range schema.Fields() {
		c := column{field: f}
		for _, t := range leafTypes(f.Type, nil) {
			col := empty.Schema.Column(len(w.leaves))
			l, err := newLeaf(col, t, !plain[col.Path()], encoder)
			if err != nil {
				return nil, err
			}
			c.leaves, w.leaves = append(c.leaves, l), append(w.leaves, l)
		}
		w.columns = append(w.columns, c)
	}
	_, err = io.WriteString(w.dst, magic)
	return w, err
}

// emptyFile returns the metadata of a file without rows. It contains the schema in the
// representation of Parquet.
func emptyFile(schema *arrow.Schema, props *parquet.WriterProperties) (*metadata.FileMetaData, error) {
	var b bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &b, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	r, err := file.NewParquetReader(bytes.NewReader(b.Bytes()))
	if err != nil {
		return nil, err
	}
	return r.MetaData(), r.Close()
}

// Write adds rows to the row group. It becomes the owner of the batches of the table and
// releases them. The error may be an error of an earlier table.
func (w *Writer) Write(t Table) error {
	if err := w.wait(); err != nil {
		t.release()
		return err
	}
	w.rows += int(t.Rows.NumRows())
	w.pending = make(chan error, 1)
	go func() {
		defer t.release()
		w.pending <- w.encode(t)
	}()
	return nil
}

func (w *Writer) wait() error {
	if w.pending == nil {
		return nil
	}
	err := <-w.pending
	w.pending = nil
	return err
}

// encode adds the columns of a table to their leaves, several columns at a time.
func (w *Writer) encode(t Table) error {
	shared := 0
	if t.Shared != nil {
		shared = int(t.Shared.NumCols())
	}
	return inParallel(len(w.columns), func(i int) {
		c := w.columns[i]
		runs, batch, at := t.Runs, t.Shared, i
		if i >= shared {
			runs, batch, at = nil, t.Rows, i-shared
		}
		field, next := c.field, 0
		a := batch.Column(at)
		field.Type = a.DataType()
		m, _ := w.scratch.Get().(*arena)
		if m == nil {
			m = new(arena)
		}
		defer w.scratch.Put(m)
		m.leaves(field, a, m.rows(a.Len()), 0, func(a arrow.Array, s slots) {
			if runs != nil {
				s = m.repeat(s, runs)
				defer m.put(s)
			}
			c.leaves[next].add(a, s)
			next++
		})
	})
}

// inParallel calls f(0) to f(n-1) from several goroutines. It returns a panic in f as an error.
func inParallel(n int, f func(int)) error {
	var next atomic.Int64
	var failed atomic.Value
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, fmt.Errorf("columnfile: %v", p))
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	running.Wait()
	err, _ := failed.Load().(error)
	return err
}

// EndRowGroup writes the rows since the last row group, if there are any.
func (w *Writer) EndRowGroup() error {
	if err := w.wait(); err != nil || w.rows == 0 {
		return err
	}
	if err := inParallel(len(w.leaves), func(i int) { w.leaves[i].endPage() }); err != nil {
		return err
	}
	group := w.meta.AppendRowGroup()
	group.SetNumRows(w.rows)
	start := w.dst.n
	for i, l := range w.leaves {
		if err := w.writeLeaf(i, l, group.NextColumnChunk()); err != nil {
			return err
		}
		l.reset()
	}
	err := group.Finish(w.dst.n-start, int16(w.groups))
	w.groups++
	w.rows = 0
	return err
}

func (w *Writer) writeLeaf(i int, l *leaf, chunk *metadata.ColumnChunkMetaDataBuilder) error {
	pages, err := file.NewPageWriter(w.dst, w.codec, compress.DefaultCompressionLevel, chunk, int16(w.groups), int16(i),
		memory.DefaultAllocator, false, nil, nil)
	if err != nil {
		return err
	}
	indexed, plain := false, false
	for _, p := range l.pages {
		indexed, plain = indexed || p.encoding == parquet.Encodings.RLEDict, plain || p.encoding == parquet.Encodings.Plain
	}
	if indexed {
		values := l.closed.encoded(l.width > 0)
		if _, err := pages.WriteDictionaryPage(file.NewDictionaryPage(memory.NewBufferBytes(values), int32(len(l.closed.ends)), parquet.Encodings.Plain)); err != nil {
			return err
		}
		l.closed.each(l.limits.add)
	}
	for _, p := range l.pages {
		data := file.NewDataPageV1(memory.NewBufferBytes(p.data), int32(p.slots), p.encoding, parquet.Encodings.RLE, parquet.Encodings.RLE, int32(p.uncompressed))
		if _, err := pages.WriteDataPage(data); err != nil {
			return err
		}
	}
	chunk.SetStats(l.statistics())
	if err := pages.Close(indexed, indexed && plain); err != nil {
		return err
	}
	if indexed && plain {
		// The library lists the two encodings in varying order, but equal rows must give equal
		// bytes, so omit the list.
		chunk.Contents().MetaData.EncodingStats = nil
	}
	return nil
}

// Close completes the file.
func (w *Writer) Close() error {
	if err := w.EndRowGroup(); err != nil {
		return err
	}
	meta, err := w.meta.Finish()
	if err != nil {
		return err
	}
	n, err := meta.WriteTo(w.dst, nil)
	if err != nil {
		return err
	}
	_, err = w.dst.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
	return err
}

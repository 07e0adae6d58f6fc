// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/parquetrow"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Parquet is a file of one row group for each batch, in the wide schema of
// package parquetrow.
func Parquet(order Order) Format { return parquetFormat{order} }

type parquetFormat struct{ order Order }

func (f parquetFormat) Name() string { return "Parquet " + f.order.String() }

func (f parquetFormat) Setup() string {
	s := "parquet-go, typed GenericWriter and GenericReader; wide schema with RLE_DICTIONARY, DELTA_BINARY_PACKED and nulls for zeros in the " +
		"struct tags, data pages v1 (DataPageVersion(1): those of v2 leave levels uncompressed), one row group a file, no page bounds and statistics (SkipPageBounds is per column, " +
		"DataPageStatistics(false)), pages of 1 MiB (PageBufferSize), writers used again (Reset)"
	if f.order == Sorted {
		s += "; rows sorted before writing"
	}
	return s
}

func (parquetFormat) Own() string { return "zstd (SpeedDefault) per page" }

func (parquetFormat) Drops() string {
	return "resources, scopes and metrics without items; entity references of resources; the order of attributes of different types"
}
func (parquetFormat) Stateful() bool { return false }

func (f parquetFormat) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	switch signal {
	case otlpfile.Metrics:
		return newRowEncoder(own, f.order, parquetrow.SortPoints, func(b otlpfile.Batch) []parquetrow.Point { return parquetrow.Points(b.Metrics) }), nil
	case otlpfile.Traces:
		return newRowEncoder(own, f.order, parquetrow.SortSpans, func(b otlpfile.Batch) []parquetrow.Span { return parquetrow.Spans(b.Traces) }), nil
	case otlpfile.Logs:
		return newRowEncoder(own, f.order, parquetrow.SortLogs, func(b otlpfile.Batch) []parquetrow.Log { return parquetrow.LogRows(b.Logs) }), nil
	default:
		return nil, dataset.ErrSignal
	}
}

func (f parquetFormat) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	switch signal {
	case otlpfile.Metrics:
		return &rowDecoder[parquetrow.Point]{batch: func(rows []parquetrow.Point) (otlpfile.Batch, error) {
			md, err := parquetrow.Metrics(rows)
			return otlpfile.MetricsBatch(md), err
		}}, nil
	case otlpfile.Traces:
		return &rowDecoder[parquetrow.Span]{batch: func(rows []parquetrow.Span) (otlpfile.Batch, error) {
			td, err := parquetrow.Traces(rows)
			return otlpfile.TracesBatch(td), err
		}}, nil
	case otlpfile.Logs:
		return &rowDecoder[parquetrow.Log]{batch: func(rows []parquetrow.Log) (otlpfile.Batch, error) {
			ld, err := parquetrow.Logs(rows)
			return otlpfile.LogsBatch(ld), err
		}}, nil
	default:
		return nil, dataset.ErrSignal
	}
}

// rowEncoder writes rows of one type.
type rowEncoder[T any] struct {
	rows func(otlpfile.Batch) []T
	sort func([]T)
	out  bytes.Buffer
	w    *parquet.GenericWriter[T]
}

func newRowEncoder[T any](own bool, order Order, sort func([]T), rows func(otlpfile.Batch) []T) *rowEncoder[T] {
	e := &rowEncoder[T]{rows: rows, sort: sort}
	if order == Ordered {
		e.sort = func([]T) {}
	}
	options := []parquet.WriterOption{parquet.DataPageStatistics(false), parquet.PageBufferSize(1 << 20), parquet.DataPageVersion(1)}
	for _, path := range parquet.SchemaOf(new(T)).Columns() {
		options = append(options, parquet.SkipPageBounds(path...))
	}
	if own {
		options = append(options, parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}))
	}
	e.w = parquet.NewGenericWriter[T](&e.out, options...)
	return e
}

func (e *rowEncoder[T]) Close() {}

func (e *rowEncoder[T]) Prepare(b otlpfile.Batch) (Native, error) {
	rows := e.rows(b)
	e.sort(rows)
	return rows, nil
}

func (e *rowEncoder[T]) EncodeNative(n Native) ([]byte, error) {
	e.out.Reset()
	e.w.Reset(&e.out)
	if _, err := e.w.Write(n.([]T)); err != nil {
		return nil, err
	}
	err := e.w.Close()
	return e.out.Bytes(), err
}

func (e *rowEncoder[T]) Encode(b otlpfile.Batch) ([]byte, error) {
	n, err := e.Prepare(b)
	if err != nil {
		return nil, err
	}
	return e.EncodeNative(n)
}

// rowDecoder reads rows of one type.
type rowDecoder[T any] struct {
	batch func([]T) (otlpfile.Batch, error)
}

func (d *rowDecoder[T]) Close() {}

func (d *rowDecoder[T]) read(message []byte) ([]T, error) {
	file, err := parquet.OpenFile(bytes.NewReader(message), int64(len(message)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	r := parquet.NewGenericReader[T](file)
	rows := make([]T, r.NumRows())
	n, err := r.Read(rows)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n != len(rows) {
		return nil, fmt.Errorf("format: %d rows of %d", n, len(rows))
	}
	return rows, r.Close()
}

func (d *rowDecoder[T]) DecodeNative(message []byte) (int, error) {
	rows, err := d.read(message)
	return len(rows), err
}

func (d *rowDecoder[T]) Decode(message []byte) (otlpfile.Batch, error) {
	rows, err := d.read(message)
	if err != nil {
		return otlpfile.Batch{}, err
	}
	return d.batch(rows)
}

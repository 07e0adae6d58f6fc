// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"errors"
	"io"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/lake"
)

// Parquet writes one file for each batch, in the wide schema of package lake. stef convert writes
// the same schema.
func Parquet(order Order) Format { return parquetFormat{order} }

type parquetFormat struct{ order Order }

func (f parquetFormat) Name() string { return "Parquet " + f.order.String() }

func (f parquetFormat) Setup() string {
	s := "package lake of this repository, as stef convert writes it: arrow-go, a wide table, dictionaries except for times, doubles and span ids, " +
		"row groups of up to 131,072 rows"
	if f.order == Sorted {
		s += "; rows in the order of STEF sorted"
	}
	return s
}

func (parquetFormat) Own() string                    { return "zstd (level of arrow-go) per page" }
func (parquetFormat) Drops(s otlpfile.Signal) string { return withoutItems(s) }
func (parquetFormat) Stateful() bool                 { return false }

func (f parquetFormat) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	rows, err := newLakeRows(lake.Parquet, signal)
	return &parquetEncoder{lakeRows: rows, signal: lakeSignals[signal], own: own, order: f.order}, err
}

// parquetEncoder writes a file for each batch.
type parquetEncoder struct {
	lakeRows
	signal lake.Signal
	own    bool
	order  Order
	out    bytes.Buffer
}

func (e *parquetEncoder) Close() { e.builder.Release() }

func (e *parquetEncoder) Prepare(b otlpfile.Batch) (Native, error) {
	if e.order == Sorted {
		var err error
		if b, err = Regroup(b); err != nil {
			return nil, err
		}
	}
	return e.lakeRows.Prepare(b)
}

func (e *parquetEncoder) EncodeNative(n Native) ([]byte, error) {
	e.out.Reset()
	w, err := lake.NewWriter(&e.out, lake.Parquet, e.signal, lake.WriterOptions{Uncompressed: !e.own})
	if err != nil {
		return nil, err
	}
	if err := writeRows(w, n); err != nil {
		return nil, err
	}
	err = w.Close()
	return e.out.Bytes(), err
}

func (e *parquetEncoder) Encode(b otlpfile.Batch) ([]byte, error) {
	n, err := e.Prepare(b)
	if err != nil {
		return nil, err
	}
	defer release(n)
	return e.EncodeNative(n)
}

func (parquetFormat) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	return parquetDecoder{signal}, nil
}

type parquetDecoder struct{ signal otlpfile.Signal }

func (parquetDecoder) Close() {}

func (d parquetDecoder) DecodeNative(message []byte) (items int, err error) {
	r, err := lake.NewParquetReader(bytes.NewReader(message), lake.Limits{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		batch, err := r.NextRecordBatch()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return items, err
		}
		items += int(batch.NumRows())
	}
}

func (d parquetDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	b := dataset.New(d.signal)
	r, err := lake.NewParquetReader(bytes.NewReader(message), lake.Limits{})
	if err != nil {
		return b, err
	}
	defer r.Close()
	for {
		items, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		collect(&b, items)
	}
}

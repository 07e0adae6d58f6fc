// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/lake"
)

// Arrow is one Arrow IPC stream for all batches, in the wide schema of package lake. It is
// not Otel Arrow, which has its own tables and protocol.
func Arrow() Format { return arrowFormat{} }

type arrowFormat struct{}

func (arrowFormat) Name() string { return "Arrow IPC" }

func (arrowFormat) Setup() string {
	return "package lake of this repository, as stef convert writes it: arrow-go, a wide table, dictionaries for text outside of maps; " +
		"one IPC stream for all batches, so that the schema is sent once"
}

func (arrowFormat) Own() string                    { return "zstd per buffer (ipc.WithZstd)" }
func (arrowFormat) Drops(s otlpfile.Signal) string { return withoutItems(s) }
func (arrowFormat) Stateful() bool                 { return true }

func (arrowFormat) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	rows, err := newLakeRows(lake.Arrow, signal)
	if err != nil {
		return nil, err
	}
	e := &arrowEncoder{lakeRows: rows}
	e.w, err = lake.NewWriter(&e.out, lake.Arrow, lakeSignals[signal], lake.WriterOptions{Uncompressed: !own})
	return e, err
}

type arrowEncoder struct {
	lakeRows
	out bytes.Buffer
	w   *lake.Writer
}

func (e *arrowEncoder) Encode(b otlpfile.Batch) ([]byte, error) {
	e.out.Reset()
	if err := e.w.Write(toLake(b)); err != nil {
		return nil, err
	}
	err := e.w.Flush()
	return e.out.Bytes(), err
}

func (e *arrowEncoder) EncodeNative(n Native) ([]byte, error) {
	e.out.Reset()
	err := writeRows(e.w, n)
	return e.out.Bytes(), err
}

// Close ends the stream. It discards the bytes that end the stream, and any error.
func (e *arrowEncoder) Close() {
	_ = e.w.Close()
	e.builder.Release()
}

func (arrowFormat) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	return &arrowDecoder{signal: signal}, nil
}

type arrowDecoder struct {
	signal otlpfile.Signal
	in     bytes.Buffer
	r      *lake.Reader
}

func (d *arrowDecoder) begin(message []byte) (err error) {
	d.in.Write(message)
	if d.r == nil {
		d.r, err = lake.NewArrowReader(&d.in, lake.Limits{})
	}
	return err
}

func (d *arrowDecoder) DecodeNative(message []byte) (items int, err error) {
	if err := d.begin(message); err != nil {
		return 0, err
	}
	for d.in.Len() > 0 {
		batch, err := d.r.NextRecordBatch()
		if err != nil {
			return items, err
		}
		items += int(batch.NumRows())
	}
	return items, nil
}

func (d *arrowDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	b := dataset.New(d.signal)
	if err := d.begin(message); err != nil {
		return b, err
	}
	for d.in.Len() > 0 {
		items, err := d.r.Next()
		if err != nil {
			return b, err
		}
		collect(&b, items)
	}
	return b, nil
}

func (d *arrowDecoder) Close() {
	if d.r != nil {
		d.r.Close()
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/otelstef/stef/benchmarks/arrowtable"
	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// Arrow is one Arrow IPC stream for all batches, in the schema of package
// arrowtable. It is not OTel Arrow, which has its own tables and protocol.
func Arrow() Format { return arrowFormat{} }

type arrowFormat struct{}

func (arrowFormat) Name() string { return "Arrow IPC" }

func (arrowFormat) Setup() string {
	return "arrow-go, typed builders; nested columnar schema, dictionaries for text (16-bit indexes, 32-bit where values are many); one IPC stream " +
		"for all batches with ipc.WithDictionaryDeltas(true), so that schema and dictionaries are sent once; columns without nulls are not nullable"
}

func (arrowFormat) Own() string {
	return "zstd per buffer (ipc.WithZstd, ipc.WithCompressConcurrency(1))"
}
func (arrowFormat) Drops() string {
	return "entity references of resources; the order of attributes of different types; numbers of enumerations beyond 0 to 255"
}
func (arrowFormat) Stateful() bool { return true }

func (arrowFormat) NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error) {
	e := &arrowEncoder{}
	var schema *arrow.Schema
	switch signal {
	case otlpfile.Metrics:
		schema = arrowtable.MetricsSchema
	case otlpfile.Traces:
		schema = arrowtable.TracesSchema
	case otlpfile.Logs:
		schema = arrowtable.LogsSchema
	default:
		return nil, dataset.ErrSignal
	}
	options := []ipc.Option{ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true)}
	if own {
		options = append(options, ipc.WithZstd(), ipc.WithCompressConcurrency(1))
	}
	e.builder = arrowtable.NewBuilder(schema)
	e.prepared = arrowtable.NewBuilder(schema)
	e.w = ipc.NewWriter(&e.out, options...)
	return e, nil
}

// arrowEncoder has a second builder for Prepare, so that Prepare does not
// change the dictionaries of the stream.
type arrowEncoder struct {
	builder, prepared *arrowtable.Builder
	out               bytes.Buffer
	w                 *ipc.Writer
}

func build(b *arrowtable.Builder, batch otlpfile.Batch) (arrow.RecordBatch, error) {
	switch batch.Signal {
	case otlpfile.Metrics:
		return b.Metrics(batch.Metrics)
	case otlpfile.Traces:
		return b.Traces(batch.Traces)
	default:
		return b.Logs(batch.Logs)
	}
}

func (e *arrowEncoder) Encode(b otlpfile.Batch) ([]byte, error) {
	records, err := build(e.builder, b)
	if err != nil {
		return nil, err
	}
	defer records.Release()
	return e.EncodeNative(records)
}

func (e *arrowEncoder) Prepare(b otlpfile.Batch) (Native, error) { return build(e.prepared, b) }

func (e *arrowEncoder) EncodeNative(n Native) ([]byte, error) {
	e.out.Reset()
	err := e.w.Write(n.(arrow.RecordBatch))
	return e.out.Bytes(), err
}

// Close ends the stream. It discards the end of the stream and any error.
func (e *arrowEncoder) Close() {
	_ = e.w.Close()
	e.builder.Close()
	e.prepared.Close()
}

func (arrowFormat) NewDecoder(signal otlpfile.Signal, _ bool) (Decoder, error) {
	return &arrowDecoder{signal: signal}, nil
}

type arrowDecoder struct {
	signal otlpfile.Signal
	in     bytes.Buffer
	r      *ipc.Reader
}

func (d *arrowDecoder) read(message []byte) (arrow.RecordBatch, error) {
	d.in.Write(message)
	if d.r == nil {
		r, err := ipc.NewReader(&d.in)
		if err != nil {
			return nil, err
		}
		d.r = r
	}
	if !d.r.Next() {
		if d.r.Err() != nil {
			return nil, d.r.Err()
		}
		return nil, io.ErrUnexpectedEOF
	}
	return d.r.RecordBatch(), nil
}

func (d *arrowDecoder) DecodeNative(message []byte) (int, error) {
	records, err := d.read(message)
	if err != nil {
		return 0, err
	}
	return arrowtable.Items(records), nil
}

func (d *arrowDecoder) Decode(message []byte) (b otlpfile.Batch, err error) {
	records, err := d.read(message)
	if err != nil {
		return b, err
	}
	b.Signal = d.signal
	switch d.signal {
	case otlpfile.Metrics:
		b.Metrics, err = arrowtable.Metrics(records)
	case otlpfile.Traces:
		b.Traces, err = arrowtable.Traces(records)
	default:
		b.Logs, err = arrowtable.Logs(records)
	}
	return b, err
}

func (d *arrowDecoder) Close() {
	if d.r != nil {
		d.r.Release()
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"
	"math"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// conversions are what can be done with the signals.
var conversions = map[otlpfile.Signal]conversion{
	otlpfile.Metrics: conversionOf(signal.Metrics, recodeMetrics, metricsOfBytes, metricsToBytes,
		func(b otlpfile.Batch) pmetric.Metrics { return b.Metrics }, otlpfile.MetricsBatch),
	otlpfile.Traces: conversionOf(signal.Traces, recodeSpans, tracesOfBytes, tracesToBytes,
		func(b otlpfile.Batch) ptrace.Traces { return b.Traces }, otlpfile.TracesBatch),
	otlpfile.Logs: conversionOf(signal.Logs, recodeLogs, logsOfBytes, logsToBytes,
		func(b otlpfile.Batch) plog.Logs { return b.Logs }, otlpfile.LogsBatch),
}

// compact make writers write in the compact form.
var compact = map[otlpfile.Signal]func() stef.WriterOption{
	otlpfile.Metrics: otelstef.CompactMetrics,
	otlpfile.Traces:  otelstef.CompactSpans,
	otlpfile.Logs:    otelstef.CompactLogs,
}

// published make writers write the published schema, if there is one.
var published = map[otlpfile.Signal]func() stef.WriterOption{
	otlpfile.Metrics: signal.Metrics.Published,
	otlpfile.Traces:  signal.Traces.Published,
	otlpfile.Logs:    signal.Logs.Published,
}

// conversion is what can be done with a signal.
type conversion struct {
	// items is what its items are called.
	items string
	// recode copies the records of a stream into another.
	recode recoder
	// encoder begins a stream that batches are written into, and decoder reads
	// one in batches. ofBytes begins a stream of batches that have no pdata, in
	// their order, toBytes reads one into such batches, and count counts their
	// items.
	encoder func(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error)
	decoder func(in io.Reader) (decoder, error)
	ofBytes bytesEncoder
	toBytes bytesDecoder
	count   func(otlp []byte) int
}

type (
	recoder      = func(in io.Reader, out io.Writer, o *Options, res *Result) error
	bytesEncoder = func(out io.Writer, opts []stef.WriterOption) (encoder, error)
	bytesDecoder = func(in io.Reader) (decoder, error)
)

// conversionOf returns the conversions of a described signal. The functions of and
// to take batches out of those of package otlpfile and make them.
func conversionOf[T any](d *signal.Descriptor[T], recode recoder, ofBytes bytesEncoder, toBytes bytesDecoder,
	of func(otlpfile.Batch) T, to func(T) otlpfile.Batch) conversion {
	return conversion{
		items: d.ItemName, recode: recode, ofBytes: ofBytes, toBytes: toBytes, count: d.OTLP.Count,
		encoder: func(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
			e, err := d.NewEncoder(out, []stefpdata.EncoderOption{stefpdata.WithMode(pdataModes[mode])}, opts...)
			if err != nil {
				return nil, err
			}
			return &batchEncoder{e.Writer, func(b otlpfile.Batch) error { return e.Encode(of(b)) }, e.Losses}, nil
		},
		decoder: func(in io.Reader) (decoder, error) {
			// A batch is a frame, however many items it has.
			r, err := d.NewDecoder(in, []stefpdata.DecoderOption{stefpdata.WithMaxItems(math.MaxInt32)})
			if err != nil {
				return nil, err
			}
			return &batchDecoder{func() (otlpfile.Batch, error) {
				batch, err := r.Decode()
				return to(batch), err
			}, r.Reader.Stats}, nil
		},
	}
}

// encoder writes batches into a stream.
type encoder interface {
	// Encode writes a batch, without the items that an error of the kind skipped
	// takes out, and ends the frame.
	Encode(b otlpfile.Batch) error
	// Close ends the stream.
	Close() error
	// Stats returns counts of what was written.
	Stats() stef.WriterStats
	// Losses says in words what the schema could not hold.
	Losses() []string
}

// decoder reads batches out of a stream, a frame or less at a time.
type decoder interface {
	// Decode returns a batch, without the items that an error of the kind skipped
	// takes out, and io.EOF after the last one.
	Decode() (otlpfile.Batch, error)
	// Stats returns counts of what was read.
	Stats() stef.ReaderStats
}

// skipped is an error of single items; all others of the batch are fine.
type skipped struct {
	items uint64
	err   error
}

func (s *skipped) Error() string { return s.err.Error() }
func (s *skipped) Unwrap() error { return s.err }

// ItemsOf returns what the items of a signal are called.
func ItemsOf(s otlpfile.Signal) string { return conversions[s].items }

// writerOptions returns the options of a stream for a signal.
func (o *Options) writerOptions(s otlpfile.Signal, more ...stef.WriterOption) ([]stef.WriterOption, error) {
	opts := append(more, stef.WithCompression(o.Compression))
	if o.Level != 0 {
		opts = append(opts, stef.WithLevel(o.Level))
	}
	switch o.Schema {
	case Compact:
		return append(opts, compact[s]()), nil
	case Full:
		// Announced, so that readers of the file need not guess its root.
		return append(opts, stef.WithSchemaHeader()), nil
	}
	if published[s] == nil {
		return nil, refuse("there is no reference schema of %s", s)
	}
	return append(opts, published[s]()), nil
}

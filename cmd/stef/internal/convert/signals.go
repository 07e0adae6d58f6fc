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
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// conversions are the conversions of the signals.
var conversions = map[otlpfile.Signal]conversion{
	otlpfile.Metrics: conversionOf(signal.Metrics,
		recodes(otlpfile.Metrics, otelstef.NewMetrics, otelstef.NewMetricsReader, otelstef.NewMetricsWriter, newMetricsShape),
		ofBytes(otelstef.NewMetricsWriter, stefotlp.NewMetricsEncoder),
		toBytes(otlpfile.Metrics, otelstef.NewMetricsReader, stefotlp.NewMetricsDecoder),
		func(b otlpfile.Batch) pmetric.Metrics { return b.Metrics }, otlpfile.MetricsBatch),
	otlpfile.Traces: conversionOf(signal.Traces,
		recodes(otlpfile.Traces, otelstef.NewSpans, otelstef.NewSpansReader, otelstef.NewSpansWriter, newSpansShape),
		ofBytes(otelstef.NewSpansWriter, stefotlp.NewTracesEncoder),
		toBytes(otlpfile.Traces, otelstef.NewSpansReader, stefotlp.NewTracesDecoder),
		func(b otlpfile.Batch) ptrace.Traces { return b.Traces }, otlpfile.TracesBatch),
	otlpfile.Logs: conversionOf(signal.Logs,
		recodes(otlpfile.Logs, otelstef.NewLogs, otelstef.NewLogsReader, otelstef.NewLogsWriter, nil),
		ofBytes(otelstef.NewLogsWriter, stefotlp.NewLogsEncoder),
		toBytes(otlpfile.Logs, otelstef.NewLogsReader, stefotlp.NewLogsDecoder),
		func(b otlpfile.Batch) plog.Logs { return b.Logs }, otlpfile.LogsBatch),
}

// compact makes writers use the compact form.
var compact = map[otlpfile.Signal]func() stef.WriterOption{
	otlpfile.Metrics: otelstef.CompactMetrics,
	otlpfile.Traces:  otelstef.CompactSpans,
	otlpfile.Logs:    otelstef.CompactLogs,
}

// published makes writers use the published schema, if there is one.
var published = map[otlpfile.Signal]func() stef.WriterOption{
	otlpfile.Metrics: signal.Metrics.Published,
	otlpfile.Traces:  signal.Traces.Published,
	otlpfile.Logs:    signal.Logs.Published,
}

// conversion has the functions that convert a signal.
type conversion struct {
	// items is the word for its items.
	items string
	// recode copies the records of one stream to another.
	recode recoder
	// encoder starts a stream that batches are written to, and decoder reads a
	// stream in batches. ofBytes starts a stream of batches without pdata, in
	// their order, toBytes reads a stream into such batches, and count counts
	// their items.
	encoder func(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error)
	decoder func(in io.Reader, opts []stef.ReaderOption) (decoder, error)
	ofBytes bytesEncoder
	toBytes bytesDecoder
	count   func(otlp []byte) int
}

type (
	recoder      = func(in io.Reader, out io.Writer, o *Options, res *Result) error
	bytesEncoder = func(out io.Writer, opts []stef.WriterOption) (encoder, error)
	bytesDecoder = func(in io.Reader, opts []stef.ReaderOption) (decoder, error)
)

// conversionOf returns the conversions of a described signal. The functions of
// and to extract pdata from batches of package otlpfile and create such
// batches.
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
		decoder: func(in io.Reader, opts []stef.ReaderOption) (decoder, error) {
			// A batch is one frame, regardless of its number of items.
			r, err := d.NewDecoder(in, []stefpdata.DecoderOption{stefpdata.WithMaxItems(math.MaxInt32)}, opts...)
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

// encoder writes batches to a stream.
type encoder interface {
	// Encode writes a batch and ends the frame. If it returns an error of type
	// skipped, it omitted those items.
	Encode(b otlpfile.Batch) error
	// Close ends the stream.
	Close() error
	// Stats returns the counts of the stream.
	Stats() stef.WriterStats
	// Losses describes what the schema could not hold.
	Losses() []string
}

// decoder reads batches from a stream, at most one frame at a time.
type decoder interface {
	// Decode returns a batch, and io.EOF after the last one. If it returns an
	// error of type skipped, it omitted those items.
	Decode() (otlpfile.Batch, error)
	// Stats returns the counts of the stream.
	Stats() stef.ReaderStats
}

// skipped is an error about single items; all other items of the batch are
// valid.
type skipped struct {
	items uint64
	err   error
}

func (s *skipped) Error() string { return s.err.Error() }
func (s *skipped) Unwrap() error { return s.err }

// ItemsOf returns the word for the items of a signal.
func ItemsOf(s otlpfile.Signal) string { return conversions[s].items }

// readerOptions returns the options of input streams.
func (o *Options) readerOptions() []stef.ReaderOption {
	return []stef.ReaderOption{stef.WithZstdDicts(o.Dictionaries...)}
}

// writerOptions returns the options of an output stream for a signal.
func (o *Options) writerOptions(s otlpfile.Signal, more ...stef.WriterOption) ([]stef.WriterOption, error) {
	opts := append(more, stef.WithCompression(o.Compression))
	if o.Level != 0 {
		opts = append(opts, stef.WithCompressionLevel(o.Level))
	}
	if o.Checksums {
		opts = append(opts, stef.WithChecksums())
	}
	switch o.Schema {
	case Compact:
		return append(opts, compact[s]()), nil
	case Full:
		// Announced, so that readers of the file do not have to guess its root.
		return append(opts, stef.WithSchemaHeader()), nil
	}
	if published[s] == nil {
		return nil, refuse("there is no reference schema of %s", s)
	}
	return append(opts, published[s]()), nil
}

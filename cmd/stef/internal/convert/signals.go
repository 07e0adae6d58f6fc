// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"
	"math"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

// conversions has the conversion of each signal.
var conversions = map[otlpfile.Signal]conversion{
	otlpfile.Metrics: {
		recode:  recodes(otlpfile.Metrics, otelstef.NewMetrics, otelstef.NewMetricsReader, otelstef.NewMetricsWriter, newMetricsShape),
		ofBytes: ofBytes(otelstef.NewMetricsWriter, stefotlp.NewMetricsEncoder),
		toBytes: toBytes(otlpfile.Metrics, otelstef.NewMetricsReader, stefotlp.NewMetricsDecoder),
	},
	otlpfile.Traces: {
		recode:  recodes(otlpfile.Traces, otelstef.NewSpans, otelstef.NewSpansReader, otelstef.NewSpansWriter, newSpansShape),
		ofBytes: ofBytes(otelstef.NewSpansWriter, stefotlp.NewTracesEncoder),
		toBytes: toBytes(otlpfile.Traces, otelstef.NewSpansReader, stefotlp.NewTracesDecoder),
	},
	otlpfile.Logs: {
		recode:  recodes(otlpfile.Logs, otelstef.NewLogs, otelstef.NewLogsReader, otelstef.NewLogsWriter, nil),
		ofBytes: ofBytes(otelstef.NewLogsWriter, stefotlp.NewLogsEncoder),
		toBytes: toBytes(otlpfile.Logs, otelstef.NewLogsReader, stefotlp.NewLogsDecoder),
	},
}

// conversion has the functions that convert a signal without pdata.
type conversion struct {
	// recode copies the records of one stream to another.
	recode recoder
	// ofBytes creates an encoder that writes batches to a stream and keeps their order.
	// toBytes creates a decoder that reads a stream in batches.
	ofBytes bytesEncoder
	toBytes bytesDecoder
}

type (
	recoder      = func(in io.Reader, out io.Writer, o *Options, res *Result) error
	bytesEncoder = func(out io.Writer, opts []stef.WriterOption) (encoder, error)
	bytesDecoder = func(in io.Reader, opts []stef.ReaderOption) (decoder, error)
)

// pdataEncoder starts a stream that batches of pdata are written to.
func pdataEncoder(s otlpfile.Signal, out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error) {
	e, err := anysignal.Of(s).NewEncoder(out, []stefpdata.EncoderOption{stefpdata.WithMode(pdataModes[mode])}, opts...)
	if err != nil {
		return nil, err
	}
	return &batchEncoder{e.Writer, e.Encode, e.Losses}, nil
}

// pdataDecoder reads a stream in batches of pdata. A batch is one frame, regardless of
// its number of items.
func pdataDecoder(s otlpfile.Signal, in io.Reader, opts []stef.ReaderOption) (decoder, error) {
	d, err := anysignal.Of(s).NewDecoder(in, []stefpdata.DecoderOption{stefpdata.WithMaxItems(math.MaxInt32)}, opts...)
	if err != nil {
		return nil, err
	}
	return &batchDecoder{d.Decode, d.Reader.Stats}, nil
}

// encoder writes batches to a stream.
type encoder interface {
	// Encode writes a batch and ends the frame. If it returns an error of type
	// skipped, it omitted only the items of this error.
	Encode(b otlpfile.Batch) error
	// Close ends the stream.
	Close() error
	// Stats returns the counts of the stream.
	Stats() stef.WriterStats
	// Losses describes what the schema could not represent. empty is the number of
	// resources, scopes and metrics without items that the encoder did not see. unknown is
	// the number of unknown fields that it did not see.
	Losses(empty, unknown uint64) []string
}

// decoder reads batches from a stream, at most one frame at a time.
type decoder interface {
	// Decode returns a batch, and io.EOF after the last batch. If it returns an
	// error of type skipped, it omitted only the items of this error.
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
func ItemsOf(s otlpfile.Signal) string { return anysignal.Of(s).ItemName }

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
		return append(opts, stef.WithSchema(schema.WireOf(anysignal.Of(s).Compact()))), nil
	case Full:
		// Announce the schema, so that readers of the file do not have to guess its root.
		return append(opts, stef.WithSchemaHeader()), nil
	}
	published := anysignal.Of(s).Published
	if published == nil {
		return nil, refuse("there is no reference schema of %s: use --schema full", s)
	}
	return append(opts, published()), nil
}

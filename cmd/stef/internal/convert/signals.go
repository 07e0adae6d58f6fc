// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"

	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// signals are the conversions there are, by signal.
var signals = map[otlpfile.Signal]signal{
	otlpfile.Metrics: {"data points", recodeMetrics, newMetricsEncoder, newMetricsDecoder},
	otlpfile.Traces:  {"spans", recodeSpans, newTracesEncoder, newTracesDecoder},
	otlpfile.Logs:    {"log records", recodeLogs, newLogsEncoder, newLogsDecoder},
}

// published make writers write in the published schema, where there is one.
var published = map[otlpfile.Signal]func() stef.WriterOption{
	otlpfile.Metrics: otelstef.PublishedMetrics,
	otlpfile.Traces:  otelstef.PublishedSpans,
}

// signal is what can be done with a kind of telemetry.
type signal struct {
	// items is what its items are called.
	items string
	// recode copies the records of a stream into another.
	recode func(in io.Reader, out io.Writer, o *Options, res *Result) error
	// encoder begins a stream that batches are written into, and decoder reads
	// one in batches.
	encoder func(out io.Writer, mode Mode, opts []stef.WriterOption) (encoder, error)
	decoder func(in io.Reader) (decoder, error)
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
func ItemsOf(s otlpfile.Signal) string { return signals[s].items }

// writerOptions returns the options of a stream for a signal.
func (o *Options) writerOptions(s otlpfile.Signal, more ...stef.WriterOption) ([]stef.WriterOption, error) {
	opts := append(more, stef.WithCompression(o.Compression))
	if o.Level != 0 {
		opts = append(opts, stef.WithLevel(o.Level))
	}
	if !o.Reference {
		// Announced, so that whoever reads the file need not guess its root.
		return append(opts, stef.WithSchemaHeader()), nil
	}
	if published[s] == nil {
		return nil, refuse("there is no reference schema of %s", s)
	}
	return append(opts, published[s]()), nil
}

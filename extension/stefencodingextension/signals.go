// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// signal describes traces, metrics or logs. B is the type of a batch.
type signal[B any] struct {
	name string
	// reference is the option for the reference schema, nil if that schema does not
	// have the signal. compact is the option for the compact form.
	reference, compact func() stef.WriterOption

	newBatch func() B
	items    func(B) int
	size     func(B) int // size of a batch as OTLP
	moveTo   func(src, dst B)

	newWriter  func(dst io.Writer, options ...stef.WriterOption) (recordWriter, error)
	newEncoder func(w recordWriter, options ...stefpdata.EncoderOption) batchEncoder[B]
	newReader  func(src io.Reader, options ...stef.ReaderOption) (recordReader, error)
	newDecoder func(r recordReader, options ...stefpdata.DecoderOption) batchDecoder[B]
}

// batchEncoder is the common interface of the encoders of all signals.
type batchEncoder[B any] interface {
	Encode(batch B) error
	Reset()
}

// batchDecoder is the common interface of the decoders of all signals.
type batchDecoder[B any] interface {
	Decode() (B, error)
	BatchBytes() int
	Reset()
}

// recordWriter is the common interface of the writers of all signals.
type recordWriter interface {
	Reset(dst io.Writer) error
	Flush() error
	Stats() stef.WriterStats
}

// recordReader is the common interface of the readers of all signals.
type recordReader interface {
	Reset(src io.Reader) error
	Next() bool
	Err() error
	Stats() stef.ReaderStats
	StateBytes() int
	Close()
}

var tracesSignal = &signal[ptrace.Traces]{
	name:      "traces",
	reference: otelstef.PublishedSpans,
	compact:   otelstef.CompactSpans,
	newBatch:  ptrace.NewTraces,
	items:     ptrace.Traces.SpanCount,
	size:      (&ptrace.ProtoMarshaler{}).TracesSize,
	moveTo:    func(src, dst ptrace.Traces) { src.ResourceSpans().MoveAndAppendTo(dst.ResourceSpans()) },
	newWriter: func(dst io.Writer, options ...stef.WriterOption) (recordWriter, error) {
		return otelstef.NewSpansWriter(dst, options...)
	},
	newEncoder: func(w recordWriter, options ...stefpdata.EncoderOption) batchEncoder[ptrace.Traces] {
		return stefpdata.NewTracesEncoder(w.(*otelstef.SpansWriter), options...)
	},
	newReader: func(src io.Reader, options ...stef.ReaderOption) (recordReader, error) {
		return otelstef.NewSpansReader(src, options...)
	},
	newDecoder: func(r recordReader, options ...stefpdata.DecoderOption) batchDecoder[ptrace.Traces] {
		return stefpdata.NewTracesDecoder(r.(*otelstef.SpansReader), options...)
	},
}

var metricsSignal = &signal[pmetric.Metrics]{
	name:      "metrics",
	reference: otelstef.PublishedMetrics,
	compact:   otelstef.CompactMetrics,
	newBatch:  pmetric.NewMetrics,
	items:     pmetric.Metrics.DataPointCount,
	size:      (&pmetric.ProtoMarshaler{}).MetricsSize,
	moveTo:    func(src, dst pmetric.Metrics) { src.ResourceMetrics().MoveAndAppendTo(dst.ResourceMetrics()) },
	newWriter: func(dst io.Writer, options ...stef.WriterOption) (recordWriter, error) {
		return otelstef.NewMetricsWriter(dst, options...)
	},
	newEncoder: func(w recordWriter, options ...stefpdata.EncoderOption) batchEncoder[pmetric.Metrics] {
		return stefpdata.NewMetricsEncoder(w.(*otelstef.MetricsWriter), options...)
	},
	newReader: func(src io.Reader, options ...stef.ReaderOption) (recordReader, error) {
		return otelstef.NewMetricsReader(src, options...)
	},
	newDecoder: func(r recordReader, options ...stefpdata.DecoderOption) batchDecoder[pmetric.Metrics] {
		return stefpdata.NewMetricsDecoder(r.(*otelstef.MetricsReader), options...)
	},
}

var logsSignal = &signal[plog.Logs]{
	name:     "logs",
	compact:  otelstef.CompactLogs,
	newBatch: plog.NewLogs,
	items:    plog.Logs.LogRecordCount,
	size:     (&plog.ProtoMarshaler{}).LogsSize,
	moveTo:   func(src, dst plog.Logs) { src.ResourceLogs().MoveAndAppendTo(dst.ResourceLogs()) },
	newWriter: func(dst io.Writer, options ...stef.WriterOption) (recordWriter, error) {
		return otelstef.NewLogsWriter(dst, options...)
	},
	newEncoder: func(w recordWriter, options ...stefpdata.EncoderOption) batchEncoder[plog.Logs] {
		return stefpdata.NewLogsEncoder(w.(*otelstef.LogsWriter), options...)
	},
	newReader: func(src io.Reader, options ...stef.ReaderOption) (recordReader, error) {
		return otelstef.NewLogsReader(src, options...)
	},
	newDecoder: func(r recordReader, options ...stefpdata.DecoderOption) batchDecoder[plog.Logs] {
		return stefpdata.NewLogsDecoder(r.(*otelstef.LogsReader), options...)
	},
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// ErrSignal is the error for a batch without a signal.
var ErrSignal = errors.New("the batch has no signal")

// New returns an empty batch.
func New(signal otlpfile.Signal) otlpfile.Batch {
	switch signal {
	case otlpfile.Metrics:
		return otlpfile.MetricsBatch(pmetric.NewMetrics())
	case otlpfile.Traces:
		return otlpfile.TracesBatch(ptrace.NewTraces())
	default:
		return otlpfile.LogsBatch(plog.NewLogs())
	}
}

// Unmarshal converts an OTLP message to a batch.
func Unmarshal(signal otlpfile.Signal, message []byte) (b otlpfile.Batch, err error) {
	b.Signal = signal
	switch signal {
	case otlpfile.Metrics:
		b.Metrics, err = (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(message)
	case otlpfile.Traces:
		b.Traces, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(message)
	case otlpfile.Logs:
		b.Logs, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message)
	default:
		err = ErrSignal
	}
	return b, err
}

// Marshal converts a batch to an OTLP message.
func Marshal(b otlpfile.Batch) ([]byte, error) {
	switch b.Signal {
	case otlpfile.Metrics:
		return (&pmetric.ProtoMarshaler{}).MarshalMetrics(b.Metrics)
	case otlpfile.Traces:
		return (&ptrace.ProtoMarshaler{}).MarshalTraces(b.Traces)
	case otlpfile.Logs:
		return (&plog.ProtoMarshaler{}).MarshalLogs(b.Logs)
	default:
		return nil, ErrSignal
	}
}

// Join returns the content of batches of one signal as one batch.
func Join(batches ...otlpfile.Batch) otlpfile.Batch {
	joined := New(batches[0].Signal)
	for _, b := range batches {
		switch b.Signal {
		case otlpfile.Metrics:
			for _, rm := range b.Metrics.ResourceMetrics().All() {
				rm.CopyTo(joined.Metrics.ResourceMetrics().AppendEmpty())
			}
		case otlpfile.Traces:
			for _, rs := range b.Traces.ResourceSpans().All() {
				rs.CopyTo(joined.Traces.ResourceSpans().AppendEmpty())
			}
		case otlpfile.Logs:
			for _, rl := range b.Logs.ResourceLogs().All() {
				rl.CopyTo(joined.Logs.ResourceLogs().AppendEmpty())
			}
		}
	}
	return joined
}

// MoveAll moves the content of src to the end of dst.
func MoveAll(dst, src otlpfile.Batch) {
	switch src.Signal {
	case otlpfile.Metrics:
		src.Metrics.ResourceMetrics().MoveAndAppendTo(dst.Metrics.ResourceMetrics())
	case otlpfile.Traces:
		src.Traces.ResourceSpans().MoveAndAppendTo(dst.Traces.ResourceSpans())
	case otlpfile.Logs:
		src.Logs.ResourceLogs().MoveAndAppendTo(dst.Logs.ResourceLogs())
	}
}

// Units counts the units of a batch size: metrics, spans or log records. The
// published measurements counted metrics, not points, so their tables can be
// compared with these.
func Units(b otlpfile.Batch) int {
	if b.Signal == otlpfile.Metrics {
		return b.Metrics.MetricCount()
	}
	return b.Items()
}

// Items returns the content of batches for comparison: each data point, span or
// log record with everything that describes it, regardless of position. The
// order of attributes is ignored.
func Items(signal otlpfile.Signal, batches []otlpfile.Batch) *canon.Items {
	o := canon.Options{SortAttributes: true}
	switch signal {
	case otlpfile.Metrics:
		var mds []pmetric.Metrics
		for _, b := range batches {
			mds = append(mds, b.Metrics)
		}
		return o.Metrics(mds...)
	case otlpfile.Traces:
		var tds []ptrace.Traces
		for _, b := range batches {
			tds = append(tds, b.Traces)
		}
		return o.Traces(tds...)
	default:
		var lds []plog.Logs
		for _, b := range batches {
			lds = append(lds, b.Logs)
		}
		return o.Logs(lds...)
	}
}

// Signals returns the signals in table order.
func Signals() []otlpfile.Signal {
	return []otlpfile.Signal{otlpfile.Metrics, otlpfile.Traces, otlpfile.Logs}
}

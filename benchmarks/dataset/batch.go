// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
	"github.com/otelstef/stef/internal/teltest/canon"
)

// ErrSignal is the error for a batch without a signal.
var ErrSignal = otlpfile.ErrSignal

// New returns an empty batch.
func New(signal otlpfile.Signal) otlpfile.Batch {
	return anysignal.Of(signal).New()
}

// Unmarshal converts an OTLP message to a batch that does not refer to the message.
func Unmarshal(signal otlpfile.Signal, message []byte) (otlpfile.Batch, error) {
	b, err := otlpfile.Unmarshal(signal, message)
	b.OTLP = nil
	return b, err
}

// Marshal converts the pdata of a batch to an OTLP message.
func Marshal(b otlpfile.Batch) ([]byte, error) {
	b.OTLP = nil
	return b.Marshal()
}

// Join returns the content of batches of one signal as one batch.
func Join(batches ...otlpfile.Batch) otlpfile.Batch {
	joined := New(batches[0].Signal)
	for _, b := range batches {
		copied := New(b.Signal)
		anysignal.Of(b.Signal).CopyTo(b, copied)
		MoveAll(joined, copied)
	}
	return joined
}

// MoveAll moves the content of src to the end of dst.
func MoveAll(dst, src otlpfile.Batch) { anysignal.Of(src.Signal).MoveTo(src, dst) }

// Units returns the size of a batch in metrics, spans or log records. It counts metrics, not
// points: the tables of other publications do so, and ours are compared with them.
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
		return o.Metrics(each(batches, func(b otlpfile.Batch) pmetric.Metrics { return b.Metrics })...)
	case otlpfile.Traces:
		return o.Traces(each(batches, func(b otlpfile.Batch) ptrace.Traces { return b.Traces })...)
	default:
		return o.Logs(each(batches, func(b otlpfile.Batch) plog.Logs { return b.Logs })...)
	}
}

func each[T any](batches []otlpfile.Batch, pdata func(otlpfile.Batch) T) (all []T) {
	for _, b := range batches {
		all = append(all, pdata(b))
	}
	return all
}

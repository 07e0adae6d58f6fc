// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// A Batch is the telemetry of one part. Signal says which of Metrics, Traces and
// Logs is set.
type Batch struct {
	Signal  Signal
	Metrics pmetric.Metrics
	Traces  ptrace.Traces
	Logs    plog.Logs

	// OTLP is the protobuf message as it is in the file, or nil if the file is
	// JSON. The next call of Next reuses this memory; pdata has copies. If OTLP
	// is set, a Writer writes OTLP instead of pdata, so set OTLP to nil after
	// changing pdata. See also WithoutPdata.
	OTLP []byte
}

// MetricsBatch returns a batch of metrics.
func MetricsBatch(md pmetric.Metrics) Batch { return Batch{Signal: Metrics, Metrics: md} }

// TracesBatch returns a batch of traces.
func TracesBatch(td ptrace.Traces) Batch { return Batch{Signal: Traces, Traces: td} }

// LogsBatch returns a batch of logs.
func LogsBatch(ld plog.Logs) Batch { return Batch{Signal: Logs, Logs: ld} }

// Items counts data points, spans or log records.
func (b Batch) Items() int {
	switch b.Signal {
	case Metrics:
		return b.Metrics.DataPointCount()
	case Traces:
		return b.Traces.SpanCount()
	case Logs:
		return b.Logs.LogRecordCount()
	}
	return 0
}

// HasPdata reports whether the batch has pdata, not only OTLP.
func (b Batch) HasPdata() bool {
	return b.Metrics != (pmetric.Metrics{}) || b.Traces != (ptrace.Traces{}) || b.Logs != (plog.Logs{})
}

// Marshal returns the protobuf message of the file. If OTLP is nil, it marshals pdata.
func (b Batch) Marshal() ([]byte, error) {
	if b.OTLP != nil {
		return b.OTLP, nil
	}
	switch b.Signal {
	case Metrics:
		return (&pmetric.ProtoMarshaler{}).MarshalMetrics(b.Metrics)
	case Traces:
		return (&ptrace.ProtoMarshaler{}).MarshalTraces(b.Traces)
	case Logs:
		return (&plog.ProtoMarshaler{}).MarshalLogs(b.Logs)
	}
	return nil, fmt.Errorf("%w of the batch is not set", ErrSignal)
}

// JSON returns the message as JSON, built from pdata.
func (b Batch) JSON() ([]byte, error) {
	switch b.Signal {
	case Metrics:
		return (&pmetric.JSONMarshaler{}).MarshalMetrics(b.Metrics)
	case Traces:
		return (&ptrace.JSONMarshaler{}).MarshalTraces(b.Traces)
	case Logs:
		return (&plog.JSONMarshaler{}).MarshalLogs(b.Logs)
	}
	return nil, fmt.Errorf("%w of the batch is not set", ErrSignal)
}

// Unmarshal builds a batch from a protobuf message and keeps the message. It reads the message as
// an export request, which has the same fields. pdata reads the scopes of old senders (see
// oldScopes) only in requests.
func Unmarshal(s Signal, otlp []byte) (Batch, error) {
	b := Batch{Signal: s, OTLP: otlp}
	switch s {
	case Metrics:
		r := pmetricotlp.NewExportRequest()
		err := r.UnmarshalProto(otlp)
		b.Metrics = r.Metrics()
		return b, err
	case Traces:
		r := ptraceotlp.NewExportRequest()
		err := r.UnmarshalProto(otlp)
		b.Traces = r.Traces()
		return b, err
	case Logs:
		r := plogotlp.NewExportRequest()
		err := r.UnmarshalProto(otlp)
		b.Logs = r.Logs()
		return b, err
	}
	return b, fmt.Errorf("%w of a message is not set", ErrSignal)
}

// UnmarshalJSON builds a batch from a message as JSON.
func UnmarshalJSON(s Signal, text []byte) (b Batch, err error) { return unmarshalJSON(s, text, false) }

// unmarshalJSON implements UnmarshalJSON. If strict is set, unknown fields are errors.
func unmarshalJSON(s Signal, text []byte, strict bool) (b Batch, err error) {
	b = Batch{Signal: s}
	switch s {
	case Metrics:
		b.Metrics, err = (&pmetric.JSONUnmarshaler{DisallowUnknownFields: strict}).UnmarshalMetrics(text)
	case Traces:
		b.Traces, err = (&ptrace.JSONUnmarshaler{DisallowUnknownFields: strict}).UnmarshalTraces(text)
	case Logs:
		b.Logs, err = (&plog.JSONUnmarshaler{DisallowUnknownFields: strict}).UnmarshalLogs(text)
	default:
		err = fmt.Errorf("%w of a message is not set", ErrSignal)
	}
	return b, err
}

// Points returns the number of points of a metric.
func Points(m pmetric.Metric) int {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints().Len()
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints().Len()
	case pmetric.MetricTypeHistogram:
		return m.Histogram().DataPoints().Len()
	case pmetric.MetricTypeExponentialHistogram:
		return m.ExponentialHistogram().DataPoints().Len()
	case pmetric.MetricTypeSummary:
		return m.Summary().DataPoints().Len()
	}
	return 0
}

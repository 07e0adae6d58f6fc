// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"context"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/encoding"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/signal"
)

// stefEncoding is the extension. Components call it from many goroutines.
type stefEncoding struct {
	telemetry *telemetry
	traces    *codec[ptrace.Traces]
	metrics   *codec[pmetric.Metrics]
	logs      *codec[plog.Logs]
}

var (
	_ encoding.TracesMarshalerExtension    = (*stefEncoding)(nil)
	_ encoding.TracesUnmarshalerExtension  = (*stefEncoding)(nil)
	_ encoding.MetricsMarshalerExtension   = (*stefEncoding)(nil)
	_ encoding.MetricsUnmarshalerExtension = (*stefEncoding)(nil)
	_ encoding.MetricsDecoderExtension     = (*stefEncoding)(nil)
	_ encoding.LogsMarshalerExtension      = (*stefEncoding)(nil)
	_ encoding.LogsUnmarshalerExtension    = (*stefEncoding)(nil)
	_ encoding.LogsDecoderExtension        = (*stefEncoding)(nil)
)

func newExtension(c *Config, settings extension.Settings) (*stefEncoding, error) {
	t, err := newTelemetry(settings.TelemetrySettings, settings.ID)
	if err != nil {
		return nil, err
	}
	dicts, err := c.dictionaries()
	if err != nil {
		return nil, err
	}
	e := &stefEncoding{telemetry: t}
	if e.traces, err = newCodec(signal.Traces, c, dicts, t); err != nil {
		return nil, err
	}
	if e.metrics, err = newCodec(signal.Metrics, c, dicts, t); err != nil {
		return nil, err
	}
	e.logs, err = newCodec(signal.Logs, c, dicts, t)
	return e, err
}

// Start does nothing: the extension does not use the host.
func (*stefEncoding) Start(context.Context, component.Host) error { return nil }

// Shutdown ends the telemetry of the extension.
func (e *stefEncoding) Shutdown(context.Context) error {
	e.telemetry.shutdown()
	return nil
}

// MarshalTraces returns a message with the spans of td.
func (e *stefEncoding) MarshalTraces(td ptrace.Traces) ([]byte, error) { return e.traces.marshal(td) }

// UnmarshalTraces returns the spans of a message.
func (e *stefEncoding) UnmarshalTraces(message []byte) (ptrace.Traces, error) {
	return e.traces.unmarshal(message)
}

// MarshalMetrics returns a message with the points of md.
func (e *stefEncoding) MarshalMetrics(md pmetric.Metrics) ([]byte, error) {
	return e.metrics.marshal(md)
}

// UnmarshalMetrics returns the points of a message.
func (e *stefEncoding) UnmarshalMetrics(message []byte) (pmetric.Metrics, error) {
	return e.metrics.unmarshal(message)
}

// MarshalLogs returns a message with the records of ld.
func (e *stefEncoding) MarshalLogs(ld plog.Logs) ([]byte, error) { return e.logs.marshal(ld) }

// UnmarshalLogs returns the records of a message.
func (e *stefEncoding) UnmarshalLogs(message []byte) (plog.Logs, error) {
	return e.logs.unmarshal(message)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata"
)

var tracesSignal = &signal[ptrace.Traces]{
	name: "traces",
	root: otelstef.SpansSchema(),
	open: func(src io.Reader, maxItems int, options ...stef.ReaderOption) (reader, decoder[ptrace.Traces], error) {
		r, err := otelstef.NewSpansReader(src, options...)
		if err != nil {
			return nil, nil, err
		}
		return r, stefpdata.NewTracesDecoder(r, stefpdata.WithMaxItems(maxItems)), nil
	},
	items: ptrace.Traces.SpanCount,
	size:  (&ptrace.ProtoMarshaler{}).TracesSize,
	start: (*receiverhelper.ObsReport).StartTracesOp,
	end:   (*receiverhelper.ObsReport).EndTracesOp,
	otlp: otlpService[ptrace.Traces]{
		name: "opentelemetry.proto.collector.trace.v1.TraceService",
		decode: func(b []byte) (ptrace.Traces, error) {
			request := ptraceotlp.NewExportRequest()
			err := request.UnmarshalProto(b)
			return request.Traces(), err
		},
		count: countSpans,
	},
}

var metricsSignal = &signal[pmetric.Metrics]{
	name: "metrics",
	root: otelstef.MetricsSchema(),
	open: func(src io.Reader, maxItems int, options ...stef.ReaderOption) (reader, decoder[pmetric.Metrics], error) {
		r, err := otelstef.NewMetricsReader(src, options...)
		if err != nil {
			return nil, nil, err
		}
		return r, stefpdata.NewMetricsDecoder(r, stefpdata.WithMaxItems(maxItems)), nil
	},
	items: pmetric.Metrics.DataPointCount,
	size:  (&pmetric.ProtoMarshaler{}).MetricsSize,
	start: (*receiverhelper.ObsReport).StartMetricsOp,
	end:   (*receiverhelper.ObsReport).EndMetricsOp,
	otlp: otlpService[pmetric.Metrics]{
		name: "opentelemetry.proto.collector.metrics.v1.MetricsService",
		decode: func(b []byte) (pmetric.Metrics, error) {
			request := pmetricotlp.NewExportRequest()
			err := request.UnmarshalProto(b)
			return request.Metrics(), err
		},
		count: countPoints,
	},
}

var logsSignal = &signal[plog.Logs]{
	name: "logs",
	root: otelstef.LogsSchema(),
	open: func(src io.Reader, maxItems int, options ...stef.ReaderOption) (reader, decoder[plog.Logs], error) {
		r, err := otelstef.NewLogsReader(src, options...)
		if err != nil {
			return nil, nil, err
		}
		return r, stefpdata.NewLogsDecoder(r, stefpdata.WithMaxItems(maxItems)), nil
	},
	items: plog.Logs.LogRecordCount,
	size:  (&plog.ProtoMarshaler{}).LogsSize,
	start: (*receiverhelper.ObsReport).StartLogsOp,
	end:   (*receiverhelper.ObsReport).EndLogsOp,
	otlp: otlpService[plog.Logs]{
		name: "opentelemetry.proto.collector.logs.v1.LogsService",
		decode: func(b []byte) (plog.Logs, error) {
			request := plogotlp.NewExportRequest()
			err := request.UnmarshalProto(b)
			return request.Logs(), err
		},
		count: countLogRecords,
	},
}

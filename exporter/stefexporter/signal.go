// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/pipeline"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// signal is what the exporter needs to know of traces, metrics or logs.
type signal[B any] struct {
	name pipeline.Signal
	// root is that of the streams.
	root *schema.Struct
	// mode is the order that is configured.
	mode func(*ModeConfig) Mode
	// items counts the items of a batch, and size its bytes as OTLP.
	items func(B) int
	size  func(B) int
	// encoder begins a stream.
	encoder func(dst io.Writer, mode stefpdata.Mode, options []stef.WriterOption) (*encoder[B], error)
	// client returns what makes OTLP requests.
	client func(*grpc.ClientConn) exportFunc[B]
}

// encoder writes batches to one stream.
type encoder[B any] struct {
	encode func(B) error
	losses func() stefpdata.Losses
	stream recordStream
}

// recordStream is what the writers of all roots have in common.
type recordStream interface {
	Flush() error
	Close() error
	Stats() stef.WriterStats
}

// exportFunc makes an OTLP request.
type exportFunc[B any] func(context.Context, B, ...grpc.CallOption) (partialSuccess, error)

// partialSuccess is what a peer says of a request that it has accepted.
type partialSuccess struct {
	rejected int64
	message  string
}

var tracesSignal = signal[ptrace.Traces]{
	name:  pipeline.SignalTraces,
	root:  otelstef.SpansSchema(),
	mode:  func(m *ModeConfig) Mode { return m.Traces },
	items: ptrace.Traces.SpanCount,
	size:  new(ptrace.ProtoMarshaler).TracesSize,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options []stef.WriterOption) (*encoder[ptrace.Traces], error) {
		w, err := otelstef.NewSpansWriter(dst, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewTracesEncoder(w, stefpdata.WithMode(mode))
		return &encoder[ptrace.Traces]{e.Encode, e.Losses, w}, nil
	},
	client: func(conn *grpc.ClientConn) exportFunc[ptrace.Traces] {
		client := ptraceotlp.NewGRPCClient(conn)
		return func(ctx context.Context, td ptrace.Traces, options ...grpc.CallOption) (partialSuccess, error) {
			response, err := client.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td), options...)
			if err != nil {
				return partialSuccess{}, err
			}
			p := response.PartialSuccess()
			return partialSuccess{p.RejectedSpans(), p.ErrorMessage()}, nil
		}
	},
}

var metricsSignal = signal[pmetric.Metrics]{
	name:  pipeline.SignalMetrics,
	root:  otelstef.MetricsSchema(),
	mode:  func(m *ModeConfig) Mode { return m.Metrics },
	items: pmetric.Metrics.DataPointCount,
	size:  new(pmetric.ProtoMarshaler).MetricsSize,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options []stef.WriterOption) (*encoder[pmetric.Metrics], error) {
		w, err := otelstef.NewMetricsWriter(dst, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewMetricsEncoder(w, stefpdata.WithMode(mode))
		return &encoder[pmetric.Metrics]{e.Encode, e.Losses, w}, nil
	},
	client: func(conn *grpc.ClientConn) exportFunc[pmetric.Metrics] {
		client := pmetricotlp.NewGRPCClient(conn)
		return func(ctx context.Context, md pmetric.Metrics, options ...grpc.CallOption) (partialSuccess, error) {
			response, err := client.Export(ctx, pmetricotlp.NewExportRequestFromMetrics(md), options...)
			if err != nil {
				return partialSuccess{}, err
			}
			p := response.PartialSuccess()
			return partialSuccess{p.RejectedDataPoints(), p.ErrorMessage()}, nil
		}
	},
}

var logsSignal = signal[plog.Logs]{
	name:  pipeline.SignalLogs,
	root:  otelstef.LogsSchema(),
	mode:  func(m *ModeConfig) Mode { return m.Logs },
	items: plog.Logs.LogRecordCount,
	size:  new(plog.ProtoMarshaler).LogsSize,
	encoder: func(dst io.Writer, mode stefpdata.Mode, options []stef.WriterOption) (*encoder[plog.Logs], error) {
		w, err := otelstef.NewLogsWriter(dst, options...)
		if err != nil {
			return nil, err
		}
		e := stefpdata.NewLogsEncoder(w, stefpdata.WithMode(mode))
		return &encoder[plog.Logs]{e.Encode, e.Losses, w}, nil
	},
	client: func(conn *grpc.ClientConn) exportFunc[plog.Logs] {
		client := plogotlp.NewGRPCClient(conn)
		return func(ctx context.Context, ld plog.Logs, options ...grpc.CallOption) (partialSuccess, error) {
			response, err := client.Export(ctx, plogotlp.NewExportRequestFromLogs(ld), options...)
			if err != nil {
				return partialSuccess{}, err
			}
			p := response.PartialSuccess()
			return partialSuccess{p.RejectedLogRecords(), p.ErrorMessage()}, nil
		}
	},
}

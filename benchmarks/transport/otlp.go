// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
)

// services are the OTLP services.
var services = map[otlpfile.Signal]string{
	otlpfile.Metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
	otlpfile.Traces:  "opentelemetry.proto.collector.trace.v1.TraceService",
	otlpfile.Logs:    "opentelemetry.proto.collector.logs.v1.LogsService",
}

// raw is a message as bytes.
type raw []byte

// rawCodec passes messages as bytes, so that they are deserialised where the
// server's workers are counted. An empty answer is a valid OTLP answer that
// reports success.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	to, ok := v.(*raw)
	if !ok {
		return fmt.Errorf("transport: unexpected message type %T", v)
	}
	*to = data.Materialize()
	return nil
}

// serveOTLP creates a server with the service of a signal. It registers the
// service by hand because of rawCodec.
func (r *run) serveOTLP(signal otlpfile.Signal, options []grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(options, grpc.ForceServerCodecV2(rawCodec{}))...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: services[signal],
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var message raw
				if err := decode(&message); err != nil {
					return nil, err
				}
				return raw(nil), r.work(func() error {
					b, err := dataset.Unmarshal(signal, message)
					if err == nil {
						r.look(b)
					}
					return err
				})
			},
		}},
	}, nil)
	return s
}

// otlpSender is a client that waits for each answer.
type otlpSender struct {
	metrics pmetricotlp.GRPCClient
	traces  ptraceotlp.GRPCClient
	logs    plogotlp.GRPCClient
	options []grpc.CallOption
}

func (r *run) openOTLP() *otlpSender {
	s := &otlpSender{
		metrics: pmetricotlp.NewGRPCClient(r.conn),
		traces:  ptraceotlp.NewGRPCClient(r.conn),
		logs:    plogotlp.NewGRPCClient(r.conn),
	}
	if r.config.Compression != None {
		s.options = append(s.options, grpc.UseCompressor(string(r.config.Compression)))
	}
	return s
}

func (s *otlpSender) send(ctx context.Context, b otlpfile.Batch) error {
	var err error
	switch b.Signal {
	case otlpfile.Metrics:
		_, err = s.metrics.Export(ctx, pmetricotlp.NewExportRequestFromMetrics(b.Metrics), s.options...)
	case otlpfile.Traces:
		_, err = s.traces.Export(ctx, ptraceotlp.NewExportRequestFromTraces(b.Traces), s.options...)
	default:
		_, err = s.logs.Export(ctx, plogotlp.NewExportRequestFromLogs(b.Logs), s.options...)
	}
	return err
}

func (s *otlpSender) finish(context.Context) error { return nil }

func (s *otlpSender) close() {}

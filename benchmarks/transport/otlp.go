// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/signal/anysignal"
)

type raw []byte

// rawCodec passes requests on as bytes, so that the handler deserialises them on one of the
// counted workers. It answers with no bytes, which is a valid OTLP response that reports
// success.
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

// serveOTLP creates a server with the service of a signal. It registers the service by hand,
// because the generated handlers expect decoded messages, and rawCodec passes bytes.
func (r *run) serveOTLP(signal otlpfile.Signal, options []grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(options, grpc.ForceServerCodecV2(rawCodec{}))...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: anysignal.Of(signal).OTLP.Service,
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
						r.examine(b)
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
	export  signal.Export[otlpfile.Batch]
	options []grpc.CallOption
}

func (r *run) openOTLP(of otlpfile.Signal) *otlpSender {
	s := &otlpSender{export: anysignal.Of(of).OTLP.NewClient(r.conn)}
	if r.config.Compression != None {
		s.options = append(s.options, grpc.UseCompressor(string(r.config.Compression)))
	}
	return s
}

func (s *otlpSender) send(ctx context.Context, b otlpfile.Batch) error {
	_, err := s.export(ctx, b, s.options...)
	return err
}

func (s *otlpSender) finish(context.Context) error { return nil }

func (s *otlpSender) close() {}

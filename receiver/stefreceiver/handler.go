// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc"
)

// handler serves both protocols of a signal. Each pipe has its own batch type; this interface hides
// the type.
type handler interface {
	// handle registers the pipe as the handler of STEF streams that have the root struct of its
	// signal.
	handle(s *stefgrpc.Server) error
	// register registers the pipe as the OTLP service of its signal.
	register(r grpc.ServiceRegistrar)
	// service returns the name of the OTLP service and the meter of the signal.
	service() (name string, m *meter)
}

func (p *pipe[T]) handle(s *stefgrpc.Server) error {
	p.meter.publish()
	return s.Handle(p.Compact(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		openingOf(s.Context()).served = true
		return newStream(p, s).serve()
	}))
}

func (p *pipe[T]) service() (name string, m *meter) { return p.OTLP.Service, p.meter }

func (p *pipe[T]) register(r grpc.ServiceRegistrar) {
	method := "/" + p.OTLP.Service + "/Export"
	export := func(ctx context.Context, request any) (any, error) {
		if err := p.export(ctx, request.(*otlpRequest)); err != nil {
			return nil, err
		}
		return otlpResponse{}, nil
	}
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: p.OTLP.Service,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
				request := &otlpRequest{}
				if err := decode(request); err != nil {
					if status.Code(err) == codes.ResourceExhausted {
						p.meter.refused(requestSize)
						p.core.logLarge(ctx, p.Name, err)
					}
					return nil, err
				}
				defer request.free()
				if intercept == nil {
					return export(ctx, request)
				}
				return p.intercepted(ctx, request, method, intercept, export)
			},
		}},
	}, struct{}{})
}

// intercepted runs the interceptors, which authenticate the client, and then exports a request.
func (p *pipe[T]) intercepted(ctx context.Context, request any, method string, intercept grpc.UnaryServerInterceptor, export grpc.UnaryHandler) (any, error) {
	admitted := false
	response, err := intercept(ctx, request, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, request any) (any, error) {
		admitted = true
		return export(ctx, request)
	})
	if !admitted && deniesClient(err) {
		p.meter.refused(refusedAuth)
		p.core.logUnauthenticated(ctx, err, "otlp", signalField(p.Name))
	}
	return response, err
}

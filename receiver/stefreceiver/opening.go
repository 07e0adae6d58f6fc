// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"fmt"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-gogrpc"
)

// opening says which steps of opening a STEF stream succeeded.
type opening struct {
	admitted bool // the authenticator and middlewares accept the stream
	served   bool // the stream named a signal that has a pipeline
}

type openingKey struct{}

type openingStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (o *openingStream) Context() context.Context { return o.ctx }

// openingOf returns the opening of a stream. If the context has no opening, it returns a new
// opening, which no other code reads.
func openingOf(ctx context.Context) *opening {
	if o, ok := ctx.Value(openingKey{}).(*opening); ok {
		return o
	}
	return &opening{}
}

// markAdmitted is the last interceptor of streams: when it runs, no other interceptor has refused
// the stream.
func markAdmitted(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	openingOf(stream.Context()).admitted = true
	return handler(srv, stream)
}

// explainRefused is the first interceptor of streams, so that it sees the errors of the
// authenticator. It counts and logs refused streams. If max_streams was reached, it adds this
// limit to the error for the client.
func (s *shared) explainRefused(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.FullMethod != stefgrpc.StreamMethod {
		err := handler(srv, stream)
		if off, ok := srv.(disabledOTLP); ok && deniesClient(err) {
			off.meter.refused(refusedAuth)
			s.logUnauthenticated(stream.Context(), err, "otlp", signalField(off.meter.name))
		}
		return err
	}
	ctx, o := stream.Context(), &opening{}
	err := handler(srv, &openingStream{stream, context.WithValue(stream.Context(), openingKey{}, o)})
	if o.served {
		return err
	}
	defer s.slowDown(ctx) // deferred: the refusal is counted and logged first
	reason := s.refusedReason(o, err)
	s.telemetry.ReceiverStefStreamsRefused.Add(ctx, 1, s.refused[reason])
	switch reason {
	case refusedAuth:
		s.logUnauthenticated(ctx, err, "stef", zap.Skip()) // the stream has not named its signal
	case refusedSignal:
		if skipped, ok := s.unserved.due(); ok {
			s.logger.Warn("A stream was refused: its signal has no pipeline with this receiver. Add the receiver to a pipeline of the signal, or do not send the signal here.",
				clientField(ctx), zap.Error(err), zap.Int64("not_logged", skipped))
		}
	case refusedFull:
		return s.explainFull(ctx, err)
	}
	return err
}

// slowDown charges a client for a stream that is refused. A client that opens such streams
// again and again waits for a permit of the throttle, and then pauses, if other clients are active. At most
// maxSlowed streams wait, because each takes memory, and limits::max_streams does not count them.
func (c *core) slowDown(ctx context.Context) {
	client, leave := c.clients.join(ctx)
	defer leave()
	if client.credit.add(0, streamCost) >= 0 {
		return
	}
	defer c.slowed.Add(-1)
	if c.slowed.Add(1) > maxSlowed {
		return
	}
	if acquired, _ := c.streamThrottle.acquirePermit(ctx, &client.streamThrottle); acquired {
		c.streamThrottle.releasePermit(ctx, &client.streamThrottle, streamWork, 0)
	}
}

const maxSlowed = 256

func (s *shared) refusedReason(o *opening, err error) string {
	switch {
	case !o.admitted && deniesClient(err):
		return refusedAuth
	case !o.admitted:
		return refusedOther
	case s.ending():
		return endServer
	}
	switch stefgrpc.Reason(err) {
	case stefgrpc.ReasonBusy:
		return refusedFull
	case stefgrpc.ReasonUnknownRoot:
		return refusedSignal
	}
	return refusedFirst
}

// explainFull logs that there are too many streams, and returns the error for the client.
func (s *shared) explainFull(ctx context.Context, err error) error {
	most := s.config.Limits.MaxStreams
	if skipped, ok := s.full.due(); ok {
		s.logger.Warn("A stream was refused: there are as many streams as limits::max_streams allows. Raise it, or lower num_streams of the exporters, which is for each signal.",
			zap.Int("max_streams", most), clientField(ctx), zap.Int64("not_logged", skipped))
	}
	answer := status.Convert(err).Proto() // a copy
	answer.Message = fmt.Sprintf("%s: raise limits::max_streams of the receiver (it is %d; an exporter opens num_streams streams for each signal)", answer.GetMessage(), most)
	return status.FromProto(answer).Err()
}

// disabledOTLP is the service of a signal whose OTLP requests are refused, because OTLP is turned
// off.
type disabledOTLP struct{ meter *meter }

// refuseOTLP refuses and logs OTLP requests if OTLP is turned off. gRPC itself would refuse
// them without a log line. Export is registered as a stream, because gRPC reads the request
// of a unary method before it calls the handler.
func (s *shared) refuseOTLP(r grpc.ServiceRegistrar, service string, m *meter) {
	refuse := func(_ any, stream grpc.ServerStream) error {
		if skipped, ok := s.otlpOff.due(); ok {
			s.logger.Warn("An OTLP request was refused: otlp::enabled of this receiver is false. Set it to true, or use a STEF exporter at the client.",
				clientField(stream.Context()), signalField(m.name), zap.Int64("not_logged", skipped))
		}
		return status.Errorf(codes.Unimplemented, "unknown service %s: otlp::enabled of this receiver is false", service)
	}
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Streams:     []grpc.StreamDesc{{StreamName: "Export", Handler: refuse, ClientStreams: true}},
	}, disabledOTLP{m})
}

// deniesClient reports whether an error rejects the credentials of a client.
func deniesClient(err error) bool {
	code := status.Code(err)
	return code == codes.Unauthenticated || code == codes.PermissionDenied
}

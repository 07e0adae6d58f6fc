// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/signal/anysignal"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// Sink receives the batches that arrive. It is called concurrently. A batch is
// acknowledged when Sink returns nil; after an error the sender is asked to
// retry.
type Sink func(otlpfile.Batch) error

// Options are the options that a gRPC server needs for Register.
func Options() []grpc.ServerOption {
	// Exporters send a keepalive every 30 s while a stream is open. By default, gRPC treats intervals
	// below five minutes as abuse, and closes the connection of an idle stream after some 90 s.
	policy := keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}
	return []grpc.ServerOption{grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)}), grpc.MaxRecvMsgSize(64 << 20),
		grpc.KeepaliveEnforcementPolicy(policy)}
}

// Register makes a gRPC server receive STEF streams and OTLP requests of all
// signals. Shut down the returned STEF server before the gRPC server.
func Register(r grpc.ServiceRegistrar, sink Sink) (*stefgrpc.Server, error) {
	server, err := stefgrpc.NewServer()
	if err != nil {
		return nil, err
	}
	for _, of := range otlpfile.Signals() {
		if err := receive(r, server, anysignal.Of(of), sink); err != nil {
			return nil, err
		}
	}
	server.Register(r)
	return server, nil
}

func receive(r grpc.ServiceRegistrar, server *stefgrpc.Server, d *anysignal.Descriptor, sink Sink) error {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: d.OTLP.Service,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var request request
				if err := decode(&request); err != nil {
					return nil, err
				}
				batch, err := d.Unmarshal(request)
				if err != nil {
					return nil, status.Error(codes.InvalidArgument, err.Error())
				}
				return response{}, refused(sink(batch))
			},
		}},
	}, nil)
	return server.Handle(d.Compact(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		decoder, err := d.NewDecoder(s, nil, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer decoder.Reader.Close()
		for {
			batch, err := decoder.Decode()
			if err == io.EOF {
				return nil
			}
			var bad stefpdata.RecordErrors
			final := err != nil && !errors.As(err, &bad) // the batch still has the records before the damage
			for _, e := range bad {
				s.Reject(e.First, e.Last)
			}
			if d.Items(batch) > 0 {
				if err := refused(sink(batch)); err != nil {
					return err
				}
			}
			s.AckUpTo(decoder.Records())
			if final {
				return err
			}
		}
	}))
}

// refused turns an error of a sink into an error that the sender retries.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Unavailable, err.Error())
}

// request is an OTLP request as bytes. response is the answer to an accepted
// request: an empty message.
type (
	request  []byte
	response struct{}
)

// codec passes OTLP messages as bytes and leaves other messages to the codec of
// the STEF transport.
type codec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	if _, ok := m.(response); ok {
		return nil, nil
	}
	return c.CodecV2.Marshal(m)
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, m any) error {
	if r, ok := m.(*request); ok {
		*r = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, m)
}

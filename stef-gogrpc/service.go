// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "google.golang.org/grpc"

// The service is registered by hand: the method path of generated code would contain the proto
// package of the messages, otelstef.destination.v1.
//
// spec: #grpc-service
const (
	// ServiceName is the name of the service, for example for health checks and
	// interceptors.
	ServiceName = "STEFDestination"
	// StreamMethod is the full name of the only method of the service.
	StreamMethod = "/" + ServiceName + "/Stream"
)

// streamServer is the interface that the service needs from a server.
type streamServer interface {
	serveStream(stream grpc.ServerStream) error
}

var serviceDesc = grpc.ServiceDesc{
	ServiceName: ServiceName,
	HandlerType: (*streamServer)(nil),
	Streams: []grpc.StreamDesc{{
		StreamName: "Stream",
		Handler: func(server any, stream grpc.ServerStream) error {
			return server.(streamServer).serveStream(stream)
		},
		ServerStreams: true,
		ClientStreams: true,
	}},
	Metadata: "destination.proto",
}

var streamDesc = grpc.StreamDesc{StreamName: "Stream", ServerStreams: true, ClientStreams: true}

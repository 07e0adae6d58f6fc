// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"

	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// A server that was not given Codec hands messages to the protobuf library. So
// they are protobuf messages, to the extent that the library can have them read
// and written by the same code. To everything else that protobuf can do with a
// message, printing for example, they look empty.

// ProtoReflect implements proto.Message.
func (m *clientMessage) ProtoReflect() protoreflect.Message {
	return clientReflection{(*stefpb.STEFClientMessage)(nil).ProtoReflect(), m}
}

// Reset empties m, without freeing what it received. The protobuf library calls
// it before it decodes.
func (m *clientMessage) Reset() { *m = clientMessage{} }

// ProtoReflect implements proto.Message.
func (m *serverMessage) ProtoReflect() protoreflect.Message {
	return serverReflection{(*stefpb.STEFServerMessage)(nil).ProtoReflect(), m}
}

// Reset empties m. The protobuf library calls it before it decodes.
func (m *serverMessage) Reset() { *m = serverMessage{} }

type clientReflection struct {
	protoreflect.Message
	m *clientMessage
}

// Interface returns the message.
func (r clientReflection) Interface() protoreflect.ProtoMessage { return r.m }

// ProtoMethods returns the functions that read and write the message.
func (r clientReflection) ProtoMethods() *protoiface.Methods { return clientMethods }

var clientMethods = &protoiface.Methods{
	Size: func(in protoiface.SizeInput) protoiface.SizeOutput {
		return protoiface.SizeOutput{Size: in.Message.(clientReflection).m.size()}
	},
	Marshal: func(in protoiface.MarshalInput) (protoiface.MarshalOutput, error) {
		return protoiface.MarshalOutput{Buf: in.Message.(clientReflection).m.append(in.Buf)}, nil
	},
	Unmarshal: func(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
		m := in.Message.(clientReflection).m
		if err := m.decode(mem.BufferSlice{mem.SliceBuffer(in.Buf)}); err != nil {
			return protoiface.UnmarshalOutput{}, err
		}
		// The buffer is used again as soon as this returns.
		for i, b := range m.received {
			m.received[i] = mem.Copy(b.ReadOnlyData(), mem.DefaultBufferPool())
		}
		return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, nil
	},
}

type serverReflection struct {
	protoreflect.Message
	m *serverMessage
}

// Interface returns the message.
func (r serverReflection) Interface() protoreflect.ProtoMessage { return r.m }

// ProtoMethods returns the functions that read and write the message.
func (r serverReflection) ProtoMethods() *protoiface.Methods { return serverMethods }

var serverMethods = &protoiface.Methods{
	Size: func(in protoiface.SizeInput) protoiface.SizeOutput {
		return protoiface.SizeOutput{Size: in.Message.(serverReflection).m.size()}
	},
	Marshal: func(in protoiface.MarshalInput) (protoiface.MarshalOutput, error) {
		return protoiface.MarshalOutput{Buf: in.Message.(serverReflection).m.append(in.Buf)}, nil
	},
	Unmarshal: func(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
		err := in.Message.(serverReflection).m.decode(mem.BufferSlice{mem.SliceBuffer(in.Buf)})
		return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, err
	},
}

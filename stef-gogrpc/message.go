// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// The messages are read and written by hand, straight from and into the buffers
// of gRPC. The protobuf library would copy the bytes of every message once more
// on each side.
//
//	            writer's frame ──copy──> buffers of a clientMessage ──> transport
//	transport ──> buffers of a clientMessage ──copy──> reader's buffer
//
// Every other peer sees plain protobuf; package stefpb has the same messages as
// generated types, and the tests hold the two against each other.

// clientMessage is STEFClientMessage.
//
// spec: #grpc-service
type clientMessage struct {
	// first says that first_message is there, with root in it.
	first bool
	root  string
	// bytes is stef_bytes of a message to be sent, borrowed until the message
	// is encoded. A message that was received has them in received.
	bytes []byte
	// received is stef_bytes of a message that was received. Whoever takes it
	// has to Free it; free does so.
	received   mem.BufferSlice
	endOfChunk bool
}

// free gives the bytes received back and empties the message.
func (m *clientMessage) free() {
	m.received.Free()
	*m = clientMessage{}
}

// serverMessage is STEFServerMessage. At most one of its parts is there.
//
// spec: #grpc-service
type serverMessage struct {
	capabilities *capabilities
	response     *Response
	// damaged is why a message that was received cannot be decoded. gRPC would
	// make a status of it that does not tell who is to blame.
	damaged error
}

// capabilities is STEFDestinationCapabilities.
type capabilities struct {
	maxDictBytes uint64 // 0: none named
	schema       []byte
}

// Numbers of the fields.
//
// spec: #grpc-service
const (
	fieldFirst      = 1
	fieldBytes      = 2
	fieldEndOfChunk = 3

	fieldRoot = 1

	fieldCapabilities = 1
	fieldResponse     = 2

	fieldDictLimits = 1
	fieldSchema     = 2

	fieldMaxDictBytes = 2

	fieldAcked    = 1
	fieldRejected = 2

	fieldFrom = 1
	fieldTo   = 2
)

// Codec returns the codec of the messages of this package. Clients use it by
// themselves. A server can be given it by
//
//	grpc.NewServer(grpc.ForceServerCodecV2(stefgrpc.Codec()))
//
// which saves a copy of all it receives; without it, everything works as well.
// Messages of other services pass through to the codec that was registered for
// protobuf when Codec was called. The codec is safe for concurrent use.
func Codec() encoding.CodecV2 { return codec{others: encoding.GetCodecV2(proto.Name)} }

type codec struct {
	others encoding.CodecV2
}

// Name implements encoding.CodecV2. On the wire there is nothing but protobuf.
func (codec) Name() string { return proto.Name }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	switch m := message.(type) {
	case *clientMessage:
		return m.encode(mem.DefaultBufferPool()), nil
	case *serverMessage:
		return mem.BufferSlice{mem.SliceBuffer(m.append(make([]byte, 0, m.size())))}, nil
	}
	return c.others.Marshal(message)
}

// Unmarshal implements encoding.CodecV2. What a *clientMessage held before is
// not freed. A *serverMessage never fails, see damaged.
func (c codec) Unmarshal(data mem.BufferSlice, message any) error {
	switch m := message.(type) {
	case *clientMessage:
		*m = clientMessage{}
		return m.decode(data)
	case *serverMessage:
		*m = serverMessage{}
		m.damaged = m.decode(data)
		return nil
	}
	return c.others.Unmarshal(data, message)
}

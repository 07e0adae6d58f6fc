// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

var errUnfinished = errors.New("stefgrpc: unfinished")

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
}

// capabilities is STEFDestinationCapabilities.
type capabilities struct {
	maxDictBytes uint64 // 0: none named
	schema       []byte
}

// Codec returns the codec of the messages of this package. Clients use it by
// themselves. A server can be given it by
//
//	grpc.NewServer(grpc.ForceServerCodecV2(stefgrpc.Codec()))
//
// which saves a copy of all it receives; without it, everything works as well.
// Messages of other services pass through to the codec that is registered for
// protobuf. It is safe for concurrent use.
func Codec() encoding.CodecV2 { return codec{} }

type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(m any) (mem.BufferSlice, error) { return nil, errUnfinished }

func (codec) Unmarshal(data mem.BufferSlice, m any) error { return errUnfinished }

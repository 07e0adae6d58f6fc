// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// Received is a message that a client received from a server.
type Received struct {
	Message ServerMessage
	// Damaged is why the message cannot be decoded.
	Damaged error
}

// ClientCodec returns the codec of clients. It is the codec of protobuf, except
// that a damaged message becomes a Received with Damaged set. Without this, gRPC
// would return a status that looks like a status of the server.
func ClientCodec() encoding.CodecV2 { return clientCodec{encoding.GetCodecV2(proto.Name)} }

var errDamaged = errors.New("message is damaged")

type clientCodec struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c clientCodec) Unmarshal(data mem.BufferSlice, message any) error {
	m, ok := message.(*Received)
	if !ok {
		return c.CodecV2.Unmarshal(data, message)
	}
	var p stefpb.STEFServerMessage
	if c.CodecV2.Unmarshal(data, &p) != nil {
		*m = Received{Damaged: errDamaged} // the text of protobuf's errors is not stable
		return nil
	}
	*m = Received{Message: ParseServer(&p)}
	return nil
}

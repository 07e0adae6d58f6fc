// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

func TestClientMessages(t *testing.T) {
	f := func(want string, m ClientMessage) {
		t.Helper()
		b, err := ClientCodec().Marshal(m.Proto())
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(b.Materialize()))
		var p stefpb.STEFClientMessage
		require.NoError(t, ClientCodec().Unmarshal(b, &p))
		require.Equal(t, m, ParseClient(&p))
	}
	f("", ClientMessage{})
	f("0a00", ClientMessage{First: true})
	f("0a070a055370616e73", ClientMessage{First: true, Root: "Spans"})
	f("1207535445460200011801", ClientMessage{Bytes: []byte("STEF\x02\x00\x01"), EndOfChunk: true})
}

func TestServerMessages(t *testing.T) {
	f := func(want string, m ServerMessage) {
		t.Helper()
		b, err := proto.Marshal(m.Proto())
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(b))
		var got Received
		require.NoError(t, ClientCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &got))
		require.NoError(t, got.Damaged)
		require.Equal(t, m, got.Message)
	}
	f("", ServerMessage{})
	f("0a110a03108020120a0904010307050e040602", ServerMessage{Capabilities: &Capabilities{
		MaxDictBytes: 4096, Schema: []byte{9, 4, 1, 3, 7, 5, 14, 4, 6, 2}}})
	f("0a08120100a006808004", ServerMessage{Capabilities: &Capabilities{Schema: []byte{0}, WindowBytes: 64 << 10}})
	f("1200", ServerMessage{Response: new(Response)})
	f("120908ac02120408071009", ServerMessage{Response: &Response{Acked: 300, Rejected: []IDRange{{7, 9}}}})
}

func TestDamagedMessages(t *testing.T) {
	for _, text := range []string{"12", "120108", "0a020a01", "ff"} {
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		got := Received{Message: ServerMessage{Response: new(Response)}}
		require.NoError(t, ClientCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &got))
		require.EqualError(t, got.Damaged, "message is damaged")
		require.Zero(t, got.Message)
	}
}

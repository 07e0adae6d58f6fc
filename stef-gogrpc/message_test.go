// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// TestSpecimens holds the messages to the bytes that the specification prints.
//
// spec: #grpc-service
func TestSpecimens(t *testing.T) {
	f := func(wants string, m any) {
		t.Helper()
		b, err := Codec().Marshal(m)
		require.NoError(t, err)
		require.Equal(t, wants, hex.EncodeToString(b.Materialize()))
	}
	f("0a070a055370616e73", &clientMessage{first: true, root: "Spans"})
	f("0a110a03108020120a0904010307050e040602", &serverMessage{capabilities: &capabilities{
		maxDictBytes: 4096, schema: []byte{9, 4, 1, 3, 7, 5, 14, 4, 6, 2},
	}})
	f("1207535445460200011801", &clientMessage{bytes: []byte("STEF\x02\x00\x01"), endOfChunk: true})
	f("120908ac02120408071009", &serverMessage{response: &Response{Acked: 300, Rejected: []IDRange{{7, 9}}}})
}

func TestMessagesAreProtobuf(t *testing.T) {
	client := func(m *clientMessage) {
		t.Helper()
		for _, write := range writers {
			var peer stefpb.STEFClientMessage
			require.NoError(t, proto.Unmarshal(write(t, m), &peer))
			requireClient(t, m, &peer)
		}
		var peer stefpb.STEFClientMessage
		b := protobuf(t, m)
		require.NoError(t, proto.Unmarshal(b, &peer))
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&peer)
		require.NoError(t, err)
		require.Equal(t, string(b), string(again), "fields are in another order")
	}
	client(&clientMessage{})
	client(&clientMessage{first: true})
	client(&clientMessage{first: true, root: "Metrics"})
	client(&clientMessage{endOfChunk: true})
	client(&clientMessage{bytes: []byte{0}})
	for _, n := range []int{1, 127, 128, 1020, 1021, 1022, 1 << 14, segmentBytes - 8, segmentBytes - 4, segmentBytes, 3*segmentBytes + 1} {
		client(&clientMessage{bytes: bytes.Repeat([]byte("STEF"), n)[:n], endOfChunk: true})
		client(&clientMessage{first: true, root: "Metrics", bytes: bytes.Repeat([]byte("STEF"), n)[:n]})
	}

	server := func(m *serverMessage) {
		t.Helper()
		for _, write := range writers {
			var peer stefpb.STEFServerMessage
			require.NoError(t, proto.Unmarshal(write(t, m), &peer))
			requireServer(t, m, &peer)
		}
	}
	server(&serverMessage{})
	server(&serverMessage{capabilities: &capabilities{}})
	server(&serverMessage{capabilities: &capabilities{maxDictBytes: math.MaxUint64, schema: make([]byte, 300)}})
	server(&serverMessage{response: &Response{}})
	server(&serverMessage{response: &Response{Acked: math.MaxUint64}})
	server(&serverMessage{response: &Response{Rejected: []IDRange{{}, {1, 1}, {0, 7}, {1 << 40, math.MaxUint64}}}})
}

// TestSegments: a large message must not pin buffers that are mostly empty.
func TestSegments(t *testing.T) {
	f := func(n, buffers int) {
		t.Helper()
		m := clientMessage{bytes: make([]byte, n), endOfChunk: true}
		b, err := Codec().Marshal(&m)
		require.NoError(t, err)
		require.Len(t, b, buffers)
		b.Free()
	}
	f(100, 1)
	f(segmentBytes-6, 1)
	f(segmentBytes, 2)
	f(1<<20, 33)
}

// TestDecodeRules are the rules of protobuf that a peer may rely on.
func TestDecodeRules(t *testing.T) {
	client := func(wants clientMessage, text string) {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		require.NoError(t, err)
		var peer stefpb.STEFClientMessage
		require.NoError(t, proto.Unmarshal(b, &peer))
		requireClient(t, &wants, &peer)
		for _, read := range readers {
			var m clientMessage
			require.NoError(t, read(t, b, &m))
			requireClient(t, &m, &peer)
		}
	}
	client(clientMessage{}, "")
	client(clientMessage{bytes: []byte("b")}, "12 0161 12 0162")                   // the last one counts
	client(clientMessage{}, "12 0161 12 00")                                       // also if it is empty
	client(clientMessage{}, "18 01 18 00")                                         //
	client(clientMessage{endOfChunk: true}, "18 808001")                           // any number but 0 is true
	client(clientMessage{endOfChunk: true, bytes: []byte("a")}, "18 01 12 0161")   // any order
	client(clientMessage{first: true, root: "b"}, "0a 03 0a0161 0a 03 0a0162")     // parts are merged
	client(clientMessage{first: true, root: "a"}, "0a 03 0a0161 0a 00")            //
	client(clientMessage{endOfChunk: true}, "20 05 29 0102030405060708 18 01")     // unknown fields
	client(clientMessage{endOfChunk: true}, "23 0b 0c 08 01 24 1801")              // unknown groups
	client(clientMessage{}, "10 05 1a 0101 08 01")                                 // other wire types
	client(clientMessage{first: true, root: "a"}, "0a 07 12 026162 0a 0161 0a 00") // unknown in a part

	server := func(wants serverMessage, text string) {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		require.NoError(t, err)
		var peer stefpb.STEFServerMessage
		require.NoError(t, proto.Unmarshal(b, &peer))
		requireServer(t, &wants, &peer)
		for _, read := range readers {
			var m serverMessage
			require.NoError(t, read(t, b, &m))
			requireServer(t, &m, &peer)
		}
	}
	server(serverMessage{}, "")
	server(serverMessage{}, "1a 00")
	server(serverMessage{response: &Response{Acked: 1}}, "0a 00 12 02 0801")
	server(serverMessage{capabilities: &capabilities{}}, "12 02 0801 0a 00")
	server(serverMessage{response: &Response{Acked: 2, Rejected: []IDRange{{1, 1}, {2, 2}}}},
		"12 08 0801 1204 0801 1001 12 08 0802 1204 0802 1002")
	server(serverMessage{response: &Response{}}, "12 02 0801 0a 00 12 00")
	server(serverMessage{capabilities: &capabilities{maxDictBytes: 5, schema: []byte{1}}},
		"0a 04 0a 02 1005 0a 05 0a 00 12 01 01")
}

func TestDecodeDamage(t *testing.T) {
	f := func(m proto.Message, text string) {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		require.NoError(t, err)
		for _, read := range readers {
			require.Error(t, read(t, b, m))
		}
	}
	f(new(clientMessage), "12")
	f(new(clientMessage), "12 02 61")
	f(new(clientMessage), "12 ffffffffffffffffff01")
	f(new(clientMessage), "12 ffffffffffffffffffff01")
	f(new(clientMessage), "18 ffffffffffffffffff02")
	f(new(clientMessage), "00 00")
	f(new(clientMessage), "24")
	f(new(clientMessage), "23 2c")
	f(new(clientMessage), "23 08")
	f(new(clientMessage), "26 00")
	f(new(clientMessage), "21 00")
	f(new(clientMessage), "25 00")
	f(new(clientMessage), "0a 03 0a01ff")
	f(new(clientMessage), "0a 02 0a01")
	f(new(clientMessage), strings.Repeat("23", maxGroups+1)+strings.Repeat("24", maxGroups+1))
	f(new(serverMessage), "0a 02 0a01 00")
	f(new(serverMessage), "12 01 08 01")
	f(new(serverMessage), "12 03 1202 08")
}

// TestOtherMessages: a server with the codec may have other services.
func TestOtherMessages(t *testing.T) {
	b, err := Codec().Marshal(&stefpb.STEFIDRange{FromId: 1, ToId: 2})
	require.NoError(t, err)
	require.Equal(t, []byte{8, 1, 16, 2}, b.Materialize())
	var got stefpb.STEFIDRange
	require.NoError(t, Codec().Unmarshal(b, &got))
	require.EqualValues(t, 2, got.GetToId())

	_, err = Codec().Marshal("text")
	require.Error(t, err)
	require.Equal(t, "proto", Codec().Name())
}

// TestReceivedBytes: whoever reads must be able to keep the bytes while gRPC
// uses its buffers again.
func TestReceivedBytes(t *testing.T) {
	const n = 5000
	out := clientMessage{bytes: bytes.Repeat([]byte{7}, n)}
	f := func(codec encoding.CodecV2) {
		t.Helper()
		buf := mem.DefaultBufferPool().Get(out.size())
		copy(*buf, out.append(nil))
		data := mem.BufferSlice{mem.NewBuffer(buf, mangler{})}
		var in clientMessage
		require.NoError(t, codec.Unmarshal(data, &in))
		data.Free()
		require.Equal(t, out.bytes, in.received.Materialize())
		in.free()
		require.Zero(t, in.received)
	}
	f(Codec())
	f(encoding.GetCodecV2("proto"))
}

// TestBuffersAreGivenBack: also those of bytes that count no more, because the
// field is there twice, or because the message turns out to be damaged.
func TestBuffersAreGivenBack(t *testing.T) {
	f := func(wants bool, tail ...byte) {
		t.Helper()
		one := clientMessage{bytes: make([]byte, 5000)}
		all := append(one.append(one.append(nil)), tail...)
		pool := new(counter)
		data := mem.BufferSlice{mem.NewBuffer(&all, pool)}
		var in clientMessage
		err := Codec().Unmarshal(data, &in)
		require.Equal(t, wants, err == nil, "%v", err)
		data.Free()
		if wants {
			require.Zero(t, pool.back)
		}
		in.free()
		require.Equal(t, 1, pool.back)
	}
	f(true)
	f(false, 0xff)
}

// counter is a pool that counts what it is given.
type counter struct{ back int }

func (*counter) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (c *counter) Put(*[]byte)     { c.back++ }

// mangler is a pool that spoils what it is given.
type mangler struct{}

func (mangler) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (mangler) Put(b *[]byte)     { clear(*b) }

// writers are the ways a message can go to the wire.
var writers = map[string]func(*testing.T, proto.Message) []byte{
	"codec": func(t *testing.T, m proto.Message) []byte {
		b, err := Codec().Marshal(m)
		require.NoError(t, err)
		defer b.Free()
		return b.Materialize()
	},
	"protobuf": protobuf,
}

func protobuf(t *testing.T, m proto.Message) []byte {
	b, err := encoding.GetCodecV2("proto").Marshal(m)
	require.NoError(t, err)
	defer b.Free()
	return b.Materialize()
}

// readers are the ways a message can come from the wire.
var readers = map[string]func(*testing.T, []byte, proto.Message) error{
	"codec":    func(_ *testing.T, b []byte, m proto.Message) error { return decode(cut(b, nil), m) },
	"bytewise": func(_ *testing.T, b []byte, m proto.Message) error { return decode(cut(b, []byte{1}), m) },
	"uneven": func(t *testing.T, b []byte, m proto.Message) error {
		return decode(cut(b, []byte{3, 0, 1}), m)
	},
	"protobuf": func(t *testing.T, b []byte, m proto.Message) error {
		return encoding.GetCodecV2("proto").Unmarshal(cut(b, nil), m)
	},
}

func decode(data mem.BufferSlice, m proto.Message) error {
	err := Codec().Unmarshal(data, m)
	if m, ok := m.(*serverMessage); ok && err == nil {
		return m.damaged
	}
	return err
}

// cut spreads bytes over buffers of the given lengths, again and again.
func cut(b, lengths []byte) mem.BufferSlice {
	var out mem.BufferSlice
	for i := 0; len(b) > 0; i++ {
		n := len(b)
		if len(lengths) > 0 && bytes.Count(lengths, []byte{0}) < len(lengths) {
			n = min(n, int(lengths[i%len(lengths)]))
		}
		out = append(out, mem.SliceBuffer(bytes.Clone(b[:n])))
		b = b[n:]
	}
	return out
}

func requireClient(t *testing.T, m *clientMessage, peer *stefpb.STEFClientMessage) {
	t.Helper()
	require.Equal(t, peer.FirstMessage != nil, m.first)
	require.Equal(t, peer.GetFirstMessage().GetRootStructName(), m.root)
	require.Equal(t, peer.GetIsEndOfChunk(), m.endOfChunk)
	require.Equal(t, string(peer.GetStefBytes()), string(m.bytes)+string(m.received.Materialize()))
}

func requireServer(t *testing.T, m *serverMessage, peer *stefpb.STEFServerMessage) {
	t.Helper()
	require.Equal(t, peer.GetCapabilities() != nil, m.capabilities != nil)
	require.Equal(t, peer.GetResponse() != nil, m.response != nil)
	if c := m.capabilities; c != nil {
		require.Equal(t, peer.GetCapabilities().GetDictionaryLimits().GetMaxDictBytes(), c.maxDictBytes)
		require.Equal(t, string(peer.GetCapabilities().GetSchema()), string(c.schema))
	}
	if r := m.response; r != nil {
		require.Equal(t, peer.GetResponse().GetAckRecordId(), r.Acked)
		var want []IDRange
		for _, bad := range peer.GetResponse().GetBadDataRecordIdRanges() {
			want = append(want, IDRange{bad.GetFromId(), bad.GetToId()})
		}
		require.Equal(t, want, r.Rejected)
	}
}

// seeds are messages to vary.
func seeds(f *testing.F) {
	for _, m := range []proto.Message{
		&clientMessage{first: true, root: "Metrics"},
		&clientMessage{bytes: bytes.Repeat([]byte("x"), 200), endOfChunk: true},
		&serverMessage{capabilities: &capabilities{maxDictBytes: 300, schema: []byte{1, 2}}},
		&serverMessage{response: &Response{Acked: 1 << 40, Rejected: []IDRange{{1, 2}, {5, 1 << 33}}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{3, 0, 7})
		f.Add(protowire.AppendGroup(append(b, 0x23), 4, b), []byte{})
	}
}

func FuzzClientMessage(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b, lengths []byte) {
		var m, lib clientMessage
		var peer stefpb.STEFClientMessage
		err := decode(cut(b, lengths), &m)
		want := proto.Unmarshal(b, &peer)
		require.Equal(t, want == nil, err == nil, "%v, not %v", err, want)
		require.Equal(t, want == nil, proto.Unmarshal(b, &lib) == nil)
		if want != nil {
			require.Zero(t, m)
			return
		}
		requireClient(t, &m, &peer)
		requireClient(t, &lib, &peer)
		m.bytes, m.received = m.received.Materialize(), nil
		peer.ProtoReflect().SetUnknown(nil)
		if first := peer.GetFirstMessage(); first != nil {
			first.ProtoReflect().SetUnknown(nil)
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(&peer)
		require.NoError(t, err)
		require.Equal(t, string(again), string(m.append(nil)))
		require.Equal(t, len(again), m.size())
	})
}

func FuzzServerMessage(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b, lengths []byte) {
		var m, lib serverMessage
		var peer, back stefpb.STEFServerMessage
		err := decode(cut(b, lengths), &m)
		want := proto.Unmarshal(b, &peer)
		require.Equal(t, want == nil, err == nil, "%v, not %v", err, want)
		require.Equal(t, want == nil, proto.Unmarshal(b, &lib) == nil)
		if want != nil {
			return
		}
		requireServer(t, &m, &peer)
		requireServer(t, &lib, &peer)
		require.NoError(t, proto.Unmarshal(m.append(nil), &back))
		requireServer(t, &m, &back)
		require.Len(t, m.append(nil), m.size())
	})
}

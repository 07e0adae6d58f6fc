// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// The peers of these tests send messages of arbitrary bytes in arbitrary order, which the input of the
// fuzzer determines. They implement the stream interfaces of gRPC, without a network.

// script is the rest of the input of the fuzzer. The acts of a hostile peer are read from it.
type script struct{ rest []byte }

func (s *script) byte() byte {
	if len(s.rest) == 0 {
		return 0
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b
}

// bytes reads a length of two bytes, and returns that many bytes.
func (s *script) bytes() []byte {
	n := min(len(s.rest), int(s.byte())|int(s.byte())<<8)
	n = min(n, len(s.rest))
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

// An act is one step of a hostile peer. These are the kinds of acts; the last constant, acts, is the
// number of kinds. An act begins with one byte of the script: the byte modulo acts is the kind.
const (
	actRaw    = iota // bytes of a message
	actAnswer        // of a server: a response; of a client: data, and a byte for the flag
	actHello         // a valid first message of the peer
	actHello2        // a first message with arbitrary contents
	actEnd           // io.EOF
	actStatus        // a status with a code
	actPause         // tens of microseconds
	actLarge         // a large message of the peer
	acts
)

// event is one act of a peer: it sends bytes, returns an error, or pauses.
type event struct {
	bytes []byte
	err   error
	pause time.Duration
}

func message(m proto.Message) event {
	b, err := proto.Marshal(m)
	if err != nil { // a text is not valid UTF-8
		return event{}
	}
	return event{bytes: b}
}

// common returns the event of an act that clients and servers have in common.
func (s *script) common(act byte) event {
	switch act {
	case actRaw:
		return event{bytes: s.bytes()}
	case actEnd:
		return event{err: io.EOF}
	case actStatus:
		return event{err: status.Error(codes.Code(1+s.byte()%17), "the peer says so")}
	}
	return event{pause: time.Duration(s.byte()) * 10 * time.Microsecond}
}

// end returns the status of a stream whose context has ended.
func end(ctx context.Context) error { return status.FromContextError(ctx.Err()).Err() }

// perform does the work of RecvMsg: it executes an event. It reports whether a message was received.
func (e event) perform(ctx context.Context, m any) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, end(ctx)
	case e.err != nil:
		return false, e.err
	case e.pause > 0:
		select {
		case <-time.After(e.pause):
			return false, nil
		case <-ctx.Done():
			return false, end(ctx)
		}
	}
	if err := wire.ClientCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(e.bytes)}, m); err != nil {
		return false, status.Error(codes.Internal, err.Error())
	}
	return true, nil
}

// --- a hostile client

const (
	hostileChunk    = 4 << 10
	hostileBuffered = 16 << 10
)

// hostileClient is a client and its stream, as a server sees them. The script says what it sends.
type hostileClient struct {
	grpc.ServerStream
	t        *testing.T
	ctx      context.Context
	script   script
	received int64 // bytes passed to the server
	ended    bool
}

func (c *hostileClient) Context() context.Context { return c.ctx }

func (c *hostileClient) SendMsg(m any) error {
	b, err := wire.ClientCodec().Marshal(m)
	require.NoError(c.t, err)
	require.NoError(c.t, proto.Unmarshal(b.Materialize(), new(stefpb.STEFServerMessage)))
	if c.ctx.Err() != nil {
		return end(c.ctx)
	}
	return nil
}

func (c *hostileClient) RecvMsg(m any) error {
	for len(c.script.rest) > 0 && !c.ended {
		e := c.next()
		c.ended = e.err != nil
		c.received += int64(len(e.bytes))
		if got, err := e.perform(c.ctx, m); got || err != nil {
			return err
		}
	}
	if c.ended {
		<-c.ctx.Done()
		return end(c.ctx)
	}
	c.ended = true
	return io.EOF
}

func (c *hostileClient) next() event {
	s := &c.script
	switch act := s.byte() % acts; act {
	case actAnswer:
		flag := s.byte()&1 != 0
		return message(&stefpb.STEFClientMessage{StefBytes: s.bytes(), IsEndOfChunk: flag})
	case actHello:
		return message(&stefpb.STEFClientMessage{FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: "Logs"}})
	case actHello2:
		return message(&stefpb.STEFClientMessage{FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: string(s.bytes())}, StefBytes: s.bytes()})
	case actLarge:
		return message(&stefpb.STEFClientMessage{StefBytes: make([]byte, int(s.byte())*128), IsEndOfChunk: s.byte()&1 != 0})
	default:
		return s.common(act)
	}
}

// catcher is a registrar that stores the service that a server registers.
type catcher struct {
	desc *grpc.ServiceDesc
	impl any
}

func (c *catcher) RegisterService(desc *grpc.ServiceDesc, impl any) { c.desc, c.impl = desc, impl }

// hostileHandlers contains one correct handler, and handlers with mistakes.
var hostileHandlers = []stefgrpc.HandlerFunc{
	func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			id := r.Stats().Records
			switch id % 5 {
			case 0:
				s.Reject(id, id)
			case 1:
				s.Ack(id, id)
			default:
				s.AckUpTo(id)
			}
		}
		return r.Err()
	},
	func(s *stefgrpc.ServerStream) error {
		_, err := io.Copy(io.Discard, s)
		return err
	},
	func(s *stefgrpc.ServerStream) error { // reads nothing
		select {
		case <-s.Context().Done():
		case <-time.After(time.Millisecond):
		}
		return s.Context().Err()
	},
	func(s *stefgrpc.ServerStream) error { // reads slowly, and sends wrong answers
		p := make([]byte, 7)
		for {
			n, err := s.Read(p)
			if n > 0 {
				s.Reject(1+uint64(min(p[0], p[n-1])), 1+uint64(max(p[0], p[n-1])))
				s.Ack(max(1, uint64(p[n-1])<<60), math.MaxUint64)
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			runtime.Gosched()
		}
	},
}

// FuzzServer connects a hostile client to a server. The first byte chooses the handler.
func FuzzServer(f *testing.F) {
	for i := range hostileHandlers {
		for _, seed := range clientSeeds(f) {
			f.Add(append([]byte{byte(i)}, seed...))
		}
	}
	f.Fuzz(playServer)
}

// playServer runs a server against a hostile client. It does not use synctest: readers share
// zstd decoders, and a decoder from one bubble cannot be used in another bubble.
func playServer(t *testing.T, input []byte) {
	server, err := stefgrpc.NewServer(stefgrpc.WithMaxChunkBytes(hostileChunk), stefgrpc.WithMaxBufferedBytes(hostileBuffered), stefgrpc.WithMaxDictBytes(1<<16))
	require.NoError(t, err)
	s := script{input}
	handler := hostileHandlers[int(s.byte())%len(hostileHandlers)]
	require.NoError(t, server.Handle(otelstef.LogsRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		err := handler(s)
		require.LessOrEqual(t, server.Stats().BufferedBytes, int64(hostileBuffered))
		return err
	})))
	var c catcher
	server.Register(&c)
	ctx, cancel := context.WithCancel(t.Context())
	peer := &hostileClient{t: t, ctx: ctx, script: s}

	err = c.desc.Streams[0].Handler(c.impl, peer)
	cancel() // as gRPC does
	gone := func() bool { return server.Stats().Streams == 0 }
	for i := 0; !gone() && i < 100; i++ {
		runtime.Gosched()
	}
	if !gone() {
		require.Eventually(t, gone, time.Minute, time.Millisecond)
	}
	if err != nil {
		st, ok := status.FromError(err)
		require.True(t, ok, "%v", err)
		if code := st.Code(); code == codes.Unknown && st.Message() != "the peer says so" {
			t.Fatalf("the status has no type: %v", err)
		}
	}
	stats := server.Stats()
	require.Zero(t, stats.Panics)
	require.Zero(t, stats.BufferedBytes)
	require.LessOrEqual(t, int64(stats.ReceivedBytes), peer.received)
}

// --- a hostile server

const hostileUnacked = 8 << 10

// hostileServer is a server and the connection to it, as a client sees them. It answers with
// whatever the script says.
type hostileServer struct {
	grpc.ClientStream
	t      *testing.T
	ctx    context.Context
	script script
	ended  error
	closed bool
}

func (s *hostileServer) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errors.New("there is no such method")
}

func (s *hostileServer) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	require.Equal(s.t, stefgrpc.StreamMethod, method)
	s.ctx = ctx
	return s, nil
}

func (s *hostileServer) Context() context.Context     { return s.ctx }
func (s *hostileServer) Header() (metadata.MD, error) { return nil, nil }
func (s *hostileServer) Trailer() metadata.MD         { return nil }
func (s *hostileServer) CloseSend() error             { s.closed = true; return nil }

func (s *hostileServer) SendMsg(m any) error {
	require.False(s.t, s.closed, "a message after the end")
	b, err := wire.ClientCodec().Marshal(m)
	require.NoError(s.t, err)
	require.NoError(s.t, proto.Unmarshal(b.Materialize(), new(stefpb.STEFClientMessage)))
	if s.ctx.Err() != nil {
		return io.EOF
	}
	return nil
}

func (s *hostileServer) RecvMsg(m any) error {
	for len(s.script.rest) > 0 && s.ended == nil {
		e := s.next()
		s.ended = e.err
		if got, err := e.perform(s.ctx, m); got || err != nil {
			return err
		}
	}
	if s.ended != nil {
		return s.ended
	}
	<-s.ctx.Done() // the server sends no more messages
	return end(s.ctx)
}

func (s *hostileServer) next() event {
	response := func(r *stefpb.STEFDataResponse) event {
		return message(&stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Response{Response: r}})
	}
	hello := func(dict uint64, schema []byte) event {
		c := &stefpb.STEFDestinationCapabilities{Schema: schema, DictionaryLimits: &stefpb.STEFDictionaryLimits{MaxDictBytes: dict}}
		return message(&stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Capabilities{Capabilities: c}})
	}
	sc := &s.script
	number := func() uint64 { // of any magnitude
		b := uint64(sc.byte())
		return b << (8 * (b % 8))
	}
	switch act := sc.byte() % acts; act {
	case actAnswer:
		r := &stefpb.STEFDataResponse{AckRecordId: 8 * uint64(sc.byte())}
		for range sc.byte() % 4 {
			r.BadDataRecordIdRanges = append(r.BadDataRecordIdRanges, &stefpb.STEFIDRange{FromId: number(), ToId: number()})
		}
		return response(r)
	case actHello:
		wire, err := otelstef.LogsSchema().AppendBinary(nil)
		require.NoError(s.t, err)
		return hello(number(), wire)
	case actHello2:
		return hello(number(), sc.bytes())
	case actLarge:
		r := &stefpb.STEFDataResponse{AckRecordId: number()}
		for i := range uint64(sc.byte()) * 64 {
			r.BadDataRecordIdRanges = append(r.BadDataRecordIdRanges, &stefpb.STEFIDRange{FromId: 2 * i, ToId: 2 * i})
		}
		return response(r)
	default:
		return sc.common(act)
	}
}

// FuzzClient connects a client to a hostile server, on a fake clock: a call that waits
// forever is reported as a deadlock. The first byte chooses what the client does.
func FuzzClient(f *testing.F) {
	for _, seed := range serverSeeds() {
		for i := range byte(4) {
			f.Add(append([]byte{i}, seed...))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		synctest.Test(t, func(t *testing.T) { playClient(t, input) })
	})
}

func playClient(t *testing.T, input []byte) {
	s := script{input}
	way := s.byte()
	peer := &hostileServer{t: t, script: s}
	client, err := stefgrpc.NewClient(peer, stefgrpc.WithMaxUnackedBytes(hostileUnacked), stefgrpc.WithMaxUnackedRecords(1000), stefgrpc.WithMaxMessageBytes(200))
	require.NoError(t, err)
	responses, last := 0, uint64(0)
	stream, err := client.Open(t.Context(), otelstef.LogsRoot(), stefgrpc.WithOnResponse(func(r stefgrpc.Response) {
		responses++
		require.GreaterOrEqual(t, r.Acked, last)
		last = r.Acked
	}))
	if err != nil {
		typed(t, err)
		return
	}
	giveUp := time.AfterFunc(time.Minute, func() { stream.Close() })
	defer giveUp.Stop()
	talk(t, stream, way)
	require.NoError(t, stream.Close())
	<-stream.Done()
	require.LessOrEqual(t, stream.Acked(), stream.Sent())
	require.LessOrEqual(t, len(stream.Rejected()), 1<<16)
	if err := stream.Err(); err != nil {
		typed(t, err)
	}
}

// talk uses a stream like a sender, and ends the stream in one of four ways.
func talk(t *testing.T, stream *stefgrpc.Stream, way byte) {
	w, err := otelstef.NewLogsWriter(stream, append(stream.WriterOptions(), stef.WithFrameBytes(1000))...)
	for n := uint64(1); err == nil && n <= 2000; n++ {
		fillNumber(w.Record().Record(), n)
		w.Record().Record().SetSpanID(bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 4))
		if err = w.Write(); err == nil && n%100 == 0 {
			err = w.Flush()
		}
		held, records := stream.Unacked()
		require.LessOrEqual(t, held, int64(hostileUnacked+2000))
		require.LessOrEqual(t, records, uint64(1200))
	}
	if err != nil {
		typed(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	switch way % 4 {
	case 0:
		err = stream.AwaitAll(ctx)
	case 1:
		err = stream.Drain(ctx)
	case 2:
		err = stream.CloseSend()
	case 3:
		err = stream.AwaitAck(ctx, stream.Sent()/2)
	}
	if err != nil && ctx.Err() == nil {
		typed(t, err)
	}
}

// typed checks that an error is a *stefgrpc.Error or wraps one, so that the sender knows its kind.
func typed(t *testing.T, err error) {
	t.Helper()
	var known *stefgrpc.Error
	require.True(t, errors.As(err, &known), "%v", err)
	require.NotEqual(t, codes.OK, known.Code, "%v", err)
	require.NotContains(t, known.Kind.String(), " ", "%v", err)
	if known.Kind == stefgrpc.KindUnknown {
		require.Contains(t, err.Error(), "the peer says so", "the error has no kind")
	}
}

// --- seeds

func act(kind byte, rest ...byte) []byte { return append([]byte{kind}, rest...) }

// block encodes bytes for the input of the fuzzer: the length, then the bytes.
func block(b []byte) []byte { return append([]byte{byte(len(b)), byte(len(b) >> 8)}, b...) }

// clientSeeds returns valid, damaged and hostile scripts of clients.
func clientSeeds(f *testing.F) [][]byte {
	var chunks chunkList
	w, err := otelstef.NewLogsWriter(&chunks)
	require.NoError(f, err)
	for n := range uint64(300) {
		fillNumber(w.Record().Record(), n+1)
		require.NoError(f, w.Write())
		if n%100 == 99 {
			require.NoError(f, w.Flush())
		}
	}
	good := act(actHello)
	for i, chunk := range chunks {
		half := len(chunk) / 2
		if i%2 == 0 {
			half = 0
		}
		good = append(good, act(actAnswer, append([]byte{0}, block(chunk[:half])...)...)...)
		good = append(good, act(actAnswer, append([]byte{1}, block(chunk[half:])...)...)...)
	}
	spoilt := bytes.Clone(good)
	spoilt[len(spoilt)/2] ^= 0x10
	var flood []byte
	for range 100 {
		flood = append(flood, act(actLarge, 31, 1)...)
	}
	return [][]byte{
		nil, good, spoilt,
		append(act(actHello), good...),
		good[len(act(actHello)):],
		append(bytes.Clone(good), act(actStatus, 3)...),
		append(act(actHello), flood...),
		append(act(actHello), act(actLarge, 255, 0)...),
		append(act(actHello), act(actRaw, block([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x0f})...)...),
		act(actHello2, append(block([]byte("Nobody")), block(nil)...)...),
		append(act(actPause, 200), act(actEnd)...),
	}
}

type chunkList [][]byte

func (c *chunkList) Write(p []byte) (int, error) {
	*c = append(*c, bytes.Clone(p))
	return len(p), nil
}

func serverSeeds() [][]byte {
	hello := act(actHello, 0)
	acks := func(ids ...byte) []byte {
		list := bytes.Clone(hello)
		for _, id := range ids {
			list = append(list, act(actPause, 1)...)
			list = append(list, act(actAnswer, id, 0)...)
		}
		return list
	}
	return [][]byte{
		nil, hello, acks(10, 100, 200), acks(200, 100), append(hello, hello...),
		act(actAnswer, 1, 0),
		append(acks(1), act(actEnd)...),
		append(acks(1), act(actStatus, 13)...),
		append(acks(100), act(actAnswer, 200, 3, 1, 1, 50, 255, 7, 0)...),
		append(acks(0), act(actLarge, 200, 255)...),
		act(actHello2, append([]byte{9}, block([]byte{1, 3})...)...),
		append(acks(5), act(actRaw, block([]byte{0x12, 0x02, 0x08})...)...),
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// scripted is a destination of STEF streams of traces. A test controls it in every
// detail, including the bytes of its messages.
type scripted struct {
	addr   string
	server *grpc.Server
	// play serves stream number n. The first stream has number 1.
	play func(n int, s *scriptedStream) error

	mu       sync.Mutex
	streams  int
	seen     map[string]int  // how often each id was read
	rejected map[string]bool // ids of items that were reported as bad
}

func startScripted(t *testing.T, play func(n int, s *scriptedStream) error) *scripted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &scripted{addr: listener.Addr().String(), play: play, seen: map[string]int{}, rejected: map[string]bool{}}
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}))
	p.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "STEFDestination",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return p.serve(stream) },
		}},
	}, p)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.server.Serve(listener)
	}()
	t.Cleanup(func() {
		p.server.Stop()
		<-done
	})
	return p
}

func (p *scripted) serve(stream grpc.ServerStream) error {
	p.mu.Lock()
	p.streams++
	n := p.streams
	p.mu.Unlock()
	return p.play(n, &scriptedStream{peer: p, stream: stream})
}

// rawCodec also sends bytes without encoding them.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// scriptedStream is one stream. It implements io.Reader, which returns the received STEF bytes.
type scriptedStream struct {
	peer    *scripted
	stream  grpc.ServerStream
	rest    []byte
	reader  *otelstef.SpansReader
	decoder *stefpdata.TracesDecoder
}

// begin reads the first message and answers with capabilities.
func (s *scriptedStream) begin(maxDictBytes uint64) error {
	if err := s.stream.RecvMsg(&stefpb.STEFClientMessage{}); err != nil {
		return err
	}
	wire, err := otelstef.SpansSchema().AppendBinary(nil)
	if err != nil {
		return err
	}
	return s.stream.SendMsg(&stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Capabilities{
		Capabilities: &stefpb.STEFDestinationCapabilities{
			DictionaryLimits: &stefpb.STEFDictionaryLimits{MaxDictBytes: maxDictBytes},
			Schema:           wire,
		},
	}})
}

// Read returns bytes of the stream.
func (s *scriptedStream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		var message stefpb.STEFClientMessage
		if err := s.stream.RecvMsg(&message); err != nil {
			return 0, err
		}
		s.rest = message.StefBytes
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// frame reads the next frame. It returns the ids of the items in the frame, and the
// number of the last record.
func (s *scriptedStream) frame(limits stef.Limits) (ids []string, last uint64, err error) {
	if s.reader == nil {
		if s.reader, err = otelstef.NewSpansReader(s, stef.WithLimits(limits)); err != nil {
			return nil, 0, err
		}
		s.decoder = stefpdata.NewTracesDecoder(s.reader)
	}
	td, err := s.decoder.Decode()
	if err != nil {
		return nil, 0, err
	}
	ids = traceKind.ids(td)
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	for _, id := range ids {
		s.peer.seen[id]++
	}
	return ids, s.reader.Stats().Records, nil
}

// respond acknowledges records and reports ranges of them as bad.
func (s *scriptedStream) respond(acked uint64, bad ...*stefpb.STEFIDRange) error {
	return s.stream.SendMsg(&stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Response{
		Response: &stefpb.STEFDataResponse{AckRecordId: acked, BadDataRecordIdRanges: bad},
	}})
}

// raw sends bytes that may not be a valid message.
func (s *scriptedStream) raw(b []byte) error { return s.stream.SendMsg(b) }

// waitForEnd waits until the client or the connection ends.
func (s *scriptedStream) waitForEnd() error {
	<-s.stream.Context().Done()
	return nil
}

// serve continues the stream as a correct peer.
func (s *scriptedStream) serve() error {
	if s.reader == nil {
		if err := s.begin(0); err != nil {
			return err
		}
	}
	for {
		_, last, err := s.frame(stef.Limits{})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.respond(last); err != nil {
			return err
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// serverPeer replaces the connection of a client and the server behind it. A test controls the
// answers of the server. A serverPeer encodes and decodes messages with the generated protobuf
// code, works in a synctest bubble, and has one stream at a time.
type serverPeer struct {
	mu      sync.Mutex
	heard   []string // what the client did, in order
	ctx     context.Context
	toward  chan any // messages ([]byte) and errors for the client
	gate    chan struct{}
	refuses error // the error that NewStream returns
	never   bool  // NewStream waits until its context ends
}

func newServerPeer() *serverPeer { return &serverPeer{toward: make(chan any, 1000)} }

// Invoke implements grpc.ClientConnInterface.
func (p *serverPeer) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return errors.New("not a unary service")
}

// NewStream implements grpc.ClientConnInterface.
func (p *serverPeer) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if method != "/STEFDestination/Stream" || !desc.ClientStreams || !desc.ServerStreams {
		return nil, fmt.Errorf("wrong method %s", method)
	}
	if p.never {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if p.refuses != nil {
		return nil, p.refuses
	}
	p.ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4320}})
	context.AfterFunc(ctx, func() { p.hear("-> end of the call") })
	return &peerStream{p}, nil
}

func (p *serverPeer) hear(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, fmt.Sprintf(format, args...))
}

// listen returns what the client did since the last call.
func (p *serverPeer) listen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := p.heard
	p.heard = nil
	return heard
}

// say sends a message, or ends the stream with an error. io.EOF ends it with the status OK.
func (p *serverPeer) say(message any) {
	if m, ok := message.(*stefpb.STEFServerMessage); ok {
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		message = b
	}
	p.toward <- message
}

// stall stops reading, so that flow control blocks the client.
func (p *serverPeer) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

func (p *serverPeer) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
	p.gate = nil
}

func (p *serverPeer) take(m any) error {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-p.ctx.Done():
			return io.EOF
		}
	}
	data, err := wire.ClientCodec().Marshal(m)
	if err != nil {
		return err
	}
	var got stefpb.STEFClientMessage
	if err := proto.Unmarshal(data.Materialize(), &got); err != nil {
		return err
	}
	if first := got.GetFirstMessage(); first != nil {
		p.hear("-> first message, root %s", first.GetRootStructName())
		return nil
	}
	end := ""
	if got.GetIsEndOfChunk() {
		end = ", end of chunk"
	}
	p.hear("-> %d bytes%s", len(got.GetStefBytes()), end)
	return nil
}

func capable(dict uint64, wire []byte) *stefpb.STEFServerMessage {
	c := &stefpb.STEFDestinationCapabilities{Schema: wire}
	if dict > 0 {
		c.DictionaryLimits = &stefpb.STEFDictionaryLimits{MaxDictBytes: dict}
	}
	return &stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Capabilities{Capabilities: c}}
}

func ackOf(id uint64, bad ...IDRange) *stefpb.STEFServerMessage {
	r := &stefpb.STEFDataResponse{AckRecordId: id}
	for _, x := range bad {
		r.BadDataRecordIdRanges = append(r.BadDataRecordIdRanges, &stefpb.STEFIDRange{FromId: x.From, ToId: x.To})
	}
	return &stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Response{Response: r}}
}

// peerStream is the client's view of the stream.
type peerStream struct{ p *serverPeer }

func (s *peerStream) Header() (metadata.MD, error) { return nil, nil }
func (s *peerStream) Trailer() metadata.MD         { return nil }
func (s *peerStream) Context() context.Context     { return s.p.ctx }

func (s *peerStream) CloseSend() error {
	s.p.hear("-> half-close")
	return nil
}

func (s *peerStream) SendMsg(m any) error {
	if s.p.ctx.Err() != nil {
		return io.EOF
	}
	return s.p.take(m)
}

func (s *peerStream) RecvMsg(m any) error {
	select {
	case x := <-s.p.toward:
		if err, ok := x.(error); ok {
			return err
		}
		return wire.ClientCodec().Unmarshal(cut(x.([]byte), []byte{5, 2}), m)
	case <-s.p.ctx.Done():
		return status.FromContextError(s.p.ctx.Err()).Err()
	}
}

// cut splits bytes into buffers. It uses the given lengths one after another, and then again from the
// first.
func cut(b, lengths []byte) mem.BufferSlice {
	var out mem.BufferSlice
	for i := 0; len(b) > 0; i++ {
		n := min(len(b), int(lengths[i%len(lengths)]))
		out = append(out, mem.SliceBuffer(bytes.Clone(b[:n])))
		b = b[n:]
	}
	return out
}

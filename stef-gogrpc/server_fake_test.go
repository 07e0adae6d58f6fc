// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// scripted is a stream of a server, without gRPC. A test decides what its client sends.
type scripted struct {
	ctx    context.Context
	cancel context.CancelFunc
	toward chan any // *wire.ClientMessage or error
	stalled
	mu   sync.Mutex
	sent []*wire.ServerMessage
	end  chan error // the result of the stream handler
}

// stalled blocks SendMsg, as if the client did not read.
type stalled struct {
	stallMu sync.Mutex
	stall   chan struct{}
}

// play starts a scripted stream on a server. Call it in a synctest bubble.
func play(t testing.TB, s *Server) *scripted {
	p := &scripted{toward: make(chan any, 100), end: make(chan error, 1)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.Cleanup(p.cancel)
	go func() {
		err := s.serveStream(p)
		p.cancel() // gRPC also does this when a stream handler returns
		p.end <- err
	}()
	return p
}

func open(t testing.TB, s *Server, root string) *scripted {
	t.Helper()
	p := play(t, s)
	p.toward <- &wire.ClientMessage{First: true, Root: root}
	synctest.Wait()
	require.Len(t, p.messages(), 1)
	require.NotNil(t, p.messages()[0].Capabilities)
	return p
}

func (p *scripted) data(endOfChunk bool, parts ...string) {
	p.toward <- &wire.ClientMessage{EndOfChunk: endOfChunk, Bytes: []byte(strings.Join(parts, ""))}
}

func (p *scripted) messages() []*wire.ServerMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func (p *scripted) responses() []Response {
	var list []Response
	for _, m := range p.messages() {
		if m.Response != nil {
			list = append(list, *m.Response)
		}
	}
	return list
}

// status waits for the end of the stream.
func (p *scripted) status(t testing.TB) *status.Status {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-p.end:
		synctest.Wait() // for the server's goroutines
		st, ok := status.FromError(err)
		require.True(t, ok, "%v", err)
		return st
	default:
		require.Fail(t, "the stream has not ended")
		return nil
	}
}

// stopReading makes the client stop reading until resume is called.
func (p *scripted) stopReading() (resume func()) {
	p.stallMu.Lock()
	defer p.stallMu.Unlock()
	stall := make(chan struct{})
	p.stall = stall
	return func() {
		p.stallMu.Lock()
		defer p.stallMu.Unlock()
		p.stall = nil
		close(stall)
	}
}

func (p *scripted) RecvMsg(m any) error {
	select {
	case got := <-p.toward:
		if err, ok := got.(error); ok {
			return err
		}
		proto.Merge(m.(*stefpb.STEFClientMessage), got.(*wire.ClientMessage).Proto())
		return nil
	case <-p.ctx.Done():
		return status.FromContextError(p.ctx.Err()).Err()
	}
}

func (p *scripted) SendMsg(m any) error {
	p.stallMu.Lock()
	stall := p.stall
	p.stallMu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-p.ctx.Done():
			return status.FromContextError(p.ctx.Err()).Err()
		}
	}
	if p.ctx.Err() != nil {
		return status.FromContextError(p.ctx.Err()).Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	message := wire.ParseServer(m.(*stefpb.STEFServerMessage))
	p.sent = append(p.sent, &message)
	return nil
}

func (p *scripted) Context() context.Context     { return p.ctx }
func (p *scripted) SetHeader(metadata.MD) error  { return nil }
func (p *scripted) SendHeader(metadata.MD) error { return nil }
func (p *scripted) SetTrailer(metadata.MD)       {}

func (p *scripted) halfClose() { p.toward <- io.EOF }

// small is a root with few columns.
func small(name string) *schema.Struct {
	return &schema.Struct{Name: name, Fields: []*schema.Field{
		{Name: "Old", Type: schema.Type{Kind: schema.KindUint64}},
		{Name: "New", Type: schema.Type{Kind: schema.KindString}},
	}}
}

// serving returns a server with a handler for root Metrics.
func serving(t testing.TB, h HandlerFunc, options ...ServerOption) *Server {
	t.Helper()
	s, err := NewServer(options...)
	require.NoError(t, err)
	require.NoError(t, s.Handle(small("Metrics"), h))
	t.Cleanup(func() {
		stats := s.Stats()
		require.Zero(t, stats.Streams, "streams are left")
		require.Zero(t, stats.BufferedBytes, "bytes are left")
		require.Zero(t, stats.Waiting)
	})
	return s
}

func readAll(s *ServerStream) error {
	_, err := io.Copy(io.Discard, s)
	return err
}

func requireStatus(t testing.TB, st *status.Status, code codes.Code, reason string) {
	t.Helper()
	require.Equal(t, code, st.Code(), st.Message())
	require.Equal(t, reason, Reason(st.Err()))
}

// untimed disables the timeouts, for tests whose clients are slow on purpose.
func untimed(c *serverConfig) error {
	c.timeouts = [limitIdle + 1]time.Duration{}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Server receives STEF streams. It is made, given a handler for each root, and
// registered with a gRPC server, which stays the caller's, with its TLS,
// authentication and interceptors:
//
//	server, err := stefgrpc.NewServer()
//	err = server.Handle(otelstef.MetricsSchema(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
//		r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
//		if err != nil {
//			return err
//		}
//		defer r.Close()
//		for r.Next() {
//			use(r.Record())
//			if r.Buffered() == 0 {
//				s.AckUpTo(r.Stats().Records)
//			}
//		}
//		return r.Err()
//	}))
//	g := grpc.NewServer()
//	server.Register(g)
//	err = g.Serve(listener)
//
// To end in order, call Shutdown first and GracefulStop of the gRPC server
// then.
//
// # Cost
//
// A stream has two goroutines, the handler's and one that receives; a third
// runs while a response is sent. Nothing else is allocated for a stream until it
// is needed.
type Server struct {
	config   serverConfig
	budget   budget
	stopping chan struct{} // closed by Shutdown

	chunks, bytes, opened, refused, panics, evicted atomic.Uint64
	handshaking                                     atomic.Int64
	timeouts                                        [limitIdle + 1]atomic.Uint64

	mu         sync.Mutex
	roots      map[string]*servedRoot
	registered bool
	stopped    bool
	streams    map[*ServerStream]struct{}
	idle       chan struct{} // closed when stopped and without streams
}

// servedRoot is a root that has a handler.
type servedRoot struct {
	root         *schema.Struct
	handler      Handler
	capabilities wire.Capabilities
}

// NewServer returns a server without handlers.
func NewServer(options ...ServerOption) (*Server, error) {
	config, err := newServerConfig(options)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   config,
		budget:   budget{max: config.maxBuffered},
		stopping: make(chan struct{}),
		roots:    map[string]*servedRoot{},
		streams:  map[*ServerStream]struct{}{},
		idle:     make(chan struct{}),
	}
	s.budget.relieve = s.evict
	return s, nil
}

// Handle sets the handler for streams of a root. It must be called before
// Register, and once for a name of a root. Streams of other roots end with
// UNIMPLEMENTED and ReasonUnknownRoot.
func (s *Server) Handle(root *schema.Struct, h Handler, options ...HandleOption) error {
	if root == nil || root.Name == "" || h == nil {
		return errors.New("stefgrpc: Handle without a root that has a name, or without a handler")
	}
	var config handleConfig
	for _, option := range options {
		if err := option(&config); err != nil {
			return err
		}
	}
	own := config.wire
	if own == nil {
		own = schema.WireOf(root)
	}
	if _, err := schema.Keep(root, own); err != nil {
		return fmt.Errorf("stefgrpc: advertised schema of %s: %w", root.Name, err)
	}
	advertised, err := own.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("stefgrpc: advertised schema of %s: %w", root.Name, err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.registered:
		return errors.New("stefgrpc: Handle after Register")
	case s.roots[root.Name] != nil:
		return fmt.Errorf("stefgrpc: root %s has a handler already", root.Name)
	}
	s.roots[root.Name] = &servedRoot{
		root:    root,
		handler: h,
		capabilities: wire.Capabilities{
			MaxDictBytes: uint64(s.config.dictLimit),
			Schema:       advertised,
		},
	}
	return nil
}

// Register makes the service known to a gRPC server, before that serves.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	s.mu.Lock()
	s.registered = true
	s.mu.Unlock()
	r.RegisterService(&serviceDesc, s)
}

func (s *Server) root(name string) *servedRoot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roots[name]
}

// serveStream is the life of one stream.
func (s *Server) serveStream(stream grpc.ServerStream) error {
	st, err := s.admit(stream)
	if err != nil {
		s.refused.Add(1)
		return err
	}
	defer st.end()
	defer st.release()
	if s.config.lifetime > 0 {
		st.expired = make(chan struct{})
		timer := time.AfterFunc(s.config.lifetime, func() { close(st.expired) })
		defer timer.Stop()
	}
	st.begin()
	go st.receive()

	if st.root, err = st.handshake(); st.root == nil {
		s.refused.Add(1)
		return err
	}
	err = st.run()
	told := st.finish()
	return st.status(err, told)
}

// admit makes the stream, if there may be another one.
func (s *Server) admit(stream grpc.ServerStream) (*ServerStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errReconnect
	case s.config.maxStreams > 0 && len(s.streams) >= s.config.maxStreams:
		return nil, errBusy
	}
	st := &ServerStream{server: s, grpc: stream, inbound: make(chan inbound), halted: make(chan struct{}), idled: make(chan struct{})}
	st.ctx, st.cancel = context.WithCancelCause(stream.Context())
	st.responses = responder{
		send: st.send, interval: s.config.ackInterval, hold: st.begin, done: st.end,
	}
	st.begin()
	s.streams[st] = struct{}{}
	s.opened.Add(1)
	s.handshaking.Add(1)
	return st, nil
}

// evict ends the stream that holds most of the bytes of unfinished chunks, of
// those whose clients have not sent more for a while. It is called while these
// bytes keep others waiting.
func (s *Server) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := time.Now().Add(-pressure).UnixNano()
	var greediest *ServerStream
	for st := range s.streams {
		since := st.idleSince.Load()
		if since == 0 || since > latest || st.ctx.Err() != nil || st.held.Load() == 0 {
			continue
		}
		if greediest == nil || st.held.Load() > greediest.held.Load() {
			greediest = st
		}
	}
	if greediest != nil {
		s.evicted.Add(1)
		greediest.cancel(crowded("the server needs the memory that an unfinished chunk of this stream holds"))
	}
}

// gone is called when no goroutine uses a stream any more.
func (s *Server) gone(st *ServerStream) {
	if !st.begun {
		s.handshaking.Add(-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	if s.stopped && len(s.streams) == 0 {
		close(s.idle)
	}
}

// cancelGrace is how long handlers may take to return when their context has
// ended.
const cancelGrace = time.Second

// Shutdown ends all streams in order: no new ones are taken; each handler reads
// on to the end of the chunk it is in and then io.EOF, may acknowledge until it
// returns, and its client is told to open the stream anew elsewhere. Streams
// that are not at their end when ctx is are cancelled: they end with UNAVAILABLE
// without a reason, and what they had not acknowledged may be sent again by
// their clients although it was delivered; then Shutdown returns the error of
// ctx. It returns when all handlers have, unless one does not return
// within a second after it was cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stopping)
		if len(s.streams) == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()

	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
	}
	cancelled := s.cancelStreams()
	if cancelled == 0 {
		<-s.idle
		return nil
	}
	grace := time.NewTimer(cancelGrace)
	defer grace.Stop()
	select {
	case <-s.idle:
		return fmt.Errorf("stefgrpc: %d streams did not end in time: %w", cancelled, ctx.Err())
	case <-grace.C:
		return fmt.Errorf("stefgrpc: %d streams still have a handler that runs: %w", s.Stats().Streams, ctx.Err())
	}
}

// cancelStreams cancels all streams and returns how many there were.
func (s *Server) cancelStreams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		st.cancel(errKilled)
	}
	return len(s.streams)
}

// ServerStats are counts of what a server does.
type ServerStats struct {
	// Streams is the number of streams now, Opened of those ever taken.
	// Handshaking is how many of Streams have not sent their first message.
	Streams, Handshaking int
	Opened               uint64
	// Refused is the number of streams that ended before a handler had them:
	// too many, an unknown root, a bad first message, or while the server ends.
	Refused uint64
	// Panics is the number of handlers that panicked.
	Panics uint64
	// Chunks and ReceivedBytes are what was received.
	Chunks, ReceivedBytes uint64
	// Streams that ended because their clients took too long: to send the first
	// message, to send the header, to finish a chunk. IdleEnds are streams that
	// ended in order because they were idle.
	FirstMessageTimeouts, HeaderTimeouts, ChunkTimeouts, IdleEnds uint64
	// Evicted is the number of streams that ended because their unfinished
	// chunks held the memory that others needed.
	Evicted uint64
	// BufferedBytes is what was received and not yet read by a handler, and what
	// was read of unfinished chunks; a message counts until its last byte is
	// read, and a chunk that has several until its last message is. Waiting is the number of
	// streams that wait for that to become less.
	BufferedBytes int64
	Waiting       int
}

// Stats returns the counts at this moment.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	streams := len(s.streams)
	s.mu.Unlock()
	stats := ServerStats{
		Streams:              streams,
		Handshaking:          int(s.handshaking.Load()),
		FirstMessageTimeouts: s.timeouts[limitFirstMessage].Load(),
		HeaderTimeouts:       s.timeouts[limitHeader].Load(),
		ChunkTimeouts:        s.timeouts[limitChunk].Load(),
		IdleEnds:             s.timeouts[limitIdle].Load(),
		Evicted:              s.evicted.Load(),
		Opened:               s.opened.Load(),
		Refused:              s.refused.Load(),
		Panics:               s.panics.Load(),
		Chunks:               s.chunks.Load(),
		ReceivedBytes:        s.bytes.Load(),
	}
	stats.BufferedBytes, stats.Waiting = s.budget.state()
	return stats
}

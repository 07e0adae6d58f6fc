// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Server receives STEF streams. Create it, set a handler for each root, and
// register it with a gRPC server. The caller owns the gRPC server and sets its
// TLS, authentication and interceptors:
//
//	server, err := stefgrpc.NewServer()
//	// With otelstef.MetricsRoot, Collectors send the full form, which is larger.
//	err = server.Handle(otelstef.MetricsCompactRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
//		r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
//		if err != nil {
//			return err
//		}
//		defer r.Close()
//		for r.Next() {
//			use(r.Record())
//			if r.BufferedRecords() == 0 {
//				s.AckUpTo(r.Stats().Records)
//			}
//		}
//		return r.Err()
//	}))
//	g := grpc.NewServer()
//	server.Register(g)
//	err = g.Serve(listener)
//
// Next waits for the next frame until the client ends the stream, so acknowledge inside the
// loop, when BufferedRecords is 0. After the loop it is too late: a client that waits for the
// acknowledgement does not end the stream.
//
// To end gracefully, first call Shutdown, then GracefulStop of the gRPC server. GracefulStop and Stop wait
// for clients that connect and send nothing, two minutes by default (grpc.ConnectionTimeout). The examples
// in server_example_test.go, server_files_example_test.go and server_workers_example_test.go are
// whole programs that store the telemetry of Collectors. To test a server on port 4320 with the
// telemetry of this repository, run the file tool in the root folder of the repository:
//
//	stef replay --endpoint localhost:4320 --protocol stef --rate max internal/fixtures/*.otlp.zst
//
// # Memory
//
// WithMaxBufferedBytes bounds the bytes that all streams have received and no handler has
// read. The readers of handlers need additional memory: stef.WithLimits bounds this memory
// for each stream, WithMaxStreams bounds the number of streams, and ReaderStats.HeldBytes
// tells how much a reader holds between two frames. Equal records take almost no bytes, so
// a small frame can contain millions of records: a handler that collects records must bound
// how many it collects.
//
// # Cost
//
// A stream has two goroutines: one runs the handler, one receives. A third goroutine
// runs while a response is sent. Other memory of a stream is allocated when it is
// first needed.
type Server struct {
	config   serverConfig
	budget   budget
	stopping chan struct{} // closed by Shutdown

	chunks, bytes, opened, refused, panics, evicted atomic.Uint64
	acked, rejected, failed                         atomic.Uint64
	handshaking                                     atomic.Int64
	timeouts                                        [limitIdle + 1]atomic.Uint64

	mu         sync.Mutex
	roots      map[string]*servedRoot
	registered bool
	stopped    bool
	streams    map[*ServerStream]struct{}
	idle       chan struct{} // closed when the server is stopped and no streams remain
}

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
	s.budget.evict = s.evict
	return s, nil
}

// Handle sets the handler for streams of a root. Call it before Register, and only
// once for each root name. A function needs the conversion HandlerFunc(f). Streams of other
// roots end with UNIMPLEMENTED and ReasonUnknownRoot.
func (s *Server) Handle(root *schema.Struct, h Handler, options ...HandleOption) error {
	if f, ok := h.(HandlerFunc); root == nil || root.Name == "" || h == nil || ok && f == nil {
		return errors.New("stefgrpc: Handle needs a root with a name, and a handler that is not nil")
	}
	var config handleConfig
	if err := applyOptions("Handle", &config, options); err != nil {
		return err
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
	case s.roots == nil:
		return errors.New("stefgrpc: Handle: the server is a zero Server: create it with NewServer")
	case s.registered:
		return errors.New("stefgrpc: Handle was called after Register")
	case s.roots[root.Name] != nil:
		advice := ""
		if !slices.Equal(schema.WireOf(s.roots[root.Name].root), schema.WireOf(root)) {
			advice = "; the handler of the root with more fields, such as a compact root, serves both"
		}
		return fmt.Errorf("stefgrpc: root %s has a handler already%s", root.Name, advice)
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

// Register registers the service with a gRPC server. Call it before the gRPC
// server starts to serve. It panics if r is nil.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	if g, ok := r.(*grpc.Server); r == nil || ok && g == nil {
		panic("stefgrpc: Register: the gRPC server is nil: create it with grpc.NewServer")
	}
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

// rootNames returns the names of the roots that have a handler, in order.
func (s *Server) rootNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.roots))
}

func (s *Server) serveStream(stream grpc.ServerStream) error {
	if name := messageCompression(stream.Context()); name != "" && !s.config.compressed {
		s.refused.Add(1)
		return statusOf(compressedMessages(name))
	}
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
	err = st.status(err, told)
	if code := status.Code(err); code != codes.OK && code != codes.Canceled && Reason(err) != ReasonReconnect {
		s.failed.Add(1)
	}
	return err
}

// admit creates the stream, unless the server was shut down or the limit of streams is reached.
func (s *Server) admit(stream grpc.ServerStream) (*ServerStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errReconnect
	case s.config.maxStreams > 0 && len(s.streams) >= s.config.maxStreams:
		return nil, errBusy
	}
	st := &ServerStream{server: s, grpc: stream, inbound: make(chan inbound), received: make(chan struct{}), halted: make(chan struct{}), idled: make(chan struct{})}
	st.ctx, st.cancel = context.WithCancelCause(stream.Context())
	st.responses = responder{
		send: st.send, pace: ledger.Pace{Interval: s.config.ackInterval}, hold: st.begin, done: st.end,
		fail: func(e *Error) { st.cancel(e) }, over: st.ctx.Done(),
	}
	st.begin()
	s.streams[st] = struct{}{}
	s.opened.Add(1)
	s.handshaking.Add(1)
	return st, nil
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

// evict considers the streams that have waited for a second for the rest of a chunk, or for
// the budget. Among these, it ends the stream with the most bytes of an unfinished chunk. It is
// called while the bytes of unfinished chunks block other streams.
func (s *Server) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := int64(time.Since(processStart) - evictAfter)
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
		greediest.cancel(memoryError("the server needs the memory that an unfinished chunk of this stream holds"))
	}
}

// gone removes a stream that no goroutine uses any more.
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

// cancelGrace is how long Shutdown waits for handlers to return after it has
// cancelled their contexts.
const cancelGrace = time.Second

// Shutdown ends all streams gracefully. The server accepts no new streams. Each handler reads
// to the end of the current chunk and then receives io.EOF; it may acknowledge records until it
// returns. The clients are asked to open their streams elsewhere. When ctx ends, Shutdown
// cancels the remaining streams: they end with UNAVAILABLE without a reason, and their clients
// may send unacknowledged records again although they were delivered. In that case Shutdown
// returns the error of ctx. Shutdown returns when all handlers have returned, or one second
// after it cancelled them.
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
		return fmt.Errorf("stefgrpc: shutdown cancelled %d streams that did not end in time: %w", cancelled, ctx.Err())
	case <-grace.C:
		return fmt.Errorf("stefgrpc: shutdown cancelled all streams, but the handlers of %d streams have not returned: %w", s.Stats().Streams, ctx.Err())
	}
}

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
	// Streams is the current number of streams. Opened is the number of admitted streams so far,
	// including streams that were refused later. Streams over WithMaxStreams count only in
	// Refused. Handshaking is how many current streams have not sent their first message.
	Streams, Handshaking int
	Opened               uint64
	// Refused is the number of streams that ended before a handler received them:
	// too many streams, an unknown root, a bad first message, or a shutdown. Streams that an
	// interceptor of gRPC refuses are not counted.
	Refused uint64
	// Failed is the number of streams that a handler received and that ended with an error.
	// Streams that ended because the client disconnected or the server shut down gracefully are
	// not counted.
	Failed uint64
	// Panics is the number of handlers that panicked.
	Panics uint64
	// AckedRecords counts the records that were acknowledged to clients, including
	// bad records. RejectedRecords counts the records that were reported as bad.
	AckedRecords, RejectedRecords uint64
	// Chunks counts complete chunks. ReceivedBytes counts the bytes of all messages that the server
	// accepted. If a message ends its stream, for example because its chunk exceeds
	// WithMaxChunkBytes, the earlier messages of the chunk are counted, and this message is not.
	Chunks, ReceivedBytes uint64
	// FirstMessageTimeouts, HeaderTimeouts and ChunkTimeouts count streams whose clients took too
	// long to send the first message, to send the header, or to finish a chunk. IdleEnds counts
	// streams that ended gracefully because they were idle.
	FirstMessageTimeouts, HeaderTimeouts, ChunkTimeouts, IdleEnds uint64
	// Evicted is the number of streams that ended because their unfinished chunks
	// held memory that other streams needed.
	Evicted uint64
	// BufferedBytes counts received bytes that no handler has read yet, and bytes
	// of unfinished chunks that were read. A message counts until its last byte is
	// read. A chunk of several messages counts until its last message is read.
	// Waiting is the number of streams that wait until BufferedBytes decreases.
	BufferedBytes int64
	Waiting       int
}

// Stats returns the counts at this moment.
func (s *Server) Stats() ServerStats {
	stats := ServerStats{
		Streams:              s.count(),
		Handshaking:          int(s.handshaking.Load()),
		FirstMessageTimeouts: s.timeouts[limitFirstMessage].Load(),
		HeaderTimeouts:       s.timeouts[limitHeader].Load(),
		ChunkTimeouts:        s.timeouts[limitChunk].Load(),
		IdleEnds:             s.timeouts[limitIdle].Load(),
		Evicted:              s.evicted.Load(),
		Opened:               s.opened.Load(),
		Refused:              s.refused.Load(),
		Failed:               s.failed.Load(),
		Panics:               s.panics.Load(),
		AckedRecords:         s.acked.Load(),
		RejectedRecords:      s.rejected.Load(),
		Chunks:               s.chunks.Load(),
		ReceivedBytes:        s.bytes.Load(),
	}
	stats.BufferedBytes, stats.Waiting = s.budget.state()
	return stats
}

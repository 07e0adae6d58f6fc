// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/grpclog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
)

// Defaults of a server.
const (
	DefaultMaxChunkBytes     = 16 << 20
	DefaultMaxBufferedBytes  = 512 << 20
	DefaultAckInterval       = 10 * time.Millisecond
	DefaultMaxDictBytes      = 64 << 20
	DefaultWindowMemoryBytes = 64 << 20

	DefaultFirstMessageTimeout = 10 * time.Second
	DefaultHeaderTimeout       = time.Minute
	DefaultChunkTimeout        = 2 * time.Minute
	DefaultIdleTimeout         = 2 * time.Minute
)

type serverConfig struct {
	maxChunk    int64
	maxStreams  int
	maxBuffered int64
	compressed  bool // accept messages that gRPC compresses
	ackInterval time.Duration
	dictLimit   int
	windows     int64 // bound for the memory of all windows of zstd; 0: no bound
	lifetime    time.Duration
	timeouts    [limitIdle + 1]time.Duration // 0: none
	onPanic     func(*ServerStream, any, []byte)
}

func newServerConfig(options []ServerOption) (serverConfig, error) {
	c := serverConfig{
		maxChunk:    DefaultMaxChunkBytes,
		maxBuffered: DefaultMaxBufferedBytes,
		ackInterval: DefaultAckInterval,
		dictLimit:   DefaultMaxDictBytes,
		windows:     DefaultWindowMemoryBytes,
		timeouts: [...]time.Duration{
			limitFirstMessage: DefaultFirstMessageTimeout,
			limitHeader:       DefaultHeaderTimeout,
			limitChunk:        DefaultChunkTimeout,
			limitIdle:         DefaultIdleTimeout,
		},
		onPanic: logPanic,
	}
	return c, applyOptions("NewServer", &c, options)
}

// ServerOption changes a setting of a server, such as a limit.
type ServerOption func(*serverConfig) error

// WithMaxChunkBytes sets the maximum size of a chunk (a header or a frame), in bytes as sent. A
// stream with a larger chunk ends with RESOURCE_EXHAUSTED as soon as the message that exceeds
// the limit arrives. The default is DefaultMaxChunkBytes, about four times the default frame
// size of writers. The last record of a frame can exceed the frame size. If clients send
// records of more than 12 MiB after compression, set the sum of the frame size and the size of
// a record.
func WithMaxChunkBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.maxChunk = int64(bytes)
		return atLeast("WithMaxChunkBytes", bytes, 1)
	}
}

// WithMaxStreams bounds the number of concurrent streams. Further streams, also streams of
// unknown roots, end with UNAVAILABLE and a retry delay. The default is 0, which sets no bound.
func WithMaxStreams(n int) ServerOption {
	return func(c *serverConfig) error {
		c.maxStreams = n
		return atLeast("WithMaxStreams", n, 0)
	}
}

// WithMaxBufferedBytes bounds, over all streams, the received bytes that handlers have not
// yet read, and the bytes of unfinished chunks. If there is no room, streams wait until
// handlers have read other data, and flow control makes their clients wait. Waiting
// messages are kept in addition to the bound. When the waiting messages alone exceed the same
// number of bytes, further messages end their stream with RESOURCE_EXHAUSTED and a retry delay. A
// chunk larger than the bound ends its stream with RESOURCE_EXHAUSTED and no delay, like a chunk
// larger than WithMaxChunkBytes.
//
// If unfinished chunks use all of these bytes, the server ends one stream, also with
// RESOURCE_EXHAUSTED and a retry delay. It chooses among the streams whose clients have sent
// nothing for a second, and ends the stream with the most bytes. The default is
// DefaultMaxBufferedBytes.
func WithMaxBufferedBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.maxBuffered = int64(bytes)
		return atLeast("WithMaxBufferedBytes", bytes, 1)
	}
}

// WithAckInterval sets the minimum time between two responses of a stream while
// records are outstanding. An acknowledgement is sent immediately if the interval since
// the last response has passed. If not, it is sent when the interval ends, merged with
// other acknowledgements. When no records are outstanding (the handler has finished every
// record and waits for the client), the minimum time is one millisecond. With 0,
// acknowledgements are sent immediately, except that acknowledgements during the sending
// of a response are merged into the next response. The default is DefaultAckInterval.
func WithAckInterval(d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.ackInterval = d
		return notNegative("WithAckInterval", d)
	}
}

// WithMaxDictBytes sets the size in bytes at which clients must reset their
// dictionaries. Readers with ServerStream.ReaderOptions enforce this limit, with
// slack. With 0, the server announces no limit, and readers use their own limit. The
// default is DefaultMaxDictBytes.
//
// spec: #dict-limit
func WithMaxDictBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.dictLimit = bytes
		if err := atLeast("WithMaxDictBytes", bytes, 0); err != nil {
			return err
		}
		if bytes > maxDictLimit {
			return fmt.Errorf("stefgrpc: WithMaxDictBytes(%d): must be at most %d", bytes, maxDictLimit)
		}
		return nil
	}
}

// maxDictLimit is the largest limit for which the slack is possible: ReaderOptions doubles
// the limit, and the result must be a valid limit of a reader, also if an int has 32 bits.
const maxDictLimit = min(1<<38, math.MaxInt>>2)

// WithWindowMemoryBytes sets a bound for the memory of the zstd windows of all streams.
// When the default windows of the open streams would need more, the server asks the client of each
// new stream to limit its window. With 0, the server never asks.
//
// The server sends the largest window that the client may choose. If all open streams used
// this window, they would need at most four times the bound. But the server never asks for
// less than 32 KiB. The client chooses a window by the size of its frames, 16 KiB if the frames are
// small. A stream with the default window of 1 MiB holds 1.4 MiB, a stream with 64 KiB holds 0.25
// MiB. With DefaultWindowMemoryBytes, the server asks for no window while at most 46 streams are
// open. With up to 184 streams it asks for at most 1 MiB, with 1,024 streams for at most 64 KiB.
// Streams that were opened before, large frames, and clients that ignore the request can exceed the
// bound.
//
// spec: #window-limit
func WithWindowMemoryBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.windows = int64(bytes)
		return atLeast("WithWindowMemoryBytes", bytes, 0)
	}
}

// The windows that a server asks for. The largest window is the default of writers.
const (
	largestAsked  = stef.DefaultWindowBytes
	smallestAsked = 32 << 10
)

// largeFrames is the factor by which the windows may exceed the bound. They exceed it if all
// streams have large frames, because then each client chooses the largest window allowed.
const largeFrames = 4

// askedWindow returns the window that the server asks a client for, if the given number of
// streams is open. It returns 0 if the server asks for no window.
func askedWindow(memory int64, streams int) int {
	if memory == 0 || int64(streams) <= memory/windowMemory(largestAsked) {
		return 0
	}
	window := largestAsked
	for window > smallestAsked && int64(streams) > memory/windowMemory(window)*largeFrames {
		window /= 2
	}
	return window
}

// windowMemory is the memory that a zstd decoder allocates for a window: a buffer for the
// window and two blocks, and a buffer for one block. A block is at most 128 KiB.
func windowMemory(window int) int64 { return int64(window) + 3*int64(min(window, 128<<10)) }

// WithMaxStreamLifetime ends streams when they reach age d, so that load can move
// to other servers: the handler reads to the end of the current chunk and then
// receives io.EOF. When the handler has returned nil and all its acknowledgements
// were sent, the stream ends with OK. If a client stops within a chunk, its stream
// stays open until the client continues or disconnects. The default is 0, no
// bound.
func WithMaxStreamLifetime(d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.lifetime = d
		return notNegative("WithMaxStreamLifetime", d)
	}
}

// WithFirstMessageTimeout bounds the time between the opening of a stream and the
// first message, in which the client names the root. All timeouts count only the time
// in which the server waits for the client. When this timeout expires, the stream ends
// with DEADLINE_EXCEEDED, and ServerStats counts the timeout. 0 sets no bound. The
// default is DefaultFirstMessageTimeout.
func WithFirstMessageTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithFirstMessageTimeout", limitFirstMessage, d)
}

// WithHeaderTimeout bounds the time from the first message to the end of the first
// chunk, which is the header of the stream. WithFirstMessageTimeout describes how
// timeouts work. The default is DefaultHeaderTimeout.
func WithHeaderTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithHeaderTimeout", limitHeader, d)
}

// WithChunkTimeout bounds the time from the first byte of a chunk to its last byte.
// WithFirstMessageTimeout describes how timeouts work. The default is
// DefaultChunkTimeout.
func WithChunkTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithChunkTimeout", limitChunk, d)
}

// WithCompressedMessages accepts streams whose messages gRPC compresses. Use it only for
// trusted clients: gRPC decompresses a message, up to the maximum message size of the gRPC
// server, before any limit counts its bytes. By default, the server refuses streams with
// compressed messages.
func WithCompressedMessages() ServerOption {
	return func(c *serverConfig) error {
		c.compressed = true
		return nil
	}
}

// WithIdleTimeout ends a stream gracefully, with OK, when its client sends nothing for the
// duration d between two chunks. A client that has more data opens a new stream. A Session without
// data opens no new stream, with two exceptions: the ended stream had data less than 5 s ago, or
// SessionConfig.IdleTimeout is negative. The memory of the ended stream, such as dictionaries and
// the state of the compression, is released. To close connections without streams, configure the
// gRPC server (keepalive.ServerParameters.MaxConnectionIdle). If d is 0, there is no bound. The
// default is DefaultIdleTimeout (2 minutes).
func WithIdleTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithIdleTimeout", limitIdle, d)
}

func timeoutOption(option string, limit clockLimit, d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.timeouts[limit] = d
		return notNegative(option, d)
	}
}

// WithOnPanic sets the function that is called when a handler has panicked, with the
// value and the stack. It runs on the goroutine of the handler. The stream then
// ends with INTERNAL, not UNAVAILABLE. After UNAVAILABLE, the client would send the same
// records again, the handler would panic again, and the later records of the client would
// wait forever. By default, the panic is logged in the error log of gRPC.
func WithOnPanic(f func(s *ServerStream, value any, stack []byte)) ServerOption {
	return func(c *serverConfig) error {
		if f == nil {
			return fmt.Errorf("stefgrpc: WithOnPanic: the function is nil")
		}
		c.onPanic = f
		return nil
	}
}

var log = grpclog.Component("stef")

func logPanic(s *ServerStream, value any, stack []byte) {
	log.Errorf("handler of %s panicked: %v\n%s", s.Root().Name, value, stack)
}

func atLeast(option string, n, least int) error {
	if n < least {
		return fmt.Errorf("stefgrpc: %s(%d): must be at least %d", option, n, least)
	}
	return nil
}

func notNegative(option string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("stefgrpc: %s(%v): must not be negative", option, d)
	}
	return nil
}

type handleConfig struct {
	wire schema.WireSchema // nil: the whole root
}

// HandleOption changes how a root is served.
type HandleOption func(*handleConfig) error

// WithAdvertisedSchema makes the server announce an older schema of the root than
// its own, like a server that was built before the last fields were added. Clients
// then omit those fields.
func WithAdvertisedSchema(wire schema.WireSchema) HandleOption {
	return func(c *handleConfig) error {
		c.wire = wire
		return nil
	}
}

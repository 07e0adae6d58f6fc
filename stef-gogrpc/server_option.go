// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/grpclog"

	"github.com/otelstef/stef/stef-go/schema"
)

// Defaults of a server.
const (
	DefaultMaxChunkBytes    = 16 << 20
	DefaultMaxBufferedBytes = 512 << 20
	DefaultAckInterval      = 10 * time.Millisecond
	DefaultMaxDictBytes     = 64 << 20

	DefaultFirstMessageTimeout = 10 * time.Second
	DefaultHeaderTimeout       = time.Minute
	DefaultChunkTimeout        = 2 * time.Minute
	DefaultIdleTimeout         = 10 * time.Minute
)

// serverConfig is what the options of a server come to.
type serverConfig struct {
	maxChunk    int64
	maxStreams  int
	maxBuffered int64
	ackInterval time.Duration
	dictLimit   int
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
		timeouts: [...]time.Duration{
			limitFirstMessage: DefaultFirstMessageTimeout,
			limitHeader:       DefaultHeaderTimeout,
			limitChunk:        DefaultChunkTimeout,
			limitIdle:         DefaultIdleTimeout,
		},
		onPanic: logPanic,
	}
	for _, option := range options {
		if err := option(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ServerOption changes what a server allows and when it speaks.
type ServerOption func(*serverConfig) error

// WithMaxChunkBytes sets the greatest size of a chunk, a header or a frame, in the
// bytes that are sent. A stream with a greater one ends with RESOURCE_EXHAUSTED
// as soon as the message that exceeds it is here. Default DefaultMaxChunkBytes, four
// times what writers make by default.
func WithMaxChunkBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.maxChunk = int64(bytes)
		return atLeast("WithMaxChunkBytes", bytes, 1)
	}
}

// WithMaxStreams bounds how many streams there are at one time. Further ones
// end with UNAVAILABLE and a delay after which to try again. Default 0, which is
// no bound.
func WithMaxStreams(n int) ServerOption {
	return func(c *serverConfig) error {
		c.maxStreams = n
		return atLeast("WithMaxStreams", n, 0)
	}
}

// WithMaxBufferedBytes bounds the bytes that were received on all streams
// together and not yet read by their handlers, and the bytes of unfinished
// chunks. Where there is no room, streams wait until others have been read, and
// in the end their clients do. Messages that wait are kept beyond the bound, up
// to the same number of bytes; further ones end their stream with
// RESOURCE_EXHAUSTED and a delay. A message that is greater than the bound ends
// its stream with RESOURCE_EXHAUSTED.
//
// If unfinished chunks fill the room, the stream that holds most and whose
// client has sent nothing for a second ends, also with RESOURCE_EXHAUSTED and a
// delay. Default DefaultMaxBufferedBytes.
func WithMaxBufferedBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.maxBuffered = int64(bytes)
		return atLeast("WithMaxBufferedBytes", bytes, 1)
	}
}

// WithAckInterval sets the least time between two responses of a stream. What
// is acknowledged later than that after the last response goes out at once, what
// is acknowledged sooner goes out together when the time is over. 0 is at once
// in any case, and even then what is acknowledged while a response is on its way
// goes out together. Default DefaultAckInterval.
func WithAckInterval(d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.ackInterval = d
		return notNegative("WithAckInterval", d)
	}
}

// WithMaxDictBytes sets the bytes of dictionaries at which clients have to begin
// them anew. The readers of ServerStream.ReaderOptions hold them to it, with
// slack. 0 names no limit, and readers have their own. Default DefaultMaxDictBytes.
//
// spec: #dict-limit
func WithMaxDictBytes(bytes int) ServerOption {
	return func(c *serverConfig) error {
		c.dictLimit = bytes
		if err := atLeast("WithMaxDictBytes", bytes, 0); err != nil {
			return err
		}
		if bytes > maxDictLimit {
			return fmt.Errorf("stefgrpc: WithMaxDictBytes(%d), at most %d", bytes, maxDictLimit)
		}
		return nil
	}
}

// maxDictLimit leaves room for the slack within what readers can be told.
const maxDictLimit = 1 << 38

// WithMaxStreamLifetime makes streams end when they are that old, so that load
// can move to other servers: the handler reads what there is up to the end of
// a chunk and then io.EOF, and when it has returned nil, and all it acknowledged
// has gone out, the stream ends with OK. A client that stops within a chunk
// makes its stream live until it goes on or goes away. Default 0, no bound.
func WithMaxStreamLifetime(d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.lifetime = d
		return notNegative("WithMaxStreamLifetime", d)
	}
}

// WithFirstMessageTimeout bounds the time that a client may take to name its root
// after it has opened a stream. Only time in which the server waits for the
// client counts, here and for the other timeouts. The stream ends with
// DEADLINE_EXCEEDED, and ServerStats counts it. 0 sets no bound. Default
// DefaultFirstMessageTimeout.
func WithFirstMessageTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithFirstMessageTimeout", limitFirstMessage, d)
}

// WithHeaderTimeout is the same for the time from the first message to the end
// of the first chunk, which is the header of the stream. Default
// DefaultHeaderTimeout.
func WithHeaderTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithHeaderTimeout", limitHeader, d)
}

// WithChunkTimeout is the same for the time from the first byte of a chunk to
// its last. Default DefaultChunkTimeout.
func WithChunkTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithChunkTimeout", limitChunk, d)
}

// WithIdleTimeout makes a stream end in order, with OK, when its client sends
// nothing for that long between two chunks. A client that has more to send opens
// a new stream; what the old one held, such as dictionaries and the state of the
// compression, is released. Connections without streams are for the gRPC server
// to close (keepalive.ServerParameters.MaxConnectionIdle). 0 sets no bound.
// Default DefaultIdleTimeout.
func WithIdleTimeout(d time.Duration) ServerOption {
	return timeoutOption("WithIdleTimeout", limitIdle, d)
}

func timeoutOption(option string, limit clockLimit, d time.Duration) ServerOption {
	return func(c *serverConfig) error {
		c.timeouts[limit] = d
		return notNegative(option, d)
	}
}

// OnPanic sets what is called when a handler has panicked, with the value and
// the stack. It runs on the goroutine of the handler. The stream then ends with
// INTERNAL. Default is a line in the error log of gRPC.
func OnPanic(f func(s *ServerStream, value any, stack []byte)) ServerOption {
	return func(c *serverConfig) error {
		if f == nil {
			return fmt.Errorf("stefgrpc: OnPanic without a function")
		}
		c.onPanic = f
		return nil
	}
}

var log = grpclog.Component("stef")

func logPanic(s *ServerStream, value any, stack []byte) {
	log.Errorf("handler of %s panicked: %v\n%s", s.Root().Name, value, stack)
}

// stackOfPanic is called in the deferred function that recovers.
func stackOfPanic() []byte { return debug.Stack() }

func atLeast(option string, n, least int) error {
	if n < least {
		return fmt.Errorf("stefgrpc: %s(%d), must be at least %d", option, n, least)
	}
	return nil
}

func notNegative(option string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("stefgrpc: %s(%v), must not be negative", option, d)
	}
	return nil
}

// handleConfig is what the options of Handle come to.
type handleConfig struct {
	wire schema.WireSchema // nil: the whole root
}

// HandleOption changes how a root is served.
type HandleOption func(*handleConfig) error

// WithAdvertisedSchema makes the server name an older schema of the root than
// its own, as a server does that was built before the last fields were added.
// Clients then leave those out.
func WithAdvertisedSchema(wire schema.WireSchema) HandleOption {
	return func(c *handleConfig) error {
		c.wire = wire
		return nil
	}
}

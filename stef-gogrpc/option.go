// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Defaults of a client.
const (
	// DefaultMaxMessageBytes is the greatest size of a message that a client
	// sends: a quarter of what gRPC servers receive by default. In
	// BenchmarkMessageSize, messages of 256 KiB and of 1 MiB are equally fast,
	// larger and much smaller ones are slower.
	DefaultMaxMessageBytes = 1 << 20
	// DefaultMaxUnackedBytes is how much a stream may have sent and not
	// acknowledged.
	DefaultMaxUnackedBytes = 64 << 20
	// DefaultHandshakeTimeout is how long a server may take to answer.
	DefaultHandshakeTimeout = 10 * time.Second
)

// minMessageBytes leaves room for bytes beside what else a message holds.
const minMessageBytes = 2 * maxEnvelope

type clientConfig struct {
	maxMessageBytes  int
	maxUnackedBytes  int64
	maxUnacked       uint64
	handshakeTimeout time.Duration
	dictBytes        int
	callOptions      []grpc.CallOption
}

// ClientOption changes how a client opens streams.
type ClientOption func(*clientConfig) error

// WithMaxMessageBytes sets the greatest size of a message in bytes, at least 16.
// Larger chunks are split over several messages. Default
// DefaultMaxMessageBytes. A server cannot say what it receives; by gRPC's
// default it is 4 MiB.
func WithMaxMessageBytes(bytes int) ClientOption {
	return func(c *clientConfig) error {
		if bytes < minMessageBytes {
			return fmt.Errorf("stefgrpc: message size of %d bytes is below %d", bytes, minMessageBytes)
		}
		c.maxMessageBytes = bytes
		return nil
	}
}

// WithMaxUnackedBytes bounds the bytes that a stream has sent and the server has
// not acknowledged. Writes wait at the bound, so a stream exceeds it by one chunk
// at most. A Session has a bound of its own, SessionConfig.MaxUnackedBytes, and
// ignores this one. Default DefaultMaxUnackedBytes.
func WithMaxUnackedBytes(n int) ClientOption {
	return func(c *clientConfig) error {
		if n < 1 {
			return fmt.Errorf("stefgrpc: bound of %d unacknowledged bytes is not positive", n)
		}
		c.maxUnackedBytes = int64(n)
		return nil
	}
}

// WithMaxUnackedRecords is WithMaxUnackedBytes in records. 0, the default, sets
// no bound.
func WithMaxUnackedRecords(n uint64) ClientOption {
	return func(c *clientConfig) error {
		c.maxUnacked = n
		return nil
	}
}

// WithCallOptions adds options to the call of every stream, such as credentials
// and compression. Options that choose a codec have no effect.
func WithCallOptions(options ...grpc.CallOption) ClientOption {
	return func(c *clientConfig) error {
		c.callOptions = append(c.callOptions, options...)
		return nil
	}
}

// WithHandshakeTimeout bounds the time in which a stream must be open,
// connecting included. The context of Open can make it shorter. Default
// DefaultHandshakeTimeout.
func WithHandshakeTimeout(d time.Duration) ClientOption {
	return func(c *clientConfig) error {
		if d <= 0 {
			return fmt.Errorf("stefgrpc: handshake timeout of %v is not positive", d)
		}
		c.handshakeTimeout = d
		return nil
	}
}

// WithDictBytes sets the size of the dictionaries in bytes at which a writer
// begins them anew (stef.WithDictBytes), unless the server names a lower one.
// Default stef.DefaultDictBytes.
//
// spec: #dict-limit
func WithDictBytes(bytes int) ClientOption {
	return func(c *clientConfig) error {
		if bytes < 1 {
			return fmt.Errorf("stefgrpc: dictionary size of %d bytes is not positive", bytes)
		}
		c.dictBytes = bytes
		return nil
	}
}

func newClientConfig(options []ClientOption) (clientConfig, error) {
	c := clientConfig{
		maxMessageBytes:  DefaultMaxMessageBytes,
		maxUnackedBytes:  DefaultMaxUnackedBytes,
		handshakeTimeout: DefaultHandshakeTimeout,
		dictBytes:        stef.DefaultDictBytes,
	}
	for _, option := range options {
		if err := option(&c); err != nil {
			return c, err
		}
	}
	c.callOptions = append(slices.Clip(c.callOptions), grpc.ForceCodecV2(wire.ClientCodec()))
	return c, nil
}

type openConfig struct {
	onResponse func(Response)
}

// OpenOption changes how one stream is opened.
type OpenOption func(*openConfig) error

// OnResponse sets what is called with each response of the server that says
// something new. The ids in Rejected are those that no earlier response
// reported, in ascending order; the slice is the callee's. Ids at or below the
// Acked of an earlier response are too late: the server acknowledged those
// records and reported them bad afterwards. Calls come one at a
// time, in order, from the goroutine that reads the stream, the last one before
// Done is closed. They must not block, since nothing is received meanwhile, and
// so not call what waits for the stream.
func OnResponse(f func(Response)) OpenOption {
	return func(c *openConfig) error {
		c.onResponse = f
		return nil
	}
}

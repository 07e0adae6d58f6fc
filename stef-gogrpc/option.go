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
	// DefaultMaxMessageBytes is the maximum size of a message that a client sends: a
	// quarter of the largest message that gRPC servers receive by default. In
	// BenchmarkMessageSize, messages of 256 KiB and of 1 MiB are equally fast; larger
	// messages and much smaller messages are slower.
	DefaultMaxMessageBytes = 1 << 20
	// DefaultMaxUnackedBytes bounds the bytes that a stream has sent and the
	// server has not acknowledged.
	DefaultMaxUnackedBytes = 64 << 20
	// DefaultHandshakeTimeout is the maximum time to open a stream.
	DefaultHandshakeTimeout = 10 * time.Second
)

// minMessageBytes is the smallest allowed message limit. It is twice the size of
// the other fields of a message, so that every message can carry data.
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

// WithMaxMessageBytes sets the maximum size of a message in bytes, at least 16.
// Larger chunks are split into several messages. The default is
// DefaultMaxMessageBytes. A server cannot announce its receive limit; gRPC's
// default is 4 MiB.
func WithMaxMessageBytes(bytes int) ClientOption {
	return func(c *clientConfig) error {
		c.maxMessageBytes = bytes
		return atLeast("WithMaxMessageBytes", bytes, minMessageBytes)
	}
}

// WithMaxUnackedBytes bounds the bytes that a stream has sent and the server has
// not acknowledged. At the bound, writes wait, so a stream exceeds the bound by at
// most one chunk. A Session ignores this option and uses
// SessionConfig.MaxUnackedBytes. The default is DefaultMaxUnackedBytes.
func WithMaxUnackedBytes(n int) ClientOption {
	return func(c *clientConfig) error {
		c.maxUnackedBytes = int64(n)
		return atLeast("WithMaxUnackedBytes", n, 1)
	}
}

// WithMaxUnackedRecords is like WithMaxUnackedBytes, but bounds the number of
// records. 0, the default, sets no bound.
func WithMaxUnackedRecords(n uint64) ClientOption {
	return func(c *clientConfig) error {
		c.maxUnacked = n
		return nil
	}
}

// WithCallOptions adds options to the call of every stream, such as credentials.
// Options that choose a codec have no effect. A Server refuses streams with
// grpc.UseCompressor, unless it has WithCompressedMessages.
func WithCallOptions(options ...grpc.CallOption) ClientOption {
	return func(c *clientConfig) error {
		if i := slices.Index(options, nil); i >= 0 {
			return fmt.Errorf("stefgrpc: WithCallOptions: option %d of %d is nil: remove it", i+1, len(options))
		}
		c.callOptions = append(c.callOptions, options...)
		return nil
	}
}

// WithHandshakeTimeout bounds the time to open a stream, including the time to
// connect. The context of Open can shorten it. The default is
// DefaultHandshakeTimeout.
func WithHandshakeTimeout(d time.Duration) ClientOption {
	return func(c *clientConfig) error {
		if d <= 0 {
			return fmt.Errorf("stefgrpc: WithHandshakeTimeout(%v): must be positive", d)
		}
		c.handshakeTimeout = d
		return nil
	}
}

// WithDictBytes sets the size of the dictionaries in bytes at which a writer
// resets them (stef.WithDictBytes), unless the server names a lower limit. The
// default is stef.DefaultDictBytes.
//
// spec: #dict-limit
func WithDictBytes(bytes int) ClientOption {
	return func(c *clientConfig) error {
		c.dictBytes = bytes
		return atLeast("WithDictBytes", bytes, 1)
	}
}

func applyOptions[C any, O ~func(*C) error](function string, config *C, options []O) error {
	for i, option := range options {
		if option == nil {
			return usageError(fmt.Sprintf("stefgrpc: %s: option %d of %d is nil: remove it", function, i+1, len(options)))
		}
		if err := option(config); err != nil {
			return err
		}
	}
	return nil
}

func newClientConfig(options []ClientOption) (clientConfig, error) {
	c := clientConfig{
		maxMessageBytes:  DefaultMaxMessageBytes,
		maxUnackedBytes:  DefaultMaxUnackedBytes,
		handshakeTimeout: DefaultHandshakeTimeout,
		dictBytes:        stef.DefaultDictBytes,
	}
	if err := applyOptions("NewClient", &c, options); err != nil {
		return c, err
	}
	c.callOptions = append(slices.Clip(c.callOptions), grpc.ForceCodecV2(wire.ClientCodec()))
	return c, nil
}

type openConfig struct {
	onResponse func(Response)
}

// OpenOption changes how one stream is opened.
type OpenOption func(*openConfig) error

// WithOnResponse sets a function that is called with each server response that
// contains new information. Rejected contains the ids that no earlier response
// reported, in ascending order; the function may keep the slice. Ids at or below
// the Acked of an earlier response are late: the server acknowledged those records
// first and reported them bad afterwards. Calls are sequential and in order, on
// the goroutine that reads the stream; the last call happens before Done is
// closed. The function must not block and must not call methods that wait for the
// stream, because the stream receives nothing until the function returns. nil sets
// no function.
func WithOnResponse(f func(Response)) OpenOption {
	return func(c *openConfig) error {
		c.onResponse = f
		return nil
	}
}

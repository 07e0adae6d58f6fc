// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"time"

	"google.golang.org/grpc"
)

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

// WithMaxMessageSize sets the greatest size of a message in bytes.
func WithMaxMessageSize(bytes int) ClientOption { return nil }

// WithMaxUnacked bounds what is sent and not acknowledged.
func WithMaxUnacked(bytes int, records uint64) ClientOption { return nil }

// WithCallOptions adds options to every call.
func WithCallOptions(options ...grpc.CallOption) ClientOption { return nil }

// WithHandshakeTimeout bounds the handshake.
func WithHandshakeTimeout(d time.Duration) ClientOption { return nil }

// WithDictSize is the client's own bound of dictionaries in bytes.
func WithDictSize(bytes int) ClientOption { return nil }

type openConfig struct {
	onResponse func(Response)
}

// OpenOption changes how one stream is opened.
type OpenOption func(*openConfig) error

// OnResponse sets what is called with each response of the server.
func OnResponse(f func(Response)) OpenOption { return nil }

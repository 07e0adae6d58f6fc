// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/otelstef/stef/stef-go/schema"
)

// Client opens streams on a connection. It is safe for concurrent use.
type Client struct{}

// NewClient returns a client on a connection, which stays the caller's.
func NewClient(conn grpc.ClientConnInterface, options ...ClientOption) (*Client, error) {
	return nil, errUnfinished
}

// Open opens a stream of records of root.
func (c *Client) Open(ctx context.Context, root *schema.Struct, options ...OpenOption) (*Stream, error) {
	return nil, errUnfinished
}

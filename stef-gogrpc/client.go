// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// Client opens streams on a connection. It has no state of its own, and is safe
// for concurrent use.
type Client struct {
	conn   grpc.ClientConnInterface
	config clientConfig
}

// NewClient returns a client that uses conn. The caller owns the connection and
// sets addresses, TLS, credentials, interceptors, load balancing and keepalive on
// it. The client never closes it. NewClient returns an error if the target of conn begins
// with a scheme that gRPC does not know, such as http://.
func NewClient(conn grpc.ClientConnInterface, options ...ClientOption) (*Client, error) {
	if cc, ok := conn.(*grpc.ClientConn); conn == nil || ok && cc == nil {
		return nil, errors.New("stefgrpc: NewClient: the connection is nil: create the connection with grpc.NewClient, and check the error of grpc.NewClient")
	}
	if err := checkTarget(conn); err != nil {
		return nil, err
	}
	config, err := newClientConfig(options)
	if err != nil {
		return nil, err
	}
	return &Client{conn, config}, nil
}

// checkTarget refuses a target that can never be reached: gRPC treats an unknown scheme as part of
// the host, so each attempt to connect fails with an error that looks temporary.
func checkTarget(conn grpc.ClientConnInterface) error {
	c, ok := conn.(interface {
		Target() string
		CanonicalTarget() string
	})
	if !ok {
		return nil
	}
	target := c.Target()
	_, address, ok := strings.Cut(target, "://")
	if !ok || c.CanonicalTarget() != "dns:///"+target {
		return nil
	}
	if address, _, _ = strings.Cut(address, "/"); address == "" {
		return fmt.Errorf("stefgrpc: NewClient: the target %q has a scheme that gRPC does not know: import the package of its resolver", target)
	}
	return fmt.Errorf("stefgrpc: NewClient: the target %q has a scheme that gRPC does not know: use %q, and select TLS by the credentials of the connection, not by the scheme", target, address)
}

// Open opens a stream of records of root and waits until the server has named the
// schema it reads. Errors are of type *Error, except errors about mistakes in the
// program, such as a nil root or a nil option.
//
// ctx bounds only the opening. An open stream lives until Close is called or until
// it breaks. The stream uses the values in ctx, such as the metadata to send.
//
// spec: #handshake
func (c *Client) Open(ctx context.Context, root *schema.Struct, options ...OpenOption) (*Stream, error) {
	switch {
	case c == nil || c.conn == nil:
		return nil, usageError("stefgrpc: Open: the client has no connection: create the client with NewClient, and check the error of NewClient")
	case root == nil || root.Name == "":
		return nil, usageError("stefgrpc: Open: the root is nil or has no name: pass the root of the records, such as otelstef.MetricsRoot()")
	}
	var config openConfig
	if err := applyOptions("Open", &config, options); err != nil {
		return nil, err
	}
	opening, done := context.WithTimeout(ctx, c.config.handshakeTimeout)
	defer done()
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(opening, cancel)
	s, err := c.handshake(life, root)
	if !stop() {
		err = c.late(ctx, err)
	}
	if err != nil {
		cancel()
		return nil, FromStatus(err).at("opening a stream of %s%s", root.Name, c.target())
	}
	s.start(cancel, config)
	return s, nil
}

// target returns the target of the connection for error texts, if it is known.
func (c *Client) target() string {
	conn, ok := c.conn.(interface{ Target() string })
	if !ok {
		return ""
	}
	return " to " + conn.Target()
}

// late returns the error of an Open that did not finish in time. It includes the last
// error of gRPC, which often names the cause.
func (c *Client) late(ctx context.Context, err error) error {
	e := errorf(KindUnavailable, "the server did not answer within %v", c.config.handshakeTimeout)
	if cause := ctx.Err(); cause != nil {
		e = FromStatus(cause)
	}
	if text := status.Convert(err).Message(); err != nil && text != context.Canceled.Error() {
		e.Err = fmt.Errorf("%w (%s)", e.Err, text) // e was created above, so no caller shares it
	}
	return e
}

// handshake opens the stream and negotiates a schema.
func (c *Client) handshake(ctx context.Context, root *schema.Struct) (*Stream, error) {
	stream, err := c.conn.NewStream(ctx, &streamDesc, StreamMethod, c.config.callOptions...)
	if err != nil {
		return nil, FromStatus(err)
	}
	// EOF means that the server ended the stream; RecvMsg returns the reason.
	err = stream.SendMsg((&wire.ClientMessage{First: true, Root: root.Name}).Proto())
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, FromStatus(err)
	}
	var answer wire.Received
	switch err := stream.RecvMsg(&answer); {
	case errors.Is(err, io.EOF):
		return nil, errorf(KindProtocol, "the server ended the stream without a response")
	case err != nil:
		return nil, FromStatus(err)
	case answer.Damaged != nil:
		return nil, errorf(KindProtocol, "reading the first response of the server: %w", answer.Damaged)
	case answer.Message.Capabilities == nil:
		return nil, errorf(KindProtocol, "the first response of the server does not hold its capabilities")
	}
	agreed, err := agree(root, c.config.dictBytes, answer.Message.Capabilities)
	if err != nil {
		return nil, err
	}
	s := newStream(stream, root, agreed, &c.config)
	if at, ok := peer.FromContext(stream.Context()); ok {
		s.peer = at
	}
	return s, nil
}

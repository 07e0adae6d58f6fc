// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"context"
	"net"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"google.golang.org/grpc"
)

var meterID = component.MustNewID("wire_meter")

// wireMeter counts the bytes of TCP connections. The exporter uses it as a
// middleware.
type wireMeter struct {
	component.StartFunc
	component.ShutdownFunc
	sent, received atomic.Int64
}

// GetGRPCClientOptions implements a middleware of gRPC clients.
func (m *wireMeter) GetGRPCClientOptions(context.Context) ([]grpc.DialOption, error) {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &meteredConn{conn.(*net.TCPConn), m}, nil
	}
	return []grpc.DialOption{grpc.WithContextDialer(dial)}, nil
}

// meteredConn embeds the TCP connection, so that gRPC can use its methods.
type meteredConn struct {
	*net.TCPConn
	meter *wireMeter
}

// Write counts the bytes before it writes them. The answer to the last bytes can arrive, and the
// counters can be read, before Write returns.
func (c *meteredConn) Write(p []byte) (int, error) {
	c.meter.sent.Add(int64(len(p)))
	return c.TCPConn.Write(p)
}

func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.meter.received.Add(int64(n))
	return n, err
}

// host provides the wire meter as an extension.
type host struct {
	component.Host
	extensions map[component.ID]component.Component
}

func newHost(m *wireMeter) host {
	return host{componenttest.NewNopHost(), map[component.ID]component.Component{meterID: m}}
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

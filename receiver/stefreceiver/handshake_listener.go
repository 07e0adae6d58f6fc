// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/internal/readyread"
)

// handshakeListener is a listener that knows which connections are in their handshake, so that a
// shutdown can close these connections. Otherwise, gRPC waits for their handshakes before it ends
// other connections: up to two minutes if a client sends nothing. In the meantime it would still
// serve the requests of other clients.
type handshakeListener struct {
	net.Listener
	userTimeout time.Duration

	mu    sync.Mutex
	conns map[*handshakeConn]struct{}
	ended bool
	unix  uint64 // number of connections of Unix sockets
}

// streamConn is what *net.TCPConn and *net.UnixConn have in common. peek and http1.Refuse use
// more than the methods of net.Conn.
type streamConn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

type handshakeConn struct {
	streamConn
	listener *handshakeListener
	remote   net.Addr
	ready    readyread.Reader
}

// ReadOnReady implements readyread.Reader.
func (c *handshakeConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.ready.ReadOnReady(size, pool)
}

func newHandshakeListener(l net.Listener, config *Config) *handshakeListener {
	return &handshakeListener{Listener: l, userTimeout: config.userTimeout(), conns: map[*handshakeConn]struct{}{}}
}

// Accept implements net.Listener.
func (p *handshakeListener) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	stream, ok := conn.(streamConn)
	if err != nil || !ok {
		return conn, err
	}
	setUserTimeout(stream, p.userTimeout)
	c := &handshakeConn{stream, p, conn.RemoteAddr(), readyread.Of(stream)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := c.remote.(*net.UnixAddr); ok {
		p.unix++
		c.remote = &net.UnixAddr{Net: at.Net, Name: fmt.Sprintf("%s#%d", at.Name, p.unix)}
	}
	if p.ended {
		_ = stream.Close() // gRPC finds it closed
	} else {
		p.conns[c] = struct{}{}
	}
	return c, nil
}

// end closes all connections that are in their handshake, and each connection that is accepted
// later.
func (p *handshakeListener) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for c := range p.conns {
		_ = c.streamConn.Close()
	}
	clear(p.conns)
}

func (p *handshakeListener) remove(c *handshakeConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// RemoteAddr implements net.Conn. Each connection of a Unix socket has its own number in the
// address. Without it, all clients would have the address "@" and count as one client.
func (c *handshakeConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn. gRPC sets a deadline for the handshake and removes it when
// the handshake is over.
func (c *handshakeConn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.listener.remove(c)
	}
	return c.streamConn.SetDeadline(t)
}

// Close implements net.Conn.
func (c *handshakeConn) Close() error {
	c.listener.remove(c)
	return c.streamConn.Close()
}

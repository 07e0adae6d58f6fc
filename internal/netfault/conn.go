// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// address names one end of an in-process connection.
type address string

func (a address) Network() string { return network }
func (a address) String() string  { return string(a) }

// Conn is an end of an in-process connection. Like an end of a TCP connection, it can also close
// only one direction.
type Conn struct {
	pair          *pair
	in, out       *line
	local, remote net.Addr

	readLimit, writeLimit deadline
	once                  sync.Once
}

func (p *pair) dialer(local, remote net.Addr) *Conn {
	return &Conn{pair: p, in: p.down, out: p.up, local: local, remote: remote}
}

func (p *pair) acceptor() *Conn {
	return &Conn{pair: p, in: p.up, out: p.down, local: listenerAddress, remote: p.address()}
}

func (p *pair) address() net.Addr { return address(fmt.Sprintf("memory:%d", p.number)) }

// Read returns the bytes that have arrived. If there are none, Read waits for the first byte.
func (c *Conn) Read(p []byte) (int, error) { return c.in.Read(p, &c.readLimit) }

// Write sends bytes and blocks only while the window is full.
func (c *Conn) Write(p []byte) (int, error) { return c.out.Write(p, &c.writeLimit) }

// CloseWrite closes the direction to the other end, which still receives all written
// bytes. Reading continues.
func (c *Conn) CloseWrite() error {
	c.out.finish(io.EOF)
	return nil
}

// Close stops reading immediately. It closes the other direction gracefully: the other end
// still receives the bytes that were written.
func (c *Conn) Close() error {
	c.once.Do(func() {
		c.out.finish(io.EOF)
		c.in.closeRead(opError("read", net.ErrClosed))
		c.pair.closeEnd()
	})
	return nil
}

func (c *Conn) LocalAddr() net.Addr  { return c.local }
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func (c *Conn) SetDeadline(t time.Time) error {
	c.readLimit.set(t)
	c.writeLimit.set(t)
	return nil
}

func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readLimit.set(t)
	return nil
}

func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeLimit.set(t)
	return nil
}

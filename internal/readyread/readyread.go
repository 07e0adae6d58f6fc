// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package readyread reads from connections that wrap other connections, without a buffer that waits
// for data. gRPC does this itself for connections of package net. For other connections it keeps a
// buffer of up to 512 KiB for each connection, also while no data arrives, unless the connection is
// a Reader.
package readyread

import (
	"io"
	"net"

	"google.golang.org/grpc/mem"
)

// Reader is an optional interface of connections, which gRPC defines in an internal package.
type Reader interface {
	// ReadOnReady waits for data. It then takes a buffer of the given size from the pool, and reads
	// data into the buffer. If n is 0, the buffer is nil.
	ReadOnReady(size int, pool mem.BufferPool) (buffer *[]byte, n int, err error)
}

// Of returns a reader of a connection: the connection itself if it is a Reader, a reader that waits
// without a buffer if it is a connection of package net, or a reader with a small buffer.
func Of(conn net.Conn) Reader {
	if r, ok := conn.(Reader); ok {
		return r
	}
	if r := direct(conn); r != nil {
		return r
	}
	return &copying{from: conn}
}

// copying waits with a buffer of its own. The buffer has room for a record of TLS: a connection with
// TLS returns at most one record at a time.
type copying struct {
	from   io.Reader
	buffer [16 << 10]byte
}

// ReadOnReady implements Reader.
func (c *copying) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	n, err := c.from.Read(c.buffer[:min(size, len(c.buffer))])
	if n == 0 {
		return nil, 0, err
	}
	buffer := pool.Get(size)
	return buffer, copy(*buffer, c.buffer[:n]), err
}

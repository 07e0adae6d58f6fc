// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyread

import (
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// reading waits until the system has data, and only then takes a buffer.
type reading struct {
	raw  syscall.RawConn
	read func(fd uintptr) (done bool) // a field, so that it is allocated only once

	// The request and the result of read.
	size   int
	pool   mem.BufferPool
	buffer *[]byte
	n      int
	err    error
}

// direct returns nil for other types than those of package net. Another type may have buffered data
// or decrypt it, even if it gives access to the socket.
func direct(conn net.Conn) Reader {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	}
	if raw == nil || err != nil {
		return nil
	}
	r := &reading{raw: raw}
	r.read = func(fd uintptr) bool {
		r.buffer = r.pool.Get(r.size)
		for {
			if r.n, r.err = syscall.Read(int(fd), *r.buffer); r.err != syscall.EINTR {
				break
			}
		}
		if r.err != nil || r.n == 0 {
			r.pool.Put(r.buffer)
			r.buffer, r.n = nil, 0
		}
		return r.err != syscall.EAGAIN
	}
	return r
}

// ReadOnReady implements Reader.
func (r *reading) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	r.size, r.pool, r.buffer, r.n, r.err = size, pool, nil, 0, nil
	err := r.raw.Read(r.read)
	buffer, n := r.buffer, r.n
	r.pool, r.buffer = nil, nil
	switch {
	case buffer != nil:
		return buffer, n, nil
	case err != nil: // the connection is closed, or its deadline has passed
		return nil, 0, err
	case r.err != nil:
		return nil, 0, r.err
	}
	return nil, 0, io.EOF
}

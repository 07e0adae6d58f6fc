// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/otelstef/stef/internal/http1"
)

// notHTTP1 returns the answer to OTLP over HTTP, for a recorder that listens at an address.
// It names two remedies: an environment variable, and a change of programs that create their
// exporter in code, because the variable has no effect on them.
func notHTTP1(at net.Addr) string {
	port := ""
	if tcp, ok := at.(*net.TCPAddr); ok {
		port = fmt.Sprintf(" (port %d)", tcp.Port)
	}
	return "OTLP/HTTP is not accepted here, only OTLP/gRPC and STEF: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc in the sender, and the address of this endpoint" + port +
		"; a program that creates the HTTP exporter in its code must create the gRPC one instead (Python: package opentelemetry-exporter-otlp-proto-grpc)"
}

// http1Listener answers requests of HTTP/1.1. A gRPC server drops them without an answer,
// and the senders would only report that the connection was reset.
type http1Listener struct {
	net.Listener
	refused func()       // is called for each request of HTTP/1.1
	open    atomic.Int64 // number of open connections
}

// Accept implements net.Listener.
func (l *http1Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	closed := sync.OnceFunc(func() { l.open.Add(-1) })
	return &http1Conn{Conn: conn, r: bufio.NewReaderSize(conn, 4<<10), refused: l.refused, closed: closed}, nil
}

// http1Conn examines the first bytes of a connection before the server reads or writes. The
// server writes its settings before it reads, so a check only in Read would be too late.
type http1Conn struct {
	net.Conn
	r       *bufio.Reader
	refused func()
	closed  func()
	first   sync.Once
	err     error
}

// Read implements io.Reader.
func (c *http1Conn) Read(b []byte) (int, error) {
	if c.first.Do(c.look); c.err != nil {
		return 0, c.err
	}
	return c.r.Read(b)
}

// Write implements io.Writer.
func (c *http1Conn) Write(b []byte) (int, error) {
	if c.first.Do(c.look); c.err != nil {
		return 0, c.err
	}
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *http1Conn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// look examines the first bytes of the connection. If they begin a request of HTTP/1.1, it answers
// the request, and later reads and writes of the server fail.
func (c *http1Conn) look() {
	head, _ := c.r.Peek(http1.HeadSize)
	if !http1.Is(head) {
		return // the server handles other bytes, and errors of Peek, when it reads
	}
	c.refused()
	c.err = io.EOF
	http1.Refuse(c.Conn, c.r, notHTTP1(c.LocalAddr()))
}

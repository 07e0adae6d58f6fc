// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package compressed implements a client that sends the same compressed message on many gRPC
// streams at once. Tests use it to check how servers limit decompression. It compresses
// nothing itself, so it needs little CPU time.
package compressed

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// MaxBytes is the size of the largest message. It fits into the initial window of a stream.
const MaxBytes = 60 << 10

// Send calls a method with a message on several streams of a connection at the same time. It ends
// after the time most, or when the server closes the connection. It returns the number of calls
// that were answered until then.
func Send(conn net.Conn, method, encoding string, message []byte, streams int, most time.Duration) int {
	c := &client{conn: conn, framer: http2.NewFramer(conn, conn), window: 65535, changed: sync.NewCond(new(sync.Mutex)), answered: map[uint32]bool{}}
	_ = conn.SetDeadline(time.Now().Add(most))
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return 0
	}
	if err := c.framer.WriteSettings(); err != nil {
		return 0
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(streams)
	}()
	body := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(message))), message...)
	headers := headersOf(method, encoding)
	for i := range streams {
		if !c.call(uint32(2*i+1), headers, body) {
			break
		}
	}
	<-read
	return len(c.answered)
}

func headersOf(method, encoding string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "test"},
		{"content-type", "application/grpc"}, {"te", "trailers"}, {"grpc-encoding", encoding},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // writing to memory cannot fail
	}
	return block.Bytes()
}

type client struct {
	conn    net.Conn
	framer  *http2.Framer
	changed *sync.Cond
	window  int // bytes that the window of the connection allows now
	ended   bool

	answered map[uint32]bool // streams that the server has answered
}

// call sends a message in parts. Each part waits for the window of the connection.
func (c *client) call(stream uint32, headers, body []byte) bool {
	if c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers, EndHeaders: true}) != nil {
		return false
	}
	for len(body) > 0 {
		part := body[:min(len(body), 16<<10)]
		body = body[len(part):]
		if !c.reserve(len(part)) || c.framer.WriteData(stream, len(body) == 0, part) != nil {
			return false
		}
	}
	return true
}

// reserve waits for a part of the window, and reports whether the connection is open.
func (c *client) reserve(n int) bool {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	for c.window < n && !c.ended {
		c.changed.Wait()
	}
	c.window -= n
	return !c.ended
}

// read reads the frames of the server, until the server has ended the given number of streams.
func (c *client) read(streams int) {
	defer func() {
		c.changed.L.Lock()
		c.ended = true
		c.changed.L.Unlock()
		c.changed.Broadcast()
	}()
	for len(c.answered) < streams {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				c.changed.L.Lock()
				c.window += int(f.Increment)
				c.changed.L.Unlock()
				c.changed.Broadcast()
			}
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				c.answered[f.StreamID] = true
			}
		case *http2.RSTStreamFrame:
			c.answered[f.StreamID] = true
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package rawgrpc implements clients of gRPC that write the frames of HTTP/2 themselves. Tests use
// them to check the limits of servers. Begin begins messages and does not finish them. Send sends
// the same compressed message on many streams at once; it compresses nothing itself, so it needs
// little CPU time.
package rawgrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// MessageBytes is the length that each message of Begin announces.
	MessageBytes = 60 << 20
	// WholeBytes is the number of bytes of such a message with its prefix.
	WholeBytes = prefixBytes + MessageBytes
	// MaxBytes is the size of the largest message of Send. It fits into the initial window of a
	// stream.
	MaxBytes  = 60 << 10
	partBytes = 16 << 10 // the largest frame that every server accepts
)

// stalled is how long Begin waits for a server that reads no more data.
const stalled = 2 * time.Second

// ErrStalled is the error of Begin if the server reads no more data.
var ErrStalled = errors.New("rawgrpc: the server reads no more data")

// Begin opens streams of a method, such as /STEFDestination/Stream, on a connection. On each
// stream it begins a message and sends at least bytesEach bytes of the message. It sends one
// frame per stream in turn. It never sends more bytes than the windows of the server allow,
// because a server closes such connections. It sends no byte after the message, so with WholeBytes
// it completes the messages, but does not end the streams. The error is ErrStalled, or the error of the
// connection, which the server may have closed.
func Begin(conn net.Conn, method string, streams, bytesEach int) error {
	c := newClient(conn, stalled)
	if err := c.open(); err != nil {
		return err
	}
	go c.read()
	headers := headersOf(method)
	// Each part begins with the prefix of a message, although only the first part needs it.
	part := append(prefix(0, MessageBytes), make([]byte, partBytes-prefixBytes)...)
	for sent := 0; sent < min(bytesEach, WholeBytes); sent += len(part) {
		for i := range streams {
			stream := uint32(2*i + 1)
			if sent == 0 {
				if err := c.begin(stream, headers); err != nil {
					return err
				}
			}
			if err := c.write(stream, part[:min(len(part), WholeBytes-sent)], false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Send calls a method with a message on several streams of a connection at the same time. It ends
// after the time most, or when the server closes the connection. It returns the number of calls
// that were answered until then.
func Send(conn net.Conn, method, encoding string, message []byte, streams int, most time.Duration) int {
	c := newClient(conn, most)
	c.calls = streams
	_ = conn.SetDeadline(time.Now().Add(most))
	if c.open() != nil {
		return 0
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read()
	}()
	body := append(prefix(1, len(message)), message...)
	headers := headersOf(method, [2]string{"grpc-encoding", encoding})
	for i := range streams {
		stream := uint32(2*i + 1)
		if c.begin(stream, headers) != nil || c.write(stream, body, true) != nil {
			break
		}
	}
	<-read
	return len(c.answered)
}

const prefixBytes = 5

// prefix returns the beginning of a message: whether it is compressed, and its length.
func prefix(compressed byte, length int) []byte {
	return binary.BigEndian.AppendUint32([]byte{compressed}, uint32(length))
}

// headersOf returns the headers with which a client of gRPC calls a method.
func headersOf(method string, further ...[2]string) []byte {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	for _, f := range append([][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "test"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	}, further...) {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // writing to memory cannot fail
	}
	return out.Bytes()
}

// client counts the bytes that the server allows it to send: on the connection, which is stream
// 0, and on each stream.
type client struct {
	conn   net.Conn
	framer *http2.Framer
	calls  int           // read ends when the server has answered this many calls; 0 means never
	most   time.Duration // how long awaitWindow waits

	mu       sync.Mutex
	initial  int            // window of a stream
	granted  map[uint32]int // bytes of later window updates minus the bytes that were sent
	answered map[uint32]bool
	err      error         // error of the connection
	change   chan struct{} // has an element after a change
}

const initialWindow = 1<<16 - 1 // RFC 9113, section 6.9.2

func newClient(conn net.Conn, most time.Duration) *client {
	return &client{conn: conn, framer: http2.NewFramer(conn, conn), most: most, initial: initialWindow,
		granted: map[uint32]int{0: initialWindow}, answered: map[uint32]bool{}, change: make(chan struct{}, 1)}
}

func (c *client) open() error {
	if _, err := c.conn.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	return c.framer.WriteSettings()
}

func (c *client) begin(stream uint32, headers []byte) error {
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers, EndHeaders: true})
}

// write sends bytes of a message in frames. Each frame waits for the windows of the server.
func (c *client) write(stream uint32, body []byte, end bool) error {
	for len(body) > 0 {
		part := body[:min(len(body), partBytes)]
		body = body[len(part):]
		if err := c.awaitWindow(stream, len(part)); err != nil {
			return err
		}
		if err := c.framer.WriteData(stream, end && len(body) == 0, part); err != nil {
			return err
		}
	}
	return nil
}

// read reads the frames of the server.
func (c *client) read() {
	for ended := false; !ended; {
		frame, err := c.framer.ReadFrame()
		c.mu.Lock()
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
				c.initial = int(size)
			}
		case *http2.WindowUpdateFrame:
			c.granted[f.StreamID] += int(f.Increment)
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				c.answered[f.StreamID] = true
			}
		case *http2.RSTStreamFrame:
			c.answered[f.StreamID] = true
		}
		c.err = err
		ended = err != nil || c.calls > 0 && len(c.answered) == c.calls
		c.mu.Unlock()
		select {
		case c.change <- struct{}{}:
		default:
		}
	}
}

// awaitWindow waits until the server allows n more bytes on a stream.
func (c *client) awaitWindow(stream uint32, n int) error {
	for {
		c.mu.Lock()
		err := c.err
		ok := c.granted[0] >= n && c.initial+c.granted[stream] >= n
		if ok {
			c.granted[0] -= n
			c.granted[stream] -= n
		}
		c.mu.Unlock()
		if err != nil || ok {
			return err
		}
		select {
		case <-c.change:
		case <-time.After(c.most):
			return ErrStalled
		}
	}
}

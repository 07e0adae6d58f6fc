// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/otelstef/stef/internal/readyread"
)

// ReceiveLimit bounds the bytes of incomplete messages that a gRPC server holds over all
// connections. gRPC collects a whole message before it passes the message to a handler, so no
// limit of a handler counts these bytes. A client that begins large messages and does not finish
// them can make the server hold the maximum size of a message for each stream. The same is true
// for a client that completes the message of a unary call and does not end the call: gRPC calls
// the handler only at the end. So the first message of a call also counts when it is complete,
// until the client ends its side or the server begins its answer.
//
// If the bytes exceed the bound, the connection that holds the largest part of them is closed.
// A ReceiveLimit reads the headers of the received HTTP/2 frames (RFC 9113, section 4.1) and
// the lengths of the messages in them. It changes no bytes, unless WithoutDecompression is
// called. It counts the size of messages on the wire, before decompression. So a server must
// either refuse compressed messages, like Server, or count their decompressed size itself.
//
// A ReceiveLimit is safe for concurrent use. Its example is in the file
// stef-gogrpc/receive_limit_example_test.go.
type ReceiveLimit struct {
	max   int64
	plain bool // see WithoutDecompression
	ended func(client net.Addr, bytes int64)
	held  atomic.Int64

	mu          sync.Mutex
	connections map[*limitedConn]struct{} // the connections that have held bytes of an incomplete message
}

// NewReceiveLimit returns a limit of a number of bytes, which should be several times the largest
// message that the server accepts. If ended is not nil, it is called for each connection that the
// limit closes. Its arguments are the client, and the bytes of incomplete messages that the
// connection held. The clients of a closed connection receive an error of KindUnavailable and send
// again. NewReceiveLimit panics if bytes is below 1.
func NewReceiveLimit(bytes int64, ended func(client net.Addr, bytes int64)) *ReceiveLimit {
	if bytes < 1 {
		panic(fmt.Sprintf("stefgrpc: NewReceiveLimit(%d): at least 1 byte", bytes))
	}
	return &ReceiveLimit{max: bytes, ended: ended, connections: map[*limitedConn]struct{}{}}
}

// WithoutDecompression makes gRPC pass compressed messages to the codec of the server as
// they are on the wire, and returns l. To do this, l clears the compressed flag, which is the
// first byte before each message. Without this, gRPC decompresses a message before any code of
// the server runs, up to the maximum size of a message for each call. Nothing bounds how many
// messages gRPC decompresses at a time, and zstd alone may allocate 512 MiB for each message.
// A handler that decompresses can bound the number of messages and the memory.
//
// Handlers must then decompress. RecvCompress of grpc.ServerTransportStreamFromContext
// returns the name of the compression. On a call that names a compression, a
// client may also send messages that are not compressed. These arrive unchanged. Handlers
// must recognize compressed messages by their first bytes.
//
// Call WithoutDecompression before Credentials.
func (l *ReceiveLimit) WithoutDecompression() *ReceiveLimit {
	l.plain = true
	return l
}

// Credentials returns base with the limit applied, for grpc.Creds. If base is nil, the
// server has no TLS.
func (l *ReceiveLimit) Credentials(base credentials.TransportCredentials) credentials.TransportCredentials {
	if base == nil {
		base = insecure.NewCredentials()
	}
	return limitedCredentials{base, l}
}

// Bytes returns the bytes that count: those of incomplete messages, and those of the first messages
// of calls whose client has not ended them.
func (l *ReceiveLimit) Bytes() int64 { return l.held.Load() }

type limitedCredentials struct {
	credentials.TransportCredentials
	limit *ReceiveLimit
}

// ServerHandshake implements credentials.TransportCredentials.
func (c limitedCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	return c.limit.connection(conn), info, nil
}

// Clone implements credentials.TransportCredentials.
func (c limitedCredentials) Clone() credentials.TransportCredentials {
	return limitedCredentials{c.TransportCredentials.Clone(), c.limit}
}

func (l *ReceiveLimit) connection(conn net.Conn) *limitedConn {
	c := &limitedConn{Conn: conn, ready: readyread.Of(conn), limit: l, messages: map[uint32]*messageBytes{}, goAway: goAway{last: math.MaxUint32}}
	c.in.preface = len(http2Preface)
	return c
}

// closeLargest closes the connections that hold the most bytes until the bound is met.
func (l *ReceiveLimit) closeLargest() {
	for l.held.Load() > l.max {
		greediest, bytes := l.greediest()
		if greediest == nil {
			return
		}
		client := greediest.RemoteAddr()
		first := greediest.forget()
		_ = greediest.Conn.Close()
		if first && l.ended != nil { // if not first, another goroutine has closed the connection
			l.ended(client, bytes)
		}
	}
}

func (l *ReceiveLimit) greediest() (most *limitedConn, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.connections {
		if held := c.held.Load(); held > bytes {
			most, bytes = c, held
		}
	}
	return most, bytes
}

type limitedConn struct {
	net.Conn
	ready   readyread.Reader // of Conn
	limit   *ReceiveLimit
	in, out http2Frames
	held    atomic.Int64

	mu       sync.Mutex // Read and Write run on different goroutines
	closed   bool
	listed   bool                     // in limit.connections
	messages map[uint32]*messageBytes // of the open streams
	goAway   goAway
}

// Read implements net.Conn.
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.count(p[:n]) {
		return 0, net.ErrClosed
	}
	return n, err
}

// ReadOnReady implements readyread.Reader. Without it, gRPC would keep a buffer for each connection.
func (c *limitedConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buffer, n, err := c.ready.ReadOnReady(size, pool)
	if n > 0 && !c.count((*buffer)[:n]) {
		pool.Put(buffer)
		return nil, 0, net.ErrClosed
	}
	return buffer, n, err
}

// count counts bytes that were read. If the connection is closed, count returns false: it has not
// counted the bytes, so gRPC must not receive them.
func (c *limitedConn) count(b []byte) bool {
	grown, open := c.received(b)
	if grown {
		c.limit.closeLargest()
	}
	return open
}

// Write implements net.Conn.
func (c *limitedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.each(p[:n], func(f *http2Frames, payload []byte) {
		switch {
		case f.kind == frameReset || f.kind == frameHeaders && f.flags&flagEndStream != 0:
			c.drop(f.stream)
		case f.kind == frameHeaders:
			c.answer(f.stream)
		case f.kind == frameGoAway && c.goAway.receive(f, payload):
			for stream := range c.messages {
				if stream > c.goAway.last {
					c.drop(stream)
				}
			}
		}
	})
	return n, err
}

// goAway reads GOAWAY frames, in which a server names the last stream that it accepts.
// gRPC ignores later streams and their data, and never ends these streams.
type goAway struct {
	last   uint32
	prefix [4]byte
	have   int
}

// receive reads a part of the payload, and reports whether this part completes g.last.
func (g *goAway) receive(f *http2Frames, payload []byte) bool {
	if !f.begun {
		f.begun, g.have = true, 0
	}
	if g.have == len(g.prefix) {
		return false
	}
	g.have += copy(g.prefix[g.have:], payload)
	if g.have < len(g.prefix) {
		return false
	}
	g.last = binary.BigEndian.Uint32(g.prefix[:]) & (1<<31 - 1)
	return true
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// forget releases the bytes of a connection that is about to be closed. It reports whether this
// is the first call of forget.
func (c *limitedConn) forget() (first bool) {
	c.mu.Lock()
	for stream := range c.messages {
		c.drop(stream)
	}
	first, c.closed = !c.closed, true
	c.mu.Unlock()
	c.limit.mu.Lock()
	delete(c.limit.connections, c)
	c.limit.mu.Unlock()
	return first
}

// received counts bytes that were read. It reports whether the bytes of incomplete messages
// increased, and whether the connection is open.
func (c *limitedConn) received(b []byte) (grown, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false, false
	}
	before := c.held.Load()
	c.in.each(b, func(f *http2Frames, payload []byte) {
		switch f.kind {
		case frameHeaders:
			if c.messages[f.stream] == nil && f.stream <= c.goAway.last {
				c.messages[f.stream] = &messageBytes{plain: c.limit.plain}
			}
		case frameData:
			if m := c.messages[f.stream]; m != nil {
				cost := int64(0)
				if f.left == 0 {
					cost = frameCost
				}
				c.hold(m.receive(f.data(payload), cost))
			}
		case frameReset:
			c.drop(f.stream)
			return
		}
		if f.left == 0 && f.flags&flagEndStream != 0 && (f.kind == frameData || f.kind == frameHeaders) {
			c.drop(f.stream)
		}
	})
	grown = c.held.Load() > before
	if grown && !c.listed {
		// Add c to the list of connections only now. If gRPC cannot send its settings, it closes
		// the inner connection and never calls Close of c. Then c would stay in connections
		// forever.
		c.listed = true
		c.limit.mu.Lock()
		c.limit.connections[c] = struct{}{}
		c.limit.mu.Unlock()
	}
	return grown, true
}

// drop forgets a stream that has ended.
func (c *limitedConn) drop(stream uint32) {
	if m := c.messages[stream]; m != nil {
		c.hold(-m.held - m.first)
		delete(c.messages, stream)
	}
}

// answer releases the first message of a stream: the server begins to answer, so its handler has
// this message.
func (c *limitedConn) answer(stream uint32) {
	if m := c.messages[stream]; m != nil {
		c.hold(-m.first)
		m.first, m.answered = 0, true
	}
}

func (c *limitedConn) hold(bytes int64) {
	c.held.Add(bytes)
	c.limit.held.Add(bytes)
}

// messageBytes counts the bytes of the incomplete message of a stream. Each message has a
// byte that says whether it is compressed, and its length in 4 bytes, big-endian
// (gRPC over HTTP/2, "Length-Prefixed-Message").
type messageBytes struct {
	prefix [5]byte
	have   int   // bytes of the prefix that were read
	left   int64 // bytes of the message that are still expected
	held   int64
	plain  bool // clear the compressed flag

	first    int64 // bytes of the first message, if it is complete and the stream is not answered
	answered bool  // the server has begun to answer
}

// receive counts a part of the data. If a message is incomplete after this part, it also counts the
// cost of the frame. It returns how much the number of bytes that count changed.
func (m *messageBytes) receive(b []byte, cost int64) int64 {
	before := m.held + m.first
	for len(b) > 0 {
		if m.have < len(m.prefix) {
			if m.have == 0 && m.plain && b[0] == 1 {
				b[0] = 0
			}
			n := copy(m.prefix[m.have:], b)
			m.have += n
			b = b[n:]
			if m.have < len(m.prefix) {
				break
			}
			m.left = int64(binary.BigEndian.Uint32(m.prefix[1:]))
		}
		n := min(m.left, int64(len(b)))
		m.left -= n
		m.held += n
		b = b[n:]
		if m.left == 0 {
			if m.first == 0 && !m.answered {
				m.first = m.held
			}
			m.have, m.held = 0, 0
		}
	}
	if m.left > 0 {
		m.held += cost
	}
	return m.held + m.first - before
}

// frameCost is added for each DATA frame that leaves a message incomplete: gRPC keeps each
// frame in its own buffer until the message is complete.
const frameCost = 128

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The frames of HTTP/2 that begin and end streams and have data (RFC 9113, section 6).
const (
	frameData    = 0
	frameHeaders = 1
	frameReset   = 3
	frameGoAway  = 7

	flagEndStream = 1
	flagPadded    = 8
)

// http2Frames splits the bytes of a connection into frames.
type http2Frames struct {
	preface int // bytes of the preface that are still expected
	head    [9]byte
	have    int // bytes of the head that were read

	kind, flags byte
	stream      uint32
	left        int // bytes of the payload that are still expected
	begun       bool
	padding     int // bytes of padding at the end of the payload
}

// each calls the function visit for each part of a payload in b, and for each frame without a
// payload. During a call, the fields of f describe the current frame.
func (f *http2Frames) each(b []byte, visit func(f *http2Frames, payload []byte)) {
	n := min(f.preface, len(b))
	f.preface -= n
	b = b[n:]
	for len(b) > 0 {
		if f.have < len(f.head) {
			n := copy(f.head[f.have:], b)
			f.have += n
			b = b[n:]
			if f.have < len(f.head) {
				return
			}
			f.begin()
		}
		n := min(f.left, len(b))
		f.left -= n
		if n > 0 || f.left == 0 {
			visit(f, b[:n])
		}
		b = b[n:]
		if f.left == 0 {
			f.have = 0
		}
	}
}

func (f *http2Frames) begin() {
	f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	f.kind, f.flags = f.head[3], f.head[4]
	f.stream = binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1)
	f.begun, f.padding = false, 0
}

// data returns the data in a part of the payload of a DATA frame, without its padding.
func (f *http2Frames) data(payload []byte) []byte {
	if !f.begun && len(payload) > 0 {
		f.begun = true
		if f.flags&flagPadded != 0 {
			f.padding = int(payload[0])
			payload = payload[1:]
		}
	}
	if behind := f.padding - f.left; behind > 0 { // padding in this part
		payload = payload[:max(0, len(payload)-behind)]
	}
	return payload
}

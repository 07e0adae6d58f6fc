// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

type h2 struct {
	bytes.Buffer
	*http2.Framer
}

func newH2(preface bool) *h2 {
	x := new(h2)
	if preface {
		x.WriteString(http2Preface)
	}
	x.Framer = http2.NewFramer(&x.Buffer, nil)
	return x
}

func grpcMessage(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(n))
	return append(b, make([]byte, n)...)
}

// countedConn returns a connection c of a server. l counts the incomplete messages of c. receive
// handles bytes b as if c had received them from the client. send writes b to c, as the server
// does. Both split b into pieces of the given length.
func countedConn(t testing.TB, l *ReceiveLimit) (c *limitedConn, receive, send func(b []byte, piece int)) {
	local, remote := net.Pipe()
	go func() { // discard the bytes that the server writes
		buf := make([]byte, 1<<10)
		for {
			if _, err := remote.Read(buf); err != nil {
				return
			}
		}
	}()
	c = l.connection(local)
	t.Cleanup(func() { _ = c.Close(); _ = remote.Close() })
	receive = func(b []byte, piece int) {
		for len(b) > 0 {
			n := min(piece, len(b))
			c.received(b[:n])
			b = b[n:]
		}
	}
	send = func(b []byte, piece int) {
		for len(b) > 0 {
			n := min(piece, len(b))
			_, err := c.Write(b[:n])
			require.NoError(t, err)
			b = b[n:]
		}
	}
	return c, receive, send
}

// TestReceiveLimitCounts: the limit counts exactly the bytes of two kinds of messages. The first kind are incomplete
// messages. The second kind is the complete first message of a stream, as long as the client has not ended the
// stream and the server has not answered. The count does not depend on the frames of the connection or on the pieces in which its bytes are read.
func TestReceiveLimitCounts(t *testing.T) {
	for _, piece := range []int{1, 2, 3, 7, 100, 1 << 20} {
		l := NewReceiveLimit(1<<30, nil)
		_, receive, send := countedConn(t, l)
		x, server := newH2(true), newH2(false)
		held := func(what string, least, frames int) {
			t.Helper()
			receive(x.Bytes(), piece)
			x.Reset()
			send(server.Bytes(), 50)
			server.Reset()
			require.Equal(t, int64(least+frames*frameCost), l.Bytes(), what)
		}
		require.NoError(t, x.WriteSettings())
		require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("headers"), EndHeaders: true}))
		held("a stream without data", 0, 0)
		whole := grpcMessage(1000)
		require.NoError(t, x.WriteData(1, false, whole[:3]))
		held("a part of the prefix", 0, 0)
		require.NoError(t, x.WriteData(1, false, whole[3:500]))
		held("half a message", 495, 1)
		require.NoError(t, x.WriteDataPadded(1, false, whole[500:700], make([]byte, 99)))
		require.NoError(t, x.WritePing(false, [8]byte{}))
		held("padding does not count", 695, 2)
		require.NoError(t, x.WriteData(1, false, append(whole[700:], grpcMessage(0)...)))
		held("a complete message that is not answered, and an empty one", 1000, 2)
		require.NoError(t, x.WriteData(1, false, append(grpcMessage(10), grpcMessage(80)[:45]...)))
		held("the begin of the next message", 1040, 3)
		require.NoError(t, server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("h"), EndHeaders: true}))
		held("the server begins to answer", 40, 1)
		require.NoError(t, x.WriteData(1, false, append(grpcMessage(80)[45:], grpcMessage(70)[:15]...)))
		held("a complete message of an answered stream", 10, 1)
		require.NoError(t, x.WriteRSTStream(1, http2.ErrCodeCancel))
		held("the client ended the stream", 0, 0)

		for _, id := range []uint32{3, 5, 7} {
			require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("h"), EndHeaders: true}))
			require.NoError(t, x.WriteData(id, false, grpcMessage(300)[:205]))
		}
		held("three streams", 600, 3)
		require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: 9, BlockFragment: []byte("h"), EndHeaders: true}))
		require.NoError(t, x.WriteData(9, false, grpcMessage(300)[:205]))
		require.NoError(t, x.WriteData(9, false, grpcMessage(300)[205:]))
		held("a request that is complete and not ended", 900, 4)
		require.NoError(t, x.WriteData(9, true, nil))
		held("the client ended the request", 600, 3)
		require.NoError(t, server.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("h"), EndHeaders: true}))
		held("headers of the server do not end a stream", 600, 3)
		require.NoError(t, server.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("h"), EndHeaders: true, EndStream: true}))
		require.NoError(t, server.WriteRSTStream(5, http2.ErrCodeNo))
		held("the server ended two streams", 200, 1)
		require.NoError(t, x.WriteData(3, false, make([]byte, 500)))
		held("data behind the end", 200, 1)
		require.NoError(t, x.WriteData(7, true, nil))
		held("the client ended its half within a message", 0, 0)
	}
}

// TestReceiveLimitRandom: ReceiveLimit does not panic, whatever bytes a client sends. After a
// connection is closed, none of its bytes is counted.
func TestReceiveLimitRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l := NewReceiveLimit(1<<40, nil)
		c, receive, _ := countedConn(t, l)
		x := newH2(r.IntN(2) == 0)
		for range r.IntN(20) {
			head := []byte{0, byte(r.IntN(3)), byte(r.Uint32()), byte(r.IntN(5)), byte(r.IntN(16)), 0, 0, 0, byte(r.IntN(4))}
			x.Write(head)
			x.Write(make([]byte, r.IntN(600)))
		}
		receive(x.Bytes(), 1+r.IntN(100))
		require.GreaterOrEqual(t, l.Bytes(), int64(0))
		require.NoError(t, c.Close())
		receive(x.Bytes(), 100)
		require.Zero(t, l.Bytes())
	}
}

// TestReceiveLimitWithoutDecompression: WithoutDecompression clears the compressed flag of all
// messages before gRPC reads them, and changes no other bytes. The result does not depend on how many
// bytes each Read returns.
func TestReceiveLimitWithoutDecompression(t *testing.T) {
	build := func(flag byte) []byte {
		x := newH2(true)
		message := func(n int) []byte {
			b := grpcMessage(n)
			b[0] = flag
			for i := range n {
				b[5+i] = 1 // the value of the compressed flag
			}
			return b
		}
		require.NoError(t, x.WriteSettings())
		for stream := uint32(1); stream < 6; stream += 2 {
			require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{1, 1, 1}, EndHeaders: true}))
		}
		both := append(message(10), message(0)...)
		require.NoError(t, x.WriteData(1, false, both[:3]))
		require.NoError(t, x.WriteData(3, false, message(300)))
		require.NoError(t, x.WriteDataPadded(1, false, both[3:], make([]byte, 7)))
		require.NoError(t, x.WriteDataPadded(5, true, message(1), make([]byte, 1)))
		require.NoError(t, x.WriteData(1, true, message(70)))
		return x.Bytes()
	}
	sent, want := build(1), build(0)
	require.NotEqual(t, want, sent)
	for _, piece := range []int{1, 2, 3, 7, 100, 1 << 20} {
		_, receive, _ := countedConn(t, NewReceiveLimit(1<<30, nil).WithoutDecompression())
		got := bytes.Clone(sent)
		receive(got, piece)
		require.Equal(t, want, got, "pieces of %d", piece)

		_, receive, _ = countedConn(t, NewReceiveLimit(1<<30, nil))
		got = bytes.Clone(sent)
		receive(got, piece)
		require.Equal(t, sent, got, "pieces of %d", piece)
	}
}

// If ReceiveLimit closes a connection during a Read, this Read returns no bytes: ReceiveLimit no
// longer examines them.
func TestReceiveLimitAfterClose(t *testing.T) {
	c, receive, _ := countedConn(t, NewReceiveLimit(1<<30, nil).WithoutDecompression())
	receive([]byte(http2Preface), 100)
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Conn = readConn{c.Conn, bytes.NewReader([]byte("late"))}
	n, err := c.Read(make([]byte, 10))
	require.ErrorIs(t, err, net.ErrClosed)
	require.Zero(t, n)
}

// readConn reads from Reader instead of Conn.
type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// TestReceiveLimitGoAway: gRPC ignores streams that a client opens after the last GOAWAY, and never
// ends them. The limit does not count their bytes. Otherwise a client could increase the count
// forever.
func TestReceiveLimitGoAway(t *testing.T) {
	for _, piece := range []int{1, 5, 1 << 20} {
		l := NewReceiveLimit(1<<30, nil)
		c, receive, send := countedConn(t, l)
		x, server := newH2(true), newH2(false)
		begin := func(ids ...uint32) {
			for _, id := range ids {
				require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte("h"), EndHeaders: true}))
				require.NoError(t, x.WriteData(id, false, grpcMessage(300)[:205]))
			}
			receive(x.Bytes(), piece)
			x.Reset()
		}
		end := func(last uint32) {
			require.NoError(t, server.WriteGoAway(last, http2.ErrCodeNo, []byte("graceful_stop")))
			send(server.Bytes(), piece)
			server.Reset()
		}
		begin(1, 3)
		end(math.MaxUint32)
		begin(5, 7)
		require.Len(t, c.messages, 4, "streams that the client opens before it knows of the end")
		end(5)
		require.Len(t, c.messages, 3)
		begin(9, 11)
		require.Len(t, c.messages, 3)
		require.Equal(t, int64(3*(200+frameCost)), l.Bytes())
		require.NoError(t, server.WriteRSTStream(5, http2.ErrCodeNo))
		end(3)
		require.Equal(t, int64(2*(200+frameCost)), l.Bytes())
	}
}

// TestReceiveLimitIgnoredStreams is like TestReceiveLimitGoAway, but uses a real connection that
// gRPC ends because of its age.
func TestReceiveLimitIgnoredStreams(t *testing.T) {
	l := NewReceiveLimit(1<<30, nil)
	server, err := NewServer()
	require.NoError(t, err)
	g := grpc.NewServer(grpc.Creds(l.Credentials(nil)), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: time.Millisecond}))
	server.Register(g)
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	_, err = conn.Write([]byte(http2Preface))
	require.NoError(t, err)
	x := http2.NewFramer(conn, conn)
	require.NoError(t, x.WriteSettings())
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	open := func(id uint32) {
		block.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", StreamMethod}, {":authority", "x"}, {"content-type", "application/grpc"}} {
			require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
		}
		require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true}))
		require.NoError(t, x.WriteData(id, false, grpcMessage(1000)[:500]))
	}
	open(1)
	const held = 495 + frameCost
	pong := func(want func(http2.Frame) bool) {
		for {
			f, err := x.ReadFrame()
			require.NoError(t, err)
			if ping, ok := f.(*http2.PingFrame); ok && !ping.IsAck() {
				require.NoError(t, x.WritePing(true, ping.Data))
			}
			if want(f) {
				return
			}
		}
	}
	pong(func(f http2.Frame) bool { // the second GOAWAY
		end, ok := f.(*http2.GoAwayFrame)
		return ok && end.LastStreamID < 1<<30
	})
	for id := uint32(3); id < 1000; id += 2 {
		open(id)
	}
	require.NoError(t, x.WritePing(false, [8]byte{1}))
	pong(func(f http2.Frame) bool {
		ping, ok := f.(*http2.PingFrame)
		return ok && ping.IsAck()
	})
	require.EqualValues(t, held, l.Bytes(), "the stream that gRPC accepted")
	require.EqualValues(t, 1, server.Stats().Opened)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return l.Bytes() == 0 }, time.Minute, time.Millisecond)
	g.Stop()
	require.NoError(t, <-served)
}

// TestReceiveLimitReportsOnce: if two goroutines find the limit exceeded at the same time, they
// report the closed connection only once.
func TestReceiveLimitReportsOnce(t *testing.T) {
	var ended atomic.Int32
	l := NewReceiveLimit(100, func(net.Addr, int64) { ended.Add(1) })
	c, receive, _ := countedConn(t, l)
	x := newH2(true)
	require.NoError(t, x.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true}))
	require.NoError(t, x.WriteData(1, false, grpcMessage(200)[:150]))
	receive(x.Bytes(), 1<<10)
	chosen := &sync.WaitGroup{}
	chosen.Add(2)
	c.Conn = meetingConn{c.Conn, chosen}
	var both sync.WaitGroup
	both.Go(l.closeLargest)
	both.Go(l.closeLargest)
	both.Wait()
	require.Zero(t, l.Bytes())
	require.EqualValues(t, 1, ended.Load())
}

// meetingConn is a connection whose RemoteAddr waits until two goroutines have called it.
type meetingConn struct {
	net.Conn
	called *sync.WaitGroup
}

func (c meetingConn) RemoteAddr() net.Addr {
	c.called.Done()
	c.called.Wait()
	return c.Conn.RemoteAddr()
}

func TestReceiveLimitOfNothing(t *testing.T) {
	for _, bytes := range []int64{0, -1} {
		require.Panics(t, func() { NewReceiveLimit(bytes, nil) })
	}
}

// deafCredentials accepts clients that cannot receive.
type deafCredentials struct {
	credentials.TransportCredentials
}

func (c deafCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	return deafConn{conn}, info, err
}

type deafConn struct{ net.Conn }

func (deafConn) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestReceiveLimitForgets: if gRPC cannot send its HTTP/2 settings to a client, gRPC never closes the
// connection that it got from ReceiveLimit. ReceiveLimit must still drop this connection.
func TestReceiveLimitForgets(t *testing.T) {
	l := NewReceiveLimit(1<<20, nil)
	g := grpc.NewServer(grpc.Creds(l.Credentials(deafCredentials{insecure.NewCredentials()})), grpc.WriteBufferSize(0))
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	_, err = io.ReadAll(client)
	require.NoError(t, err)
	g.Stop()
	<-served
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.connections)
}

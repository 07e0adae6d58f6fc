// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package readyread

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
)

// counter is a pool that counts the buffers in use.
type counter struct{ used int }

func (c *counter) Get(size int) *[]byte {
	c.used++
	b := make([]byte, size)
	return &b
}

func (c *counter) Put(*[]byte) { c.used-- }

var _ mem.BufferPool = (*counter)(nil)

// wrapped hides the type of a connection.
type wrapped struct{ net.Conn }

// forwarding is a connection that is a Reader.
type forwarding struct {
	net.Conn
	Reader
}

func pair(t *testing.T) (client, server net.Conn) {
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

// readers are the kinds of readers. The last one can wait without a buffer only on Unix.
var readers = map[string]func(net.Conn) net.Conn{
	"wrapped":    func(c net.Conn) net.Conn { return wrapped{c} },
	"forwarding": func(c net.Conn) net.Conn { return forwarding{c, Of(c)} },
	"net":        func(c net.Conn) net.Conn { return c },
}

func TestReadsEverything(t *testing.T) {
	data := make([]byte, 3<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	for name, wrap := range readers {
		client, server := pair(t)
		go func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1+int(random.Uint64()%100_000))
				_, _ = client.Write(rest[:n])
				rest = rest[n:]
			}
			_ = client.Close()
		}()
		r, pool := Of(wrap(server)), new(counter)
		var got bytes.Buffer
		for size := 1; ; size = size%70_000 + 333 {
			buffer, n, err := r.ReadOnReady(size, pool)
			if n > 0 {
				got.Write((*buffer)[:n])
				pool.Put(buffer)
			}
			if err != nil {
				require.Equal(t, io.EOF, err, name)
				break
			}
			require.Positive(t, n, name)
		}
		require.True(t, bytes.Equal(data, got.Bytes()), name)
		require.Zero(t, pool.used, name)
	}
}

// TestWaitsWithoutBuffer: while no data arrives, no buffer of the pool is in use. A wait ends with an
// error at a deadline and when the connection is closed.
func TestWaitsWithoutBuffer(t *testing.T) {
	for name, wrap := range readers {
		_, server := pair(t)
		r, pool := Of(wrap(server)), new(counter)
		require.NoError(t, server.SetReadDeadline(time.Now().Add(time.Millisecond)))
		buffer, n, err := r.ReadOnReady(100, pool)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, name)
		require.Zero(t, n)
		require.Nil(t, buffer)
		require.NoError(t, server.SetReadDeadline(time.Time{}))
		time.AfterFunc(time.Millisecond, func() { _ = server.Close() })
		_, n, err = r.ReadOnReady(100, pool)
		require.Error(t, err, name)
		require.Zero(t, n)
		require.Zero(t, pool.used, name)
	}
}

func TestOf(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	require.IsType(t, &copying{}, Of(server))
	_, tcp := pair(t)
	_, small := Of(tcp).(*copying)
	require.Equal(t, runtime.GOOS == "windows", small)
}

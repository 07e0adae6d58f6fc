// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"
)

// TestConnContract runs the standard library's tests for a net.Conn.
func TestConnContract(t *testing.T) {
	f := func(name string, link Link) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (client, server net.Conn, stop func(), err error) {
				m, client, server := ends(t, link)
				return client, server, func() { m.Close() }, nil
			})
		})
	}
	f("bare", Link{})
	f("latency", Link{RoundTrip: 100 * time.Microsecond})
	f("small window", Link{Window: 1000})
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: time.Second})
		got := make(chan error, 1)
		go func() {
			_, err := server.Read(make([]byte, 1))
			got <- err
		}()
		write(t, client, "lost")
		synctest.Wait()
		require.Equal(t, 1, m.Conns())
		require.Equal(t, 1, m.Cut())
		require.ErrorIs(t, <-got, syscall.ECONNRESET)
		_, err := client.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = client.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.Zero(t, m.Conns())
		require.Zero(t, m.Held(Both))
		require.EqualValues(t, 4, m.Lost(Up))
		require.Zero(t, m.Cut())
	})
}

func TestStallHoldsAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{})
		m.Stall(Up)
		write(t, client, "held")
		write(t, server, "free")
		read(t, client, "free")
		begin := time.Now()
		time.AfterFunc(time.Minute, func() { m.Resume(Up) })
		read(t, server, "held")
		require.Equal(t, time.Minute, time.Since(begin))

		// A dial during the stall blocks too; its context can cancel it.
		m.Stall(Down)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := m.Dial(ctx, "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, m.Clear)
		_, err = m.Dial(t.Context(), "")
		require.NoError(t, err)
	})
}

func TestDelayAndRateChangeUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: 20 * time.Millisecond})
		begin := time.Now()
		m.Delay(Up, time.Second)
		write(t, client, "a")
		m.Delay(Up, 0)
		write(t, client, "b") // does not overtake the write before it
		read(t, server, "ab")
		require.Equal(t, 1010*time.Millisecond, time.Since(begin))

		m.Rate(Down, 1000)
		begin = time.Now()
		write(t, server, string(make([]byte, 500)))
		_, err := io.ReadFull(client, make([]byte, 500))
		require.NoError(t, err)
		require.InDelta(t, 0.51, time.Since(begin).Seconds(), 0.001)
		m.Rate(Down, 0)
		begin = time.Now()
		write(t, server, "c")
		read(t, client, "c")
		require.Equal(t, 10*time.Millisecond, time.Since(begin))
	})
}

func TestHalfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: 2 * time.Millisecond})
		write(t, client, "last")
		require.Equal(t, 1, m.HalfClose(Up))
		write(t, client, "nowhere")
		read(t, server, "last")
		_, err := server.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		write(t, server, "still")
		read(t, client, "still")
		require.EqualValues(t, 7, m.Lost(Up))
	})
}

func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: 2 * time.Millisecond})
		write(t, client, "once.")
		require.Equal(t, 1, m.Repeat(Up))
		write(t, client, "twice.")
		write(t, client, "once.")
		read(t, server, "once.twice.twice.once.")
		write(t, server, "answer")
		read(t, client, "answer")
		require.Zero(t, m.Held(Both))
	})
}

func TestKillAfterIsExact(t *testing.T) {
	f := func(n int64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			m, client, server := ends(t, Link{RoundTrip: 2 * time.Millisecond})
			write(t, client, "abc")
			read(t, server, "abc")
			require.Equal(t, 1, m.KillAfter(Up, n))
			write(t, client, "0123456789")
			got, err := io.ReadAll(server)
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.Equal(t, "0123456789"[:n], string(got))
			_, err = client.Read(make([]byte, 1))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.EqualValues(t, 3+n, m.Bytes(Up))
			require.Zero(t, m.Held(Both))
		})
	}
	f(0)
	f(1)
	f(5)
	f(10)
}

func TestKillEachIsDrawnFromTheSeed(t *testing.T) {
	lives := func(seed uint64) (list []int) {
		synctest.Test(t, func(t *testing.T) {
			m, err := NewMemory(Link{Seed: seed})
			require.NoError(t, err)
			defer m.Close()
			l, err := m.Listen()
			require.NoError(t, err)
			require.NoError(t, m.KillEach(Down, 100, 10000))
			for range 10 {
				client, err := m.Dial(t.Context(), "")
				require.NoError(t, err)
				server, err := l.Accept()
				require.NoError(t, err)
				write(t, server, string(make([]byte, 20000)))
				got, err := io.ReadAll(client)
				require.ErrorIs(t, err, syscall.ECONNRESET)
				list = append(list, len(got))
			}
		})
		return list
	}
	one := lives(1)
	require.Equal(t, one, lives(1))
	require.NotEqual(t, one, lives(2))
	for _, n := range one {
		require.True(t, n >= 100 && n <= 10000, n)
	}
	m, err := NewMemory(Link{})
	require.NoError(t, err)
	require.Error(t, m.KillEach(Up, 2, 1))
	require.Error(t, m.KillEach(Up, -1, 1))
}

func TestRefuseAndListenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewMemory(Link{})
		require.NoError(t, err)
		refused := func() {
			t.Helper()
			_, err := m.Dial(t.Context(), "")
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}
		refused()
		l, err := m.Listen()
		require.NoError(t, err)
		_, err = m.Listen()
		require.ErrorIs(t, err, syscall.EADDRINUSE)

		client, err := m.Dial(t.Context(), "")
		require.NoError(t, err)
		m.Refuse(true)
		refused()
		m.Refuse(false)
		require.NoError(t, l.Close())
		refused()
		_, err = client.Read(make([]byte, 1)) // no server accepted the client
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)

		l, err = m.Listen()
		require.NoError(t, err)
		client, err = m.Dial(t.Context(), "")
		require.NoError(t, err)
		server, err := l.Accept()
		require.NoError(t, err)
		require.Equal(t, client.LocalAddr(), server.RemoteAddr())
		require.Equal(t, 2, m.Opened())
		require.NoError(t, m.Close())
		_, err = server.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		refused()
	})
}

func TestCloseEndsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: 20 * time.Millisecond})
		write(t, client, "bye")
		time.Sleep(5 * time.Millisecond)
		require.NoError(t, client.Close())
		read(t, server, "bye")
		write(t, server, "in vain") // the server has not noticed yet that the client closed its end
		begin := time.Now()
		_, err := server.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		require.Equal(t, 5*time.Millisecond, time.Since(begin))
		_, err = server.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		require.EqualValues(t, 7, m.Lost(Down))
		_, err = client.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, 1, m.Conns())
		require.NoError(t, server.Close())
		require.Zero(t, m.Conns())
	})
}

// echo serves TCP connections by returning the bytes it receives.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// overTCP runs a test through a proxy, which connects to real sockets.
func overTCP(t *testing.T, link Link, test func(t *testing.T, f *Faults, c net.Conn)) {
	t.Helper()
	target := echo(t)
	p, err := NewProxy(link, target)
	require.NoError(t, err)
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	test(t, p.Faults, c)
	require.NoError(t, p.Close())
	require.Zero(t, p.Conns())
}

// TestTCPLatencyAndCounts checks that bytes over TCP are delayed by the link, that a write
// does not wait for the delay of an earlier write, and that the bytes are counted.
func TestTCPLatencyAndCounts(t *testing.T) {
	const trip, writes = 30 * time.Millisecond, 20
	overTCP(t, Link{RoundTrip: trip}, func(t *testing.T, f *Faults, c net.Conn) {
		write(t, c, "warm")
		read(t, c, "warm")
		together := func() time.Duration {
			begin := time.Now()
			go func() {
				for range writes {
					write(t, c, "0123456789")
					time.Sleep(time.Millisecond)
				}
			}()
			for range writes {
				read(t, c, "0123456789")
			}
			return time.Since(begin)
		}
		sent := int64(len("warm"))
		took := time.Duration(math.MaxInt64)
		// Writes that wait for each other always take 20 round trips. Writes that do not wait
		// take that long only while the machine is busy, so one fast try is enough.
		for tries := 0; took >= writes*trip; tries++ {
			require.Less(t, tries, 50, "writes wait for each other")
			took = together()
			require.Greater(t, took, trip)
			sent += writes * int64(len("0123456789"))
			require.EqualValues(t, sent, f.Bytes(Up))
			require.EqualValues(t, sent, f.Bytes(Down))
		}
	})
}

func TestTCPEndsInOrder(t *testing.T) {
	overTCP(t, Link{RoundTrip: time.Millisecond}, func(t *testing.T, f *Faults, c net.Conn) {
		write(t, c, "all of it")
		require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "all of it", string(got))
		require.NoError(t, c.Close())
		require.Eventually(t, func() bool { return f.Conns() == 0 }, time.Minute, time.Millisecond)
	})
}

func TestTCPFaults(t *testing.T) {
	overTCP(t, Link{}, func(t *testing.T, f *Faults, c net.Conn) {
		write(t, c, "warm")
		read(t, c, "warm")
		f.Stall(Down)
		write(t, c, "held")
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, c.SetReadDeadline(time.Time{}))
		f.Resume(Down)
		read(t, c, "held")

		require.Equal(t, 1, f.KillAfter(Up, 3))
		write(t, c, "012345")
		_, err = io.ReadAll(c)
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
		require.EqualValues(t, 4+4+3, f.Bytes(Up))
		require.Eventually(t, func() bool { return f.Conns() == 0 }, time.Minute, time.Millisecond)
	})
}

func TestProxyRefuses(t *testing.T) {
	p, err := NewProxy(Link{}, echo(t))
	require.NoError(t, err)
	defer p.Close()
	p.Refuse(true)
	c, err := net.Dial("tcp", p.Addr())
	if err == nil {
		_, err = c.Read(make([]byte, 1))
		c.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestStepsAreRepeatableAndPrint(t *testing.T) {
	r, again := rand.New(rand.NewPCG(7, 0)), rand.New(rand.NewPCG(7, 0))
	seen := map[Kind]bool{}
	for range 200 {
		s := Random(r, 30*time.Millisecond, 1000)
		require.Equal(t, s, Random(again, 30*time.Millisecond, 1000))
		require.NotContains(t, s.String(), "(")
		require.LessOrEqual(t, s.For, 30*time.Millisecond)
		seen[s.Kind] = true
	}
	require.Len(t, seen, int(kinds))
	require.Equal(t, "stall up for 30ms", Step{Kind: KindStall, Direction: Up, For: 30 * time.Millisecond}.String())
	require.Equal(t, "kill both after 10 B", Step{Kind: KindKill, Direction: Both, Bytes: 10}.String())
	require.Equal(t, "delay down by 1s for 2s", Step{Kind: KindDelay, Direction: Down, Extra: time.Second, For: 2 * time.Second}.String())
	require.Equal(t, "Kind(9)", Kind(9).String())
	require.Equal(t, "Direction(8)", Direction(8).String())
}

// After any step, the network is in the same state as before the step.
func TestStepsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := NewMemory(Link{RoundTrip: time.Millisecond})
		require.NoError(t, err)
		defer m.Close()
		l, err := m.Listen()
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 0))
		for range 100 {
			client, err := m.Dial(t.Context(), "")
			require.NoError(t, err)
			server, err := l.Accept()
			require.NoError(t, err)
			go io.Copy(server, server)
			s := Random(r, time.Second, 10)
			go client.Write([]byte("0123456789"))
			require.NoError(t, m.Apply(t.Context(), s))
			client.Close()
			server.Close()

			client, err = m.Dial(t.Context(), "")
			require.NoError(t, err, s)
			server, err = l.Accept()
			require.NoError(t, err, s)
			begin := time.Now()
			write(t, client, "x")
			read(t, server, "x")
			write(t, server, "y")
			read(t, client, "y")
			require.Equal(t, time.Millisecond, time.Since(begin), s)
			client.Close()
			server.Close()
		}
		require.Error(t, m.Apply(t.Context(), Step{Kind: kinds}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = m.Apply(ctx, Step{Kind: KindStall, Direction: Both, For: time.Hour})
		require.True(t, errors.Is(err, context.Canceled))
	})
}

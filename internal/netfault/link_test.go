// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/internal/teltest/benchdata"
)

// The benchmarks print the name of their data first.
var _ = benchdata.Name("synthetic: blocks of bytes")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ends(t *testing.T, link Link) (m *Memory, client, server net.Conn) {
	t.Helper()
	m, err := NewMemory(link)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	l, err := m.Listen()
	require.NoError(t, err)
	client, err = m.Dial(t.Context(), "")
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	return m, client, server
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	n, err := io.WriteString(c, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}

func TestLatencyIsADelayLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, client, server := ends(t, Link{RoundTrip: 200 * time.Millisecond})
		require.Equal(t, 200*time.Millisecond, time.Since(begin), "opening takes a round trip")

		// A hundred writes with pauses of a millisecond arrive with the same pauses:
		// no write waits for the write before it.
		begin = time.Now()
		go func() {
			for range 100 {
				write(t, client, "0123456789")
				time.Sleep(time.Millisecond)
			}
		}()
		for i := range 100 {
			read(t, server, "0123456789")
			require.Equal(t, 100*time.Millisecond+time.Duration(i)*time.Millisecond, time.Since(begin))
		}

		begin = time.Now()
		write(t, client, "ping")
		read(t, server, "ping")
		write(t, server, "pong")
		read(t, client, "pong")
		require.Equal(t, 200*time.Millisecond, time.Since(begin))
	})
}

func TestRateDelaysLaterBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, server := ends(t, Link{RoundTrip: 20 * time.Millisecond, BytesPerSecond: 1 << 20})
		begin := time.Now()
		go func() {
			for range 64 {
				write(t, client, string(make([]byte, 32<<10)))
			}
		}()
		_, err := io.ReadFull(server, make([]byte, 2<<20))
		require.NoError(t, err)
		require.InDelta(t, 2.01, time.Since(begin).Seconds(), 0.001)
	})
}

// A sender whose window is full sends one window per half round trip: the bytes count until the
// other end has read them.
func TestWindowBoundsBytesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, client, server := ends(t, Link{RoundTrip: 100 * time.Millisecond, Window: 1000})
		done := make(chan time.Duration)
		begin := time.Now()
		go func() {
			write(t, client, string(make([]byte, 3000)))
			done <- time.Since(begin)
		}()
		synctest.Wait()
		require.EqualValues(t, 1000, m.Held(Up))
		require.Zero(t, m.Bytes(Both))
		_, err := io.ReadFull(server, make([]byte, 3000))
		require.NoError(t, err)
		require.Equal(t, 100*time.Millisecond, <-done)
		require.Equal(t, 150*time.Millisecond, time.Since(begin))
		require.EqualValues(t, 3000, m.Bytes(Up))
		require.Zero(t, m.Held(Both))
	})
}

func TestJitterKeepsOrderAndSeed(t *testing.T) {
	arrivals := func(seed uint64) (list []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			_, client, server := ends(t, Link{Jitter: 10 * time.Millisecond, Seed: seed})
			begin := time.Now()
			go func() {
				for i := range 50 {
					write(t, client, string(rune('0'+i)))
					time.Sleep(time.Millisecond)
				}
			}()
			for i := range 50 {
				read(t, server, string(rune('0'+i)))
				list = append(list, time.Since(begin))
			}
		})
		return list
	}
	one := arrivals(1)
	require.Equal(t, one, arrivals(1))
	require.NotEqual(t, one, arrivals(2))
	require.True(t, slices.IsSorted(one))
	require.Less(t, one[49], 60*time.Millisecond)
}

// On the real clock, a round trip is late by only a small part of a millisecond. The machine also wakes
// waiting threads late, which is not a fault of the link. Therefore the test also measures timers alone,
// for the same times. In each direction, a timer alone wakes one thread. The link wakes three threads:
// those of the timer, the line and the reader. The test compares the fastest quarter of the round trips
// with the fastest quarter of the timers.
func TestRoundTripIsPrecise(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does a line use a timer of the kernel; timers of the runtime are less precise")
	}
	f := func(trip time.Duration, n int) {
		t.Helper()
		for try := 1; ; try++ {
			late, bare := lateness(t, trip, n), bareLateness(trip, n)
			t.Logf("round trip %v: late by %v to %v, %v in the median; bare alarms by %v to %v", trip, late[0], late[n-1], late[n/2], bare[0], bare[n-1])
			if late[n/4] < 3*bare[n/4]+300*time.Microsecond {
				return
			}
			require.Less(t, try, 10)
		}
	}
	f(0, 200)
	f(20*time.Microsecond, 200)
	f(200*time.Microsecond, 200)
	f(2*time.Millisecond, 50)
	f(20*time.Millisecond, 10)
	f(200*time.Millisecond, 4)
}

// bareLateness sets two timers, one after the other, n times: one for each direction of a round trip. It
// returns how much longer than trip each pair of timers took, sorted.
func bareLateness(trip time.Duration, n int) (late []time.Duration) {
	a := newTimer()
	defer a.stop()
	for range n {
		begin := time.Now()
		for range 2 {
			if trip > 0 {
				a.set(trip / 2)
				<-a.fired()
			}
		}
		late = append(late, time.Since(begin)-trip)
	}
	slices.Sort(late)
	return late
}

// lateness returns the delay of n round trips beyond the expected time, sorted.
func lateness(t *testing.T, trip time.Duration, n int) (late []time.Duration) {
	t.Helper()
	_, client, server := ends(t, Link{RoundTrip: trip})
	go io.Copy(server, server)
	for range n {
		begin := time.Now()
		write(t, client, "x")
		read(t, client, "x")
		took := time.Since(begin)
		require.GreaterOrEqual(t, took, trip)
		late = append(late, took-trip)
	}
	slices.Sort(late)
	return late
}

func TestLinkErrors(t *testing.T) {
	f := func(link Link) {
		t.Helper()
		_, err := NewMemory(link)
		require.Error(t, err)
		_, err = NewProxy(link, "127.0.0.1:1")
		require.Error(t, err)
	}
	f(Link{RoundTrip: -1})
	f(Link{Jitter: -1})
	f(Link{BytesPerSecond: -1})
	f(Link{Window: -1})
}

func BenchmarkLine(b *testing.B) {
	for _, trip := range []time.Duration{0, 20 * time.Microsecond, 2 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(trip.String(), func(b *testing.B) {
			m, err := NewMemory(Link{RoundTrip: trip, Window: 64 << 20})
			require.NoError(b, err)
			defer m.Close()
			l, err := m.Listen()
			require.NoError(b, err)
			client, err := m.Dial(b.Context(), "")
			require.NoError(b, err)
			server, err := l.Accept()
			require.NoError(b, err)
			p := make([]byte, 32<<10)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			go func() {
				defer client.Close()
				for range b.N {
					if _, err := client.Write(p); err != nil {
						return
					}
				}
			}()
			n, err := io.Copy(io.Discard, server)
			require.NoError(b, err)
			require.EqualValues(b, b.N*len(p), n)
		})
	}
}

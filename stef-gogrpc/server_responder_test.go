// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// accounts is a server with one stream. The handler passes its ServerStream to the test, and
// returns the error that the test sends to the channel end.
type accounts struct {
	server *Server
	peer   *scripted
	stream *ServerStream
	end    chan error // what the handler returns
}

func newAccounts(t testing.TB, options ...ServerOption) *accounts {
	t.Helper()
	streams, end := make(chan *ServerStream, 1), make(chan error)
	s := serving(t, func(s *ServerStream) error {
		streams <- s
		return <-end
	}, options...)
	return &accounts{server: s, peer: open(t, s, "Metrics"), stream: <-streams, end: end}
}

func (a *accounts) require(t testing.TB, want ...Response) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, want, a.peer.responses())
}

func TestServerCoalescesResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t, WithAckInterval(10*time.Millisecond), WithHeaderTimeout(0))
		a.require(t)
		a.stream.AckUpTo(1)
		a.require(t, Response{Acked: 1}) // sent immediately after a pause

		a.stream.AckUpTo(2)
		a.stream.Reject(4, 4)
		a.stream.Ack(3, 3)
		a.stream.Reject(7, 9)
		time.Sleep(9 * time.Millisecond)
		a.stream.Ack(6, 6)
		a.require(t, Response{Acked: 1})
		require.Equal(t, uint64(4), a.stream.Acked())
		time.Sleep(time.Millisecond)
		second := Response{Acked: 4, Rejected: []IDRange{{From: 4, To: 4}}}
		a.require(t, Response{Acked: 1}, second)

		time.Sleep(time.Hour)
		a.stream.AckUpTo(3) // nothing changes: no response is sent
		a.require(t, Response{Acked: 1}, second)
		a.stream.Ack(5, 5)
		third := Response{Acked: 9, Rejected: []IDRange{{From: 7, To: 9}}}
		a.require(t, Response{Acked: 1}, second, third)

		a.stream.AckUpTo(10)
		a.stream.AckUpTo(20)
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
		a.require(t, Response{Acked: 1}, second, third, Response{Acked: 20})
		a.stream.AckUpTo(30) // after the handler returned
		time.Sleep(time.Hour)
		require.Len(t, a.peer.responses(), 4)
	})
}

// If a client waits for each acknowledgement before it sends the next chunk, the server does not delay
// acknowledgements by the interval of WithAckInterval. The handler may finish the records before it
// reads again, or on another goroutine. While decoded records are unfinished, acknowledgements are
// merged.
func TestServerRespondsToLoneChunks(t *testing.T) {
	f := func(name string, finish func(s *ServerStream, id uint64)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var id uint64
				s := serving(t, func(s *ServerStream) error {
					p := make([]byte, 1)
					for {
						if _, err := s.Read(p); err != nil {
							if err == io.EOF {
								return nil
							}
							return err
						}
						id++
						s.Decoded(id)
						finish(s, id)
					}
				}, WithAckInterval(10*time.Millisecond))
				p := open(t, s, "Metrics")
				start := time.Now()
				var want []Response
				for i := range uint64(5) {
					p.data(true, "x")
					synctest.Wait()
					time.Sleep(ledger.Spacing)
					synctest.Wait()
					want = append(want, Response{Acked: i + 1})
					require.Equal(t, want, p.responses())
				}
				require.Equal(t, 5*ledger.Spacing, time.Since(start))
				p.halfClose()
				requireStatus(t, p.status(t), codes.OK, "")
			})
		})
	}
	f("at once", func(s *ServerStream, id uint64) { s.AckUpTo(id) })
	f("elsewhere", func(s *ServerStream, id uint64) {
		go func() {
			time.Sleep(ledger.Spacing / 2)
			s.Ack(id, id)
		}()
	})
	synctest.Test(t, func(t *testing.T) { // each record takes 8 ms, and 5 records are processed at the same time
		var id uint64
		s := serving(t, func(s *ServerStream) error {
			p := make([]byte, 1)
			for {
				if _, err := s.Read(p); err != nil {
					if err == io.EOF {
						return nil
					}
					return err
				}
				id++
				s.Decoded(id)
				go func(id uint64) {
					time.Sleep(8 * time.Millisecond)
					s.Ack(id, id)
				}(id)
			}
		}, WithAckInterval(10*time.Millisecond))
		p := open(t, s, "Metrics")
		for range 30 {
			p.data(true, "x")
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(9 * time.Millisecond)
		synctest.Wait()
		responses := p.responses()
		require.Equal(t, uint64(30), responses[len(responses)-1].Acked)
		require.LessOrEqual(t, len(responses), 8, "in 68 ms, one in each interval of 10")
		p.halfClose()
		requireStatus(t, p.status(t), codes.OK, "")
	})
}

func TestServerRespondsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t, WithAckInterval(0))
		var want []Response
		for id := range uint64(5) {
			a.stream.AckUpTo(id + 1)
			want = append(want, Response{Acked: id + 1})
			a.require(t, want...)
		}
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
	})
}

// Acknowledgements reach the client, also if the handler returns an error.
func TestServerFlushesAtTheEnd(t *testing.T) {
	f := func(name string, err error, code codes.Code, before func(a *accounts)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccounts(t)
				a.stream.AckUpTo(1)
				synctest.Wait()
				a.stream.AckUpTo(7)
				a.stream.Reject(8, 8)
				a.stream.Ack(10, 10) // record 9 is not finished
				before(a)
				a.end <- err
				requireStatus(t, a.peer.status(t), code, "")
				a.require(t, Response{Acked: 1}, Response{Acked: 8, Rejected: []IDRange{{From: 8, To: 8}}})
			})
		})
	}
	nothing := func(*accounts) {}
	f("well", nil, codes.OK, nothing)
	f("failing", errorf(KindUnavailable, "full"), codes.Unavailable, nothing)
	f("half-closed before", nil, codes.OK, func(a *accounts) { a.peer.halfClose() })
	f("half-closed and failing", errorf(KindInvalid, "bad"), codes.InvalidArgument, func(a *accounts) { a.peer.halfClose() })
	f("data that nobody reads", nil, codes.OK, func(a *accounts) {
		a.peer.data(true, "abc")
		a.peer.data(true, "def")
	})
}

// AckUpTo does not block if the client does not read its responses. After the handler has returned,
// the server waits at most finalResponses, a time, until the client reads.
func TestServerClientThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t)
		resume := a.peer.stopReading()
		for id := range uint64(1000) {
			a.stream.AckUpTo(id + 1) // does not block
			time.Sleep(time.Millisecond)
		}
		a.require(t)
		resume()
		a.require(t, Response{Acked: 1})
		time.Sleep(DefaultAckInterval)
		a.require(t, Response{Acked: 1}, Response{Acked: 1000})

		a.peer.stopReading()
		a.stream.AckUpTo(2000)
		start := time.Now()
		a.end <- nil
		time.Sleep(finalResponses - time.Millisecond)
		synctest.Wait()
		require.Empty(t, a.peer.end)
		time.Sleep(time.Millisecond)
		requireStatus(t, a.peer.status(t), codes.Unavailable, "")
		require.Equal(t, finalResponses, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) { // now the client disconnects at the end
		a := newAccounts(t)
		a.peer.stopReading()
		a.stream.AckUpTo(1)
		a.end <- nil
		synctest.Wait()
		start := time.Now()
		a.peer.cancel()
		a.peer.status(t)
		require.Zero(t, time.Since(start))
	})
}

// When the handler returns, the server sends the remaining ranges. Ranges that do not fit into one
// response are sent in several responses.
func TestServerSendsManyRangesInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3*4096 + 1
		a := newAccounts(t, WithAckInterval(time.Hour))
		a.stream.AckUpTo(1)
		synctest.Wait()
		for id := range uint64(n) {
			a.stream.Reject(2*id+2, 2*id+2)
		}
		a.stream.AckUpTo(2 * n)
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
		responses := a.peer.responses()[1:]
		require.Len(t, responses, 4)
		ranges := 0
		for _, r := range responses {
			ranges += len(r.Rejected)
		}
		require.Equal(t, n, ranges)
		require.Equal(t, uint64(2*n), responses[3].Acked)
	})
}

// If a response cannot be sent, the server does not send the response again, and does not count it
// as sent.
func TestResponderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sends := 0
		r := responder{hold: func() {}, done: func() {}, send: func(Response) error {
			sends++
			return io.ErrClosedPipe
		}}
		for id := range uint64(5) {
			r.note(func(l *ledger.Receiver) { l.Ack(id + 1) })
			synctest.Wait()
		}
		<-r.close()
		require.Equal(t, 1, sends)
		require.False(t, r.told())
	})
}

// Many goroutines of a handler finish records in any order. At the end the client has received all
// answers, and the acknowledged id has never decreased.
func TestServerFinishedOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t)
		const workers, batches, size = 8, 200, 10
		var wg sync.WaitGroup
		for w := range uint64(workers) {
			wg.Go(func() {
				for i := w; i < batches; i += workers {
					from := i*size + 1
					time.Sleep(time.Duration((i*7919)%13) * time.Millisecond)
					if i%5 == 0 {
						a.stream.Reject(from, from+size-1)
					} else {
						a.stream.Ack(from, from+size-1)
					}
				}
			})
		}
		wg.Wait()
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
		var acked, rejected uint64
		for _, r := range a.peer.responses() {
			require.GreaterOrEqual(t, r.Acked, acked)
			acked = r.Acked
			for _, bad := range r.Rejected {
				require.LessOrEqual(t, bad.To, acked)
				rejected += bad.To - bad.From + 1
			}
		}
		require.Equal(t, uint64(batches*size), acked)
		require.Equal(t, uint64(batches*size/5), rejected)
	})
}

// An idle responder has no timer, neither before the first response nor after it.
func TestServerIdleStreamWithoutTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t)
		require.Nil(t, a.stream.responses.timer)
		a.stream.AckUpTo(1)
		a.require(t, Response{Acked: 1})
		require.Nil(t, a.stream.responses.timer)
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
	})
}

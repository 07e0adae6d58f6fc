// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
)

// rejectMany rejects n records one by one on another goroutine. Before each rejected record there is
// an accepted one, so that the rejected ids form n ranges. done receives n when all calls have
// returned.
func rejectMany(s *ServerStream, n uint64) (done chan uint64) {
	done = make(chan uint64, 1)
	go func() {
		for i := range n {
			s.Ack(2*i+1, 2*i+1)
			s.Reject(2*i+2, 2*i+2)
		}
		done <- n
	}()
	return done
}

// If a handler rejects records faster than its client reads the responses, Reject waits until the
// client reads again. The client receives every range, in responses of bounded size.
func TestServerWaitsForUnreadResponses(t *testing.T) {
	const n = 10 * ledger.MaxUntold
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t, WithAckInterval(time.Hour))
		resume := a.peer.stopReading()
		done := rejectMany(a.stream, n)
		time.Sleep(unreadTimeout - time.Millisecond)
		require.Empty(t, done)
		require.InDelta(t, 2*ledger.MaxUntold, a.stream.Acked(), 10_000)
		resume()
		synctest.Wait()
		require.EqualValues(t, n, <-done)

		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
		responses, ranges := a.peer.responses(), 0
		for _, r := range responses {
			require.LessOrEqual(t, len(r.Rejected), 4096)
			ranges += len(r.Rejected)
		}
		require.EqualValues(t, n, ranges)
		require.EqualValues(t, 2*n, responses[len(responses)-1].Acked)
	})
}

// A response with the maximum number of ranges is sent immediately. It does not wait for the
// interval of WithAckInterval.
func TestServerSendsFullResponsesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4096
		a := newAccounts(t, WithAckInterval(time.Hour))
		a.stream.AckUpTo(1)
		a.require(t, Response{Acked: 1})
		for id := uint64(3); id <= 2*n+3; id += 2 {
			a.stream.Reject(id, id) // the records before this id are not finished
		}
		synctest.Wait()
		require.Len(t, a.peer.responses(), 1)
		for id := uint64(2); id <= 2*n-2; id += 2 {
			a.stream.Ack(id, id)
		}
		synctest.Wait()
		require.Len(t, a.peer.responses(), 1)
		a.stream.Ack(2*n, 2*n)
		synctest.Wait()
		require.Len(t, a.peer.responses(), 2)
		require.Len(t, a.peer.responses()[1].Rejected, n)
		a.end <- nil
		requireStatus(t, a.peer.status(t), codes.OK, "")
	})
}

// If a client reads no responses for too long, the server ends its stream. The client may send its
// data again. No call of the handler waits after the end of the stream.
func TestServerEndsStreamsOfUnreadResponses(t *testing.T) {
	const n = 3 * ledger.MaxUntold // the calls wait after a third of n
	f := func(name string, code codes.Code, after time.Duration, end func(s *Server, a *accounts)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccounts(t)
				a.peer.stopReading()
				start, done := time.Now(), rejectMany(a.stream, n)
				synctest.Wait()
				require.Empty(t, done)
				end(a.server, a)
				<-done
				require.Equal(t, after, time.Since(start))
				select {
				case a.end <- a.stream.Context().Err():
				default:
				}
				time.Sleep(finalResponses)
				st := a.peer.status(t)
				requireStatus(t, st, code, "")
				require.True(t, FromStatus(st.Err()).Retryable())
			})
		})
	}
	f("timeout", codes.Unavailable, unreadTimeout, func(*Server, *accounts) {})
	f("client disconnects", codes.Canceled, 0, func(_ *Server, a *accounts) { a.peer.cancel() })
	f("handler returns", codes.Unavailable, 0, func(_ *Server, a *accounts) { a.end <- nil })
	f("handler fails", codes.Unavailable, 0, func(_ *Server, a *accounts) { a.end <- errorf(KindInvalid, "bad") })
	f("shutdown", codes.Unavailable, time.Second, func(s *Server, _ *accounts) {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = s.Shutdown(ctx)
		}()
	})
}

// If the stream ends because the client reads no acknowledgements, Read returns an error with
// this reason, even within a chunk.
func TestServerReadAfterUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		s := serving(t, func(s *ServerStream) error {
			p := make([]byte, 1)
			if _, err := io.ReadFull(s, p); err != nil {
				return err
			}
			<-rejectMany(s, 3*ledger.MaxUntold)
			_, err := s.Read(p)
			failed <- err
			return err
		})
		p := open(t, s, "Metrics")
		p.stopReading()
		p.data(false, "x")
		time.Sleep(unreadTimeout + finalResponses)
		requireStatus(t, p.status(t), codes.Unavailable, "")
		require.ErrorContains(t, <-failed, "the client read no acknowledgements for 10s")
	})
}

// If records finish out of order, the server keeps their ranges until all earlier records are
// finished. The number of these ranges is bounded. Above the bound the stream ends, and nothing is
// acknowledged after that.
func TestServerBoundsFinishedRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t)
		a.stream.AckUpTo(1)
		a.require(t, Response{Acked: 1})
		for id := range uint64(maxRanges) {
			a.stream.Reject(2*id+3, 2*id+3)
		}
		require.NoError(t, a.stream.Context().Err())
		a.stream.Reject(2*maxRanges+3, 2*maxRanges+3)
		require.Error(t, a.stream.Context().Err())
		require.Equal(t, maxRanges+1, a.stream.responses.ledger.Ranges())

		a.stream.Reject(2*maxRanges+5, 2*maxRanges+5)
		a.stream.AckUpTo(2*maxRanges + 5)
		require.EqualValues(t, 1, a.stream.Acked())
		a.end <- a.stream.Context().Err()
		st := a.peer.status(t)
		requireStatus(t, st, codes.ResourceExhausted, "")
		require.Contains(t, st.Message(), "call AckUpTo more often")
		require.True(t, FromStatus(st.Err()).Retryable())
		a.require(t, Response{Acked: 1})
	})
}

// If too many ranges are finished out of order, the server drops answers. After that, a permanent
// error of the handler is sent as a retryable error. Otherwise the client would drop a batch whose
// answer the server has dropped.
func TestServerErrorAfterDroppedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(t)
		for id := range uint64(maxRanges + 1) {
			a.stream.Reject(2*id+2, 2*id+2)
		}
		require.Error(t, a.stream.Context().Err())
		a.stream.AckUpTo(2*maxRanges + 2)
		a.end <- errorf(KindInvalid, "the next frame is corrupt")
		st := a.peer.status(t)
		requireStatus(t, st, codes.ResourceExhausted, "")
		require.Contains(t, st.Message(), "call AckUpTo more often")
		require.True(t, FromStatus(st.Err()).Retryable())
	})
}

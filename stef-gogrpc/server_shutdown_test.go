// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// shutdown calls Shutdown in the background and returns a channel with its result.
func shutdown(s *Server, within time.Duration) <-chan error {
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), within)
	go func() {
		defer cancel()
		done <- s.Shutdown(ctx)
	}()
	synctest.Wait()
	return done
}

func TestShutdownOfIdleServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll)
		require.NoError(t, <-shutdown(s, time.Hour))
		require.NoError(t, <-shutdown(s, time.Hour), "again")
		requireStatus(t, play(t, s).status(t), codes.Unavailable, ReasonReconnect)
		require.Equal(t, uint64(1), s.Stats().Refused)
	})
}

// TestShutdownInEachState calls Shutdown in each state of a stream. Each stream ends
// gracefully and immediately, after its acknowledgements.
func TestShutdownInEachState(t *testing.T) {
	f := func(name string, code codes.Code, reason string, h HandlerFunc, before, after func(p *scripted)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serving(t, h)
				p := play(t, s)
				before(p)
				synctest.Wait()
				start := time.Now()
				done := shutdown(s, time.Hour)
				after(p)
				requireStatus(t, p.status(t), code, reason)
				require.NoError(t, <-done)
				require.Zero(t, time.Since(start))
			})
		})
	}
	nothing := func(*scripted) {}
	first := func(p *scripted) { p.toward <- &wire.ClientMessage{First: true, Root: "Metrics"} }
	f("before the first message", codes.Unavailable, ReasonReconnect, readAll, nothing, nothing)
	f("idle", codes.Unavailable, ReasonReconnect, readAll, first, nothing)
	f("between chunks", codes.Unavailable, ReasonReconnect, readAll, func(p *scripted) {
		first(p)
		p.data(true, "abc")
	}, nothing)
	f("within a chunk", codes.Unavailable, ReasonReconnect, func(s *ServerStream) error {
		got, err := io.ReadAll(s)
		if string(got) != "abcdef" {
			return fmt.Errorf("got %q", got)
		}
		return err
	}, func(p *scripted) {
		first(p)
		p.data(false, "abc")
	}, func(p *scripted) { p.data(true, "def"); p.data(true, "not any more") })
	f("half-closed", codes.OK, "", func(s *ServerStream) error {
		err := readAll(s)
		<-s.server.stopping
		return err
	}, func(p *scripted) { first(p); p.halfClose() }, nothing)
	f("handler fails", codes.Internal, "", func(s *ServerStream) error {
		<-s.server.stopping
		return &Error{Code: codes.Internal}
	}, first, nothing)
	f("handler's reader is between the headers", codes.Unavailable, ReasonReconnect, func(s *ServerStream) error {
		_, err := io.ReadFull(s, make([]byte, 100))
		return &stef.FormatError{Err: fmt.Errorf("%w: %w", stef.ErrCorrupt, err)}
	}, func(p *scripted) { first(p); p.data(true, "STEF") }, nothing)
}

// After Shutdown was called, a handler can still wait until its records are consumed, and acknowledge
// them. These acknowledgements are sent before the stream ends.
func TestShutdownWaitsForAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, func(s *ServerStream) error {
			err := readAll(s)
			require.NoError(t, s.Context().Err())
			time.Sleep(time.Second) // the consumers
			s.AckUpTo(42)
			return err
		})
		p := open(t, s, "Metrics")
		p.data(true, "abc")
		done := shutdown(s, 2*time.Second)
		require.Empty(t, done)
		time.Sleep(time.Second)
		requireStatus(t, p.status(t), codes.Unavailable, ReasonReconnect)
		require.Equal(t, []Response{{Acked: 42}}, p.responses())
		require.NoError(t, <-done)
	})
}

// If a stream cannot end gracefully, Shutdown aborts the stream at the deadline.
func TestShutdownAtItsDeadline(t *testing.T) {
	f := func(name string, after time.Duration, h HandlerFunc, before func(p *scripted)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serving(t, h, WithMaxBufferedBytes(3))
				p := open(t, s, "Metrics")
				before(p)
				synctest.Wait()
				start := time.Now()
				err := <-shutdown(s, 5*time.Second)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "shutdown cancelled 1 streams that did not end in time")
				require.Equal(t, 5*time.Second+after, time.Since(start))
				requireStatus(t, p.status(t), codes.Unavailable, "") // no reason, because the end was not graceful
			})
		})
	}
	wait := func(s *ServerStream) error {
		<-s.Context().Done()
		return s.Context().Err()
	}
	f("a chunk without an end", 0, readAll, func(p *scripted) { p.data(false, "abc") })
	f("a busy handler", 0, wait, func(p *scripted) {})
	f("a handler that returns nil", 0, func(s *ServerStream) error { _ = wait(s); return nil }, func(p *scripted) {})
	f("a stream that waits for room", 0, wait, func(p *scripted) { p.data(true, "abc"); p.data(true, "d") })
	f("a client that reads nothing", lastMoment, func(s *ServerStream) error {
		_, _ = s.Read(make([]byte, 10))
		s.AckUpTo(1)
		return readAll(s)
	}, func(p *scripted) { p.stopReading(); p.data(true, "abc") })
}

func TestShutdownDoesNotWaitForeverForAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := serving(t, func(s *ServerStream) error { <-release; return nil })
		p := open(t, s, "Metrics")
		start := time.Now()
		err := <-shutdown(s, time.Second)
		require.ErrorContains(t, err, "shutdown cancelled all streams, but the handlers of 1 streams have not returned")
		require.Equal(t, time.Second+cancelGrace, time.Since(start))
		close(release)
		requireStatus(t, p.status(t), codes.Unavailable, "")
		require.NoError(t, <-shutdown(s, time.Second))
	})
}

func TestShutdownCalledTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll)
		p := open(t, s, "Metrics")
		p.data(false, "abc")
		synctest.Wait()
		patient, hasty := shutdown(s, time.Hour), shutdown(s, time.Second)
		start := time.Now()
		require.ErrorIs(t, <-hasty, context.DeadlineExceeded)
		require.NoError(t, <-patient)
		require.Equal(t, time.Second, time.Since(start))
		p.status(t)
	})
}

func TestMaxStreamLifetime(t *testing.T) {
	f := func(name string, code codes.Code, want string, h func(got *string) HandlerFunc, play func(p *scripted)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got string
				s := serving(t, h(&got), WithMaxStreamLifetime(time.Minute), untimed)
				p := open(t, s, "Metrics")
				play(p)
				requireStatus(t, p.status(t), code, "")
				require.Equal(t, want, got)
			})
		})
	}
	reading := func(err error) func(got *string) HandlerFunc {
		return func(got *string) HandlerFunc {
			return func(s *ServerStream) error {
				p, readErr := io.ReadAll(s)
				*got = string(p)
				s.AckUpTo(1)
				return errors.Join(err, readErr)
			}
		}
	}
	f("idle", codes.OK, "", reading(nil), func(p *scripted) { time.Sleep(time.Minute) })
	f("between chunks", codes.OK, "abc", reading(nil), func(p *scripted) {
		p.data(true, "abc")
		time.Sleep(time.Minute)
		synctest.Wait()
		p.data(true, "def")
	})
	f("within a chunk", codes.OK, "abcdef", reading(nil), func(p *scripted) {
		p.data(false, "abc")
		time.Sleep(2 * time.Minute)
		p.data(true, "def")
		p.data(true, "ghi")
	})
	f("the client is earlier", codes.OK, "abc", reading(nil), func(p *scripted) {
		p.data(true, "abc")
		time.Sleep(time.Minute - 1)
		p.halfClose()
	})
	f("between the headers", codes.OK, "STEF", func(got *string) HandlerFunc {
		return func(s *ServerStream) error {
			p := make([]byte, 100)
			n, err := io.ReadFull(s, p)
			*got = string(p[:n])
			return &stef.FormatError{Err: fmt.Errorf("%w: %w", stef.ErrCorrupt, err)}
		}
	}, func(p *scripted) {
		p.data(true, "STEF")
		time.Sleep(time.Minute)
	})
	f("a handler that fails", codes.Unavailable, "", reading(errorf(KindUnavailable, "full")), func(p *scripted) {
		time.Sleep(time.Minute)
	})
}

func TestMaxStreamLifetimeBeforeTheFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, readAll, WithMaxStreamLifetime(time.Minute), untimed)
		p := play(t, s)
		time.Sleep(time.Minute)
		requireStatus(t, p.status(t), codes.OK, "")
	})
}

// At its deadline, Shutdown aborts the stream. If the client reads, it still receives all
// acknowledgements of the handler: those before the deadline, and those directly after it.
func TestShutdownAtItsDeadlineSendsAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(t, func(s *ServerStream) error {
			time.Sleep(time.Second)
			s.AckUpTo(1)
			time.Sleep(time.Second)
			s.AckUpTo(2) // within the interval of WithAckInterval
			<-s.Context().Done()
			s.AckUpTo(3)
			return s.Context().Err()
		}, WithAckInterval(time.Hour), untimed)
		p := open(t, s, "Metrics")
		start := time.Now()
		require.ErrorIs(t, <-shutdown(s, time.Minute), context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(start))
		requireStatus(t, p.status(t), codes.Unavailable, "")
		require.Equal(t, []Response{{Acked: 1}, {Acked: 3}}, p.responses())
	})
}

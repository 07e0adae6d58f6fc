// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The tests of this file count allocations. With the race detector, pools drop some values at
// random, so the counts would differ.

package stefgrpc

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// echo is a stream and its writer. It acknowledges immediately and does not
// allocate.
type echo struct {
	tell       func(ledger.News)
	last, sent uint64
	done       chan struct{}
}

func (e *echo) adopt(f func(ledger.News)) { e.tell = f }
func (e *echo) answers() session.Answers  { return e }
func (e *echo) AnsweredUpTo() uint64      { return e.sent }
func (e *echo) Answer(first, last uint64) ledger.Answer {
	return ledger.Answer{Acknowledged: last - first + 1, Complete: true}
}
func (e *echo) Settle(first, last uint64) ledger.Answer { return e.Answer(first, last) }

func (e *echo) sentAtMost() uint64       { return e.sent }
func (e *echo) tooLarge(error) IDRange   { return IDRange{} }
func (e *echo) Unacked() (int64, uint64) { return 0, 0 }
func (e *echo) CloseSend() error         { return e.Close() }
func (e *echo) Close() error             { close(e.done); return nil }
func (e *echo) Done() <-chan struct{}    { return e.done }
func (e *echo) Err() error               { return nil }

func (e *echo) WriteBatch(int) (uint64, error) { e.last++; return e.last, nil }
func (e *echo) BufferedBytes() int             { return int(e.last - e.sent) }
func (e *echo) Flush() error {
	e.sent = e.last
	e.tell(ledger.News{Response: Response{Acked: e.sent}, Progress: true})
	return nil
}

func echoSession(t testing.TB, config SessionConfig) *Session[int] {
	before := goleak.IgnoreCurrent()
	s, err := startSession(
		func(context.Context) (sessionStream, error) { return &echo{done: make(chan struct{})}, nil },
		func(s sessionStream) (BatchWriter[int], error) { return struct{ BatchWriter[int] }{s.(*echo)}, nil }, config) // hides Close()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(context.Background()))
		goleak.VerifyNone(t, before)
	})
	return s
}

// TestSessionAllocations: in steady state, a Send allocates nothing.
func TestSessionAllocations(t *testing.T) {
	s := echoSession(t, SessionConfig{FlushInterval: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	require.NoError(t, s.Send(ctx, 1))
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		if err := s.Send(ctx, 1); err != nil {
			t.Error(err)
		}
	}), 0.1)
}

func BenchmarkSessionSend(b *testing.B) {
	s := echoSession(b, SessionConfig{FlushInterval: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Send(ctx, 1); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkSessionCallers measures callers that send their next batch after each answer, like Collector
// pipelines without a queue. The configuration of the session does not state the number of callers.
// ns/op is the time in which each caller sends one batch.
func BenchmarkSessionCallers(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := echoSession(b, SessionConfig{})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for range 10 { // the session measures how many callers there are
				sendTogether(b, ctx, s, callers)
			}
			b.ResetTimer()
			for range b.N {
				sendTogether(b, ctx, s, callers)
			}
		})
	}
}

func sendTogether(t testing.TB, ctx context.Context, s *Session[int], callers int) {
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			if err := s.Send(ctx, 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

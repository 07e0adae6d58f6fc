// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestBudgetGrantsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{max: 10}
		require.NoError(t, b.acquire(t.Context(), 6))

		var order []int
		var mu sync.Mutex
		wait := func(id int, n int64) {
			go func() {
				if b.acquire(t.Context(), n) == nil {
					mu.Lock()
					order = append(order, id)
					mu.Unlock()
				}
			}()
			synctest.Wait()
		}
		wait(1, 10) // needs the whole budget
		wait(2, 1)  // fits, but queues behind the first reservation
		used, waiting := b.state()
		require.Equal(t, int64(6), used)
		require.Equal(t, 2, waiting)

		b.release(6)
		synctest.Wait()
		require.Equal(t, []int{1}, order)
		b.release(10)
		synctest.Wait()
		require.Equal(t, []int{1, 2}, order)
		b.release(1)
		used, waiting = b.state()
		require.Zero(t, used)
		require.Zero(t, waiting)
	})
}

func TestBudgetGrantsAfterCanceledClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{max: 10}
		require.NoError(t, b.acquire(t.Context(), 9))
		ctx, cancel := context.WithCancel(t.Context())
		large, smaller := make(chan error, 1), make(chan error, 1)
		go func() { large <- b.acquire(ctx, 5) }()
		synctest.Wait()
		go func() { smaller <- b.acquire(t.Context(), 1) }()
		synctest.Wait()
		require.Empty(t, smaller)
		cancel()
		require.ErrorIs(t, <-large, context.Canceled)
		require.NoError(t, <-smaller)
		b.release(10)
		used, waiting := b.state()
		require.Zero(t, used)
		require.Zero(t, waiting)
	})
}

// A stream waits for bytes of the budget with a reservation. If the reservation is granted while the stream ends,
// its bytes are released.
func TestBudgetReclaimsGrantedClaims(t *testing.T) {
	b := &budget{max: 10, used: 10}
	late, next := &reservation{7, make(chan struct{})}, &reservation{8, make(chan struct{})}
	b.queue = []*reservation{late, next}
	b.release(10)
	<-late.granted
	b.cancel(late)
	<-next.granted
	b.cancel(next)
	used, waiting := b.state()
	require.Zero(t, used)
	require.Zero(t, waiting)
}

// The budget keeps its bound and releases all bytes, for any order of claims, grants and
// cancellations.
func TestBudgetUnderLoad(t *testing.T) {
	b := &budget{max: 100}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 500 {
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(3) == 0 {
					go cancel()
				}
				n := 1 + rng.Int64N(60)
				if err := b.acquire(ctx, n); err == nil {
					if used, _ := b.state(); used < n || used > b.max {
						t.Errorf("%d bytes are counted", used)
					}
					b.release(n)
				} else if e := FromStatus(err); e.Kind != KindLimit && !errors.Is(err, context.Canceled) {
					t.Error(err) // KindLimit: the queue is full
				}
				cancel()
			}
		})
	}
	wg.Wait()
	used, waiting := b.state()
	require.Zero(t, used)
	require.Zero(t, waiting)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func requireState(t *testing.T, g *fairSemaphore, inFlight, waiting int64) {
	t.Helper()
	gotFlight, gotWaiting := g.state()
	require.Equal(t, inFlight, gotFlight, "in flight")
	require.Equal(t, waiting, gotWaiting, "waiting")
}

func TestFairSemaphoreServesLastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFairSemaphore(10, 100)
		ctx := context.Background()
		require.NoError(t, g.acquire(ctx, new(usage), 10))
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				if g.acquire(ctx, new(usage), 10) == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		requireState(t, &g, 10, 30)
		for _, want := range []int{2, 1, 0} {
			g.release(new(usage), 10)
			synctest.Wait()
			require.Equal(t, want, <-order)
			requireState(t, &g, 10, int64(10*want))
		}
		g.release(new(usage), 10)
		requireState(t, &g, 0, 0)
	})
}

func TestFairSemaphoreRefuses(t *testing.T) {
	f := func(name string, limit, waitingLimit, n int64, want error) {
		t.Run(name, func(t *testing.T) {
			g := newFairSemaphore(limit, waitingLimit)
			g.adjust(new(usage), limit)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.ErrorIs(t, g.acquire(ctx, new(usage), g.weight(n)), want)
			requireState(t, &g, limit, 0)
		})
	}
	f("no room", 10, 0, 1, errQueueFull)
	f("too large for the room", 10, 5, 6, errQueueFull)
	f("larger than everything", 10, 9, 11, errQueueFull)
	f("room, but no time", 10, 5, 5, context.Canceled)
	f("larger than everything, with room", 10, 10, 11, context.Canceled)
}

func TestFairSemaphoreWithoutLimit(t *testing.T) {
	g := newFairSemaphore(0, 0)
	require.NoError(t, g.acquire(context.Background(), new(usage), g.weight(1<<40)))
	require.NoError(t, g.acquire(context.Background(), new(usage), g.weight(1<<40)))
	requireState(t, &g, 1<<41, 0)
}

func TestFairSemaphoreAboveLimit(t *testing.T) {
	g := newFairSemaphore(10, 10)
	n := g.weight(1000)
	require.NoError(t, g.acquire(context.Background(), new(usage), n))
	requireState(t, &g, 10, 0)
	g.release(new(usage), n)
	requireState(t, &g, 0, 0)
}

func TestFairSemaphoreAdjusts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFairSemaphore(10, 10)
		require.NoError(t, g.acquire(context.Background(), new(usage), 2))
		g.adjust(new(usage), 20) // the batch was larger than expected
		requireState(t, &g, 22, 0)
		admitted := make(chan error, 1)
		go func() { admitted <- g.acquire(context.Background(), new(usage), 1) }()
		synctest.Wait()
		requireState(t, &g, 22, 1)
		g.release(new(usage), 13)
		require.NoError(t, <-admitted)
		requireState(t, &g, 10, 0)
	})
}

// If a request is cancelled while it is admitted, its bytes must be released.
func TestFairSemaphoreReturnsToZero(t *testing.T) {
	g := newFairSemaphore(64, 256)
	var wg sync.WaitGroup
	admitted, refused, gaveUp := make(chan int, 100), make(chan int, 100), make(chan int, 100)
	for seed := range uint64(16) {
		wg.Go(func() {
			random, mine := rand.New(rand.NewPCG(seed, 1)), new(usage)
			var yes, no, late int
			for range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(100))*time.Microsecond)
				n := g.weight(1 + random.Int64N(100))
				switch err := g.acquire(ctx, mine, n); {
				case err == nil:
					yes++
					if random.IntN(4) == 0 {
						time.Sleep(time.Duration(random.IntN(100)) * time.Microsecond)
					}
					g.release(mine, n)
				case errors.Is(err, errQueueFull):
					no++
				default:
					late++
				}
				cancel()
			}
			admitted <- yes
			refused <- no
			gaveUp <- late
		})
	}
	wg.Wait()
	requireState(t, &g, 0, 0)
	require.Empty(t, g.waitingClients)
	sum := func(c chan int) (n int) {
		for range 16 {
			n += <-c
		}
		return n
	}
	yes, no, late := sum(admitted), sum(refused), sum(gaveUp)
	t.Logf("%d admitted, %d refused, %d gave up", yes, no, late)
	require.Equal(t, 16*500, yes+no+late)
	require.NotZero(t, yes)
	require.NotZero(t, late)
}

// TestFairSemaphoreIsFair uses a client with many requests and a client with few requests. The requests of the
// second client are admitted before waiting requests of the first client.
func TestFairSemaphoreIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFairSemaphore(12, 1000)
		greedy, modest := new(usage), new(usage)
		ctx := context.Background()
		order := make(chan string, 100)
		enter := func(name string, a *usage, n int64) {
			go func() {
				if g.acquire(ctx, a, n) == nil {
					order <- name
				}
			}()
			synctest.Wait()
		}
		for range 10 {
			enter("greedy", greedy, 3)
		}
		require.Len(t, order, 3, "a client has three quarters at most")
		enter("modest", modest, 3)
		require.Len(t, order, 4, "there is a part for another client")
		for range 4 {
			<-order
		}
		release := func(a *usage, want ...string) {
			t.Helper()
			g.release(a, 3)
			synctest.Wait()
			require.Len(t, order, len(want))
			for _, name := range want {
				require.Equal(t, name, <-order)
			}
		}
		release(greedy)
		release(greedy)
		release(greedy, "greedy") // a client has only a quarter while other clients are active
		release(greedy, "greedy")
		enter("modest", modest, 3)
		require.Empty(t, order, "it has its quarter")
		release(modest, "modest")
		release(modest)

		time.Sleep(2 * activePeriod)
		release(greedy, "greedy", "greedy", "greedy")
		release(greedy, "greedy")
		release(greedy, "greedy")
		release(greedy)
		release(greedy)
		release(greedy)
		requireState(t, &g, 0, 0)
	})
}

// TestFairSemaphoreOrder: two clients wait. A large amount was already admitted for one of them, and nothing for
// the other. So the other is admitted first.
func TestFairSemaphoreOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFairSemaphore(8, 100)
		before, after, full := new(usage), new(usage), new(usage)
		ctx := context.Background()
		require.NoError(t, g.acquire(ctx, before, 2))
		g.adjust(before, 10) // the batch was larger than expected
		g.release(before, 12)
		g.adjust(full, 8)
		order := make(chan string, 2)
		for name, a := range map[string]*usage{"before": before, "after": after} {
			go func() {
				if g.acquire(ctx, a, 2) == nil {
					order <- name
				}
			}()
		}
		synctest.Wait()
		g.release(full, 2)
		synctest.Wait()
		require.Equal(t, "after", <-order)
		g.release(full, 6)
		require.Equal(t, "before", <-order)
	})
}

// TestFairSemaphoreWaitingShare: the waiting requests of one client cannot use the whole waiting limit, so a
// request of another client can still wait.
func TestFairSemaphoreWaitingShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFairSemaphore(4, 8)
		g.adjust(new(usage), 4)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		greedy := new(usage)
		var group sync.WaitGroup
		refused := make(chan error, 8)
		for range 8 {
			group.Go(func() {
				if err := g.acquire(ctx, greedy, 1); errors.Is(err, errQueueFull) {
					refused <- err
				}
			})
		}
		synctest.Wait()
		require.Len(t, refused, 2)
		require.ErrorIs(t, g.acquire(ctx, new(usage), 2), context.DeadlineExceeded)
		group.Wait()
	})
}

// The semaphore stays fast if a client has many waiting requests, so other clients are admitted quickly.
func TestFairSemaphoreManyWaiters(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	with := func(waiters int) time.Duration {
		g := newFairSemaphore(4, math.MaxInt64)
		many, other := new(usage), new(usage)
		require.NoError(t, g.acquire(context.Background(), many, 1))
		for range waiters {
			require.NotNil(t, g.acquireOrEnqueue(many, 4))
		}
		least := time.Duration(math.MaxInt64)
		for range 5 { // other load of the machine can make a measurement longer
			began := time.Now()
			for range 200 {
				require.Nil(t, g.acquireOrEnqueue(other, 1))
				g.release(other, 1)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	few, many := with(10), with(20_000)
	t.Logf("%v with 10 waiters, %v with 20,000", few, many)
	require.Less(t, many, 20*few)
}

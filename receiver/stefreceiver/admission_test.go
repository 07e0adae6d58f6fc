// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func requireState(t *testing.T, a *admission, inFlight, waiting int64) {
	t.Helper()
	gotFlight, gotWaiting := a.state()
	require.Equal(t, inFlight, gotFlight, "in flight")
	require.Equal(t, waiting, gotWaiting, "waiting")
}

func TestAdmissionLastIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &admission{limit: 10, waitingLimit: 100}
		ctx := context.Background()
		require.NoError(t, a.acquire(ctx, 10))
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				if a.acquire(ctx, 10) == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		requireState(t, a, 10, 30)
		for _, want := range []int{2, 1, 0} {
			a.add(-10)
			synctest.Wait()
			require.Equal(t, want, <-order)
			requireState(t, a, 10, int64(10*want))
		}
		a.add(-10)
		requireState(t, a, 0, 0)
	})
}

func TestAdmissionRefuses(t *testing.T) {
	f := func(name string, limit, waitingLimit, n int64, want error) {
		t.Run(name, func(t *testing.T) {
			a := &admission{limit: limit, waitingLimit: waitingLimit}
			a.add(limit)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.ErrorIs(t, a.acquire(ctx, a.weight(n)), want)
			requireState(t, a, limit, 0)
		})
	}
	f("no room", 10, 0, 1, errNoRoom)
	f("too large for the room", 10, 5, 6, errNoRoom)
	f("larger than everything", 10, 9, 11, errNoRoom)
	f("room, but no time", 10, 5, 5, context.Canceled)
	f("larger than everything, with room", 10, 10, 11, context.Canceled)
}

func TestAdmissionWithoutLimit(t *testing.T) {
	a := &admission{}
	require.NoError(t, a.acquire(context.Background(), a.weight(1<<40)))
	require.NoError(t, a.acquire(context.Background(), a.weight(1<<40)))
	requireState(t, a, 1<<41, 0)
}

func TestAdmissionOfMoreThanEverything(t *testing.T) {
	a := &admission{limit: 10, waitingLimit: 10}
	n := a.weight(1000)
	require.NoError(t, a.acquire(context.Background(), n))
	requireState(t, a, 10, 0)
	a.add(-n)
	requireState(t, a, 0, 0)
}

func TestAdmissionIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &admission{limit: 10, waitingLimit: 10}
		require.NoError(t, a.acquire(context.Background(), 2))
		a.add(20) // it was larger than expected
		requireState(t, a, 22, 0)
		admitted := make(chan error, 1)
		go func() { admitted <- a.acquire(context.Background(), 1) }()
		synctest.Wait()
		requireState(t, a, 22, 1)
		a.add(-13)
		require.NoError(t, <-admitted)
		requireState(t, a, 10, 0)
	})
}

// Whoever gives up while being admitted must not take the bytes along.
func TestAdmissionReturnsToZero(t *testing.T) {
	a := &admission{limit: 64, waitingLimit: 256}
	var wg sync.WaitGroup
	admitted, refused, gaveUp := make(chan int, 100), make(chan int, 100), make(chan int, 100)
	for seed := range uint64(16) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			var yes, no, late int
			for range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(100))*time.Microsecond)
				n := a.weight(1 + random.Int64N(100))
				switch err := a.acquire(ctx, n); {
				case err == nil:
					yes++
					if random.IntN(4) == 0 {
						time.Sleep(time.Duration(random.IntN(100)) * time.Microsecond)
					}
					a.add(-n)
				case errors.Is(err, errNoRoom):
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
	requireState(t, a, 0, 0)
	require.Empty(t, a.room)
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

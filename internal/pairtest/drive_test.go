// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// load sends items with unique ids. It sends a batch again until push succeeds or fails permanently.
type load struct {
	workers, batches, items int
	deadline                time.Duration
	padding                 int           // number of bytes that are added to every id
	pause                   time.Duration // how long a worker pauses after each batch

	mu       sync.Mutex
	accepted []string // ids of the items of batches for which push returned nil
	refused  []string // ids of the items of permanently refused batches
	attempts int
}

// runLoad sends all batches and returns when each has a result.
func runLoad[T any](t *testing.T, d *load, x *exporterEnd[T]) {
	t.Helper()
	beginLoad(t, d, x)()
}

// beginLoad starts to send and returns a function that waits for the end.
func beginLoad[T any](t *testing.T, d *load, x *exporterEnd[T]) (wait func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d.deadline)
	var group sync.WaitGroup
	for w := range d.workers {
		group.Go(func() {
			for b := range d.batches {
				ids := make([]string, d.items)
				for i := range ids {
					ids[i] = fmt.Sprintf("%d-%d-%d%s", w, b, i, strings.Repeat("x", d.padding))
				}
				if err := deliver(ctx, d, x, ids); err != nil {
					t.Errorf("batch %d of worker %d: %v", b, w, err)
					return
				}
				time.Sleep(d.pause)
			}
		})
	}
	return func() {
		t.Helper()
		group.Wait()
		cancel()
		require.Len(t, d.accepted, d.workers*d.batches*d.items-len(d.refused), "every batch has one end")
	}
}

func deliver[T any](ctx context.Context, d *load, x *exporterEnd[T], ids []string) error {
	batch := x.kind.batch(ids)
	for {
		err := x.push(ctx, batch)
		d.mu.Lock()
		d.attempts++
		switch {
		case err == nil:
			d.accepted = append(d.accepted, ids...)
		case consumererror.IsPermanent(err):
			d.refused = append(d.refused, ids...)
		}
		d.mu.Unlock()
		if err == nil || consumererror.IsPermanent(err) {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		}
	}
}

// check requires that all acknowledged items have arrived, and that all items that were
// refused or reported as bad are counted as dropped. Unless broken is set, it also
// requires that all sent items have arrived, each exactly once.
func (d *load) check(t *testing.T, seen map[string]int, rejected map[string]bool, dropped int64, broken bool) {
	t.Helper()
	bad := 0
	for _, id := range d.accepted {
		require.NotZero(t, seen[id], "%s is acknowledged and lost", id)
		if rejected[id] {
			bad++
		}
	}
	require.Equal(t, int64(bad+len(d.refused)), dropped, "dropped items are counted")
	if broken {
		return
	}
	for id, n := range seen {
		require.Equal(t, 1, n, id)
	}
	require.Len(t, seen, d.workers*d.batches*d.items)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// at is a source with a log record at each of these times.
func at(times ...time.Duration) replay.Source {
	return func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			for _, after := range times {
				ld := plog.NewLogs()
				r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
				if after >= 0 { // a record with a negative time stays without a time
					r.SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(1_700_000_000, 0).Add(after)))
				}
				if !yield(otlpfile.LogsBatch(ld), nil) {
					return
				}
			}
		}
	}
}

// Times after the year 2262 do not count as times of the recording, because they are too far away
// for a shift. Programs in Go send such a time for an end that is not set: time.Time{} in
// nanoseconds.
func TestFarTimes(t *testing.T) {
	far := pcommon.NewTimestampFromTime(time.Time{})
	source := func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			ld := plog.NewLogs()
			records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
			records.AppendEmpty().SetTimestamp(1_700_000_000e9)
			records.AppendEmpty().SetTimestamp(far)
			yield(otlpfile.LogsBatch(ld), nil)
		}
	}
	var sent []pcommon.Timestamp
	p := replay.Player{Rounds: 2, Send: func(_ context.Context, b otlpfile.Batch) error {
		records := b.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
		require.Equal(t, far, records.At(1).Timestamp())
		sent = append(sent, records.At(0).Timestamp())
		return nil
	}}
	_, err := p.Play(t.Context(), source)
	require.NoError(t, err)
	require.Equal(t, []pcommon.Timestamp{1_700_000_000e9, 1_700_000_001e9}, sent)
}

// An interrupt also ends Play while it reads the times of the recordings. For large files, this
// takes long.
func TestEndsWhileReadingTimes(t *testing.T) {
	errEnd, read := errors.New("end"), 0
	ctx, end := context.WithCancelCause(t.Context())
	source := func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			for b := range at(make([]time.Duration, 9)...)() {
				if read++; read == 3 {
					end(errEnd)
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
	p := replay.Player{Pace: replay.Original, Send: func(context.Context, otlpfile.Batch) error { return nil }}
	_, err := p.Play(ctx, source, source)
	require.Equal(t, errEnd, err)
	require.Equal(t, 3, read)
}

// At the pace of the recording, a gap above an hour in which no source has a batch takes a
// second. All sources share one clock, and the times of the items do not change.
func TestGaps(t *testing.T) {
	const day = 24 * time.Hour
	f := func(rounds int, sources ...replay.Source) (sent []string, length time.Duration, skipped []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var mu sync.Mutex
			p := replay.Player{Pace: replay.Original, Rounds: rounds, Send: func(_ context.Context, b otlpfile.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				_, last := replay.Times(b)
				if last != 0 {
					last -= 1_700_000_000e9
				}
				sent = append(sent, fmt.Sprint(time.Duration(last), " at ", time.Since(begin)))
				return nil
			}, Length: func(d time.Duration) { length = d }, Skipped: func(source int, gap time.Duration) {
				skipped = append(skipped, fmt.Sprint(source, " ", gap))
			}}
			_, err := p.Play(t.Context(), sources...)
			require.NoError(t, err)
			require.Equal(t, length, time.Since(begin))
		})
		slices.Sort(sent)
		return sent, length, skipped
	}
	sent, length, skipped := f(1, at(0, time.Minute), at(6*day, 6*day+time.Minute))
	require.Equal(t, []string{"0s at 0s", "144h0m0s at 1m1s", "144h1m0s at 2m1s", "1m0s at 1m0s"}, sent)
	require.Equal(t, 121*time.Second, length)
	require.Equal(t, []string{"1 143h59m0s"}, skipped)

	// A gap of exactly an hour is not shortened, and a batch of another source divides a gap.
	sent, _, skipped = f(1, at(0, time.Hour, 3*time.Hour), at(2*time.Hour))
	require.Equal(t, []string{"0s at 0s", "1h0m0s at 1h0m0s", "2h0m0s at 2h0m0s", "3h0m0s at 3h0m0s"}, sent)
	require.Empty(t, skipped)
	sent, _, skipped = f(1, at(0, 2*time.Hour), at(10*time.Minute, 70*time.Minute+1))
	require.Equal(t, []string{"0s at 0s", "10m0s at 10m0s", "1h10m0.000000001s at 10m1s", "2h0m0s at 1h0m0.999999999s"}, sent)
	require.Equal(t, []string{"1 1h0m0.000000001s"}, skipped)

	// The source has batches without times, and its other batches are not in the order of their
	// times. Later rounds repeat the gaps without a report, and begin when the previous round ends.
	sent, length, skipped = f(2, at(-1, 3*day, 0, 5*time.Second, 2*day, -1))
	require.Equal(t, 2*7*time.Second, length)
	require.Equal(t, []string{"0 24h0m0s", "0 47h59m55s"}, skipped)
	require.Contains(t, sent, "72h0m0s at 7s")
	require.Contains(t, sent, "144h0m1s at 14s")
	require.Contains(t, sent, "0s at 0s") // the record without a time

	_, length, skipped = f(1, at(-1))
	require.Zero(t, length)
	require.Empty(t, skipped)
}

// If a batch is not delivered, the replay ends without waiting for the next batch. Batches in flight
// are still delivered.
func TestFailsInWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("gone")
		for _, pace := range []float64{replay.Original, 1.0 / 3000} {
			begin, calls := time.Now(), atomic.Int32{}
			p := replay.Player{Pace: pace, InFlight: 3, Send: func(ctx context.Context, _ otlpfile.Batch) error {
				if calls.Add(1) == 1 {
					time.Sleep(4000 * time.Second)
					return failure
				}
				select {
				case <-time.After(2000 * time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
			counts, err := p.Play(t.Context(), at(0, 3000*time.Second, 6000*time.Second))
			require.ErrorIs(t, err, failure)
			require.EqualValues(t, 1, counts.Batches)
			require.Equal(t, 5000*time.Second, time.Since(begin))
		}
	})
}

// In a long wait for a batch, a player checks the endpoint repeatedly, and does not begin a
// check when the batch is due.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var checks []time.Duration
		p := replay.Player{Pace: replay.Original, Send: func(context.Context, otlpfile.Batch) error { return nil }, Check: func(ctx context.Context) {
			checks = append(checks, time.Since(begin))
			until, _ := ctx.Deadline()
			require.Equal(t, begin.Add(45*time.Second), until)
			if len(checks) == 4 {
				<-ctx.Done() // the endpoint does not answer
			}
		}}
		_, err := p.Play(t.Context(), at(0, 45*time.Second))
		require.NoError(t, err)
		require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second}, checks)
		require.Equal(t, 45*time.Second, time.Since(begin))

		// After the last batch, Play waits without checking the endpoint.
		p.Pace, checks = 1.0/60, nil
		p.Check = func(context.Context) { t.Error("no batch follows") }
		_, err = p.Play(t.Context(), at(0))
		require.NoError(t, err)
	})
}

// A player is idle if no source has a batch that is due soon. While one source sends, the player
// is not idle, however long another source waits.
func TestIdle(t *testing.T) {
	f := func(pace float64, sending time.Duration, sources ...replay.Source) (waits []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var mu sync.Mutex
			p := replay.Player{Pace: pace, Send: func(context.Context, otlpfile.Batch) error {
				time.Sleep(sending)
				return nil
			}, Idle: func(left time.Duration, last bool) {
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, fmt.Sprint(left, " at ", time.Since(begin), " ", last))
			}}
			_, err := p.Play(t.Context(), sources...)
			require.NoError(t, err)
		})
		return waits
	}
	busy, late := at(0, 3*time.Second, 6*time.Second, 9*time.Second), at(30*time.Second)
	require.Equal(t, []string{"21s at 9s false"}, f(replay.Original, 0, busy, late))
	require.Equal(t, []string{"20s at 10s false"}, f(replay.Original, time.Second, late, busy))
	require.Equal(t, []string{"10s at 0s false", "10s at 10s false", "5s at 20s false"},
		f(replay.Original, 0, at(0, 10*time.Second, 20*time.Second), at(25*time.Second)))
	require.Empty(t, f(replay.Original, 0, at(0, 4*time.Second), at(time.Second, 5*time.Second)))
	require.Empty(t, f(replay.Original, 28*time.Second, busy, late)) // sending takes longer than the wait

	// If the pace is a number of items per second, it is the sum over both sources.
	waits := f(0.1, 0, at(0, 0), at(0, 0))
	require.Equal(t, []string{"10s at 0s false", "10s at 10s false", "10s at 20s false", "10s at 30s true"}, waits)
}

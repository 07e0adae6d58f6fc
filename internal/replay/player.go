// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Original is the pace of the recording: a batch is sent when its latest time is due, relative to
// the earliest time of all sources. A gap above MaxGap without a batch of any source takes one
// second.
const Original = -1

// Source is a recording that can be read several times.
type Source func() iter.Seq2[otlpfile.Batch, error]

// Player sends recordings. Send must be set.
type Player struct {
	// Send sends a batch and returns when it is delivered.
	Send func(context.Context, otlpfile.Batch) error
	// Pace is the number of items sent per second, over all sources and rounds. A batch is sent
	// whole. The next batch is sent when the time for the items before it has passed. Play ends
	// when the time for the last batch has passed. If Pace is 0, Play sends as fast as Send
	// delivers; if Pace is Original, as fast as the telemetry was recorded.
	Pace float64
	// InFlight is the number of batches of one source that are sent at a time. 0 means 1
	// for metrics, because points must stay in order, and 4 for other signals.
	InFlight int
	// Rounds is how many times the recordings are sent; 0 means once. Each
	// later round has new ids and later times than the previous round.
	Rounds int
	// Change is applied to every round.
	Change Change
	// Now shifts all times so that the recordings begin when Play is called.
	Now bool
	// Ready, if it is set, is called before the wait for the first batch. If Pace or other fields
	// require reading the recordings first, Ready is called after the recordings were read without
	// error. An error of Ready ends Play.
	Ready func(context.Context) error
	// Idle, if it is set, is called before a wait of IdleAfter or longer. If last is false, the
	// wait is for the next batch of any source. If last is true, all batches are sent, and the
	// time for the last batch has not passed yet, see Pace. Idle is not called while a source
	// sends. It may be called from several goroutines.
	Idle func(left time.Duration, last bool)
	// Length, if it is set and Pace is Original, is called before the first batch. Its argument
	// is the time that all rounds take.
	Length func(time.Duration)
	// Skipped, if it is set, is called after a gap above MaxGap was shortened. source is the index
	// of the source whose batch ends the gap. Skipped is called once for each gap, in the first
	// round. It may be called from several goroutines.
	Skipped func(source int, gap time.Duration)
	// Check, if it is set, is called every CheckEvery in a wait for the next batch. Its context
	// ends when the batch is due. Check may be called from several goroutines.
	Check func(context.Context)
	// Delivered, if it is set, is called when every batch is delivered, even if the time for
	// the last batch has not passed yet, see Pace.
	Delivered func()
}

// IdleAfter is the minimum wait for which Player.Idle is called.
const IdleAfter = 5 * time.Second

// CheckEvery is the time between two calls of Player.Check.
const CheckEvery = 10 * time.Second

// Counts says how much a player delivered.
type Counts struct {
	Batches, Items uint64
}

// SendError is the error of a batch that Player.Send did not deliver.
type SendError struct {
	Source int    // index of its source
	Round  int    // number of the round, from 1
	Batch  uint64 // its number in the source, from 1
	Err    error
}

func (e *SendError) Error() string { return fmt.Sprintf("batch %d: %v", e.Batch, e.Err) }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Play sends the recordings concurrently, each in its own order, until they
// end, ctx ends or an error occurs.
func (p *Player) Play(ctx context.Context, sources ...Source) (Counts, error) {
	times := &schedule{}
	if p.Pace == Original || p.Now || p.Rounds > 1 {
		var err error
		if times, err = scheduleOf(ctx, sources); err != nil {
			return Counts{}, err
		}
	}
	if p.Ready != nil {
		if err := p.Ready(ctx); err != nil {
			return Counts{}, cmp.Or(context.Cause(ctx), err)
		}
	}
	if p.Length != nil && p.Pace == Original {
		p.Length(time.Duration(max(p.Rounds, 1)) * times.due(times.last))
	}
	change := p.Change
	if p.Now && times.first != 0 {
		change.Shift += time.Since(times.first.AsTime())
	}
	var counts Counts
	var err error
	rate := &rate{pace: p.Pace, begin: time.Now()}
	for round := range max(p.Rounds, 1) {
		r := &playerRound{Player: p, rate: rate, change: change, times: times, begin: time.Now(), round: round + 1}
		if round > 0 {
			// One second between rounds, as between two exports.
			r.change.Shift += time.Duration(round) * (time.Duration(times.last-times.first) + time.Second)
			r.change.IDs = mix(change.IDs + uint64(round))
		}
		err = r.play(ctx, sources)
		counts.Batches += r.batches.Load()
		counts.Items += r.items.Load()
		if err != nil {
			return counts, err
		}
	}
	if p.Delivered != nil {
		p.Delivered()
	}
	if p.Pace > 0 {
		due := rate.due(0)
		p.idleFor(time.Until(due), true)
		err = p.until(ctx, due, true)
	}
	return counts, err
}

// rate is the schedule of a player with a Pace above 0, over all sources and rounds.
type rate struct {
	pace  float64
	begin time.Time
	sent  atomic.Uint64 // number of items
}

// due returns when the next batch is due, and counts its items.
func (r *rate) due(items int) time.Time {
	before := r.sent.Add(uint64(items)) - uint64(items)
	const longest = math.MaxInt64 / 2 // a longer time could overflow, and then the batch would be sent immediately
	return r.begin.Add(time.Duration(min(float64(before)/r.pace*float64(time.Second), longest)))
}

// playerRound is one round of a player.
type playerRound struct {
	*Player
	rate   *rate
	change Change
	times  *schedule
	begin  time.Time
	round  int
	idle   *idle

	batches, items atomic.Uint64
}

func (r *playerRound) play(ctx context.Context, sources []Source) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.idle = newIdle(len(sources))
	var group sync.WaitGroup
	for i, s := range sources {
		group.Go(func() {
			if err := r.source(ctx, i, s); err != nil {
				cancel(err)
				return
			}
			r.idleFor(r.idle.ends(i), false)
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (r *playerRound) source(ctx context.Context, index int, s Source) error {
	var group sync.WaitGroup
	defer group.Wait()
	// reading is canceled when a batch cannot be delivered. This ends the loop below, but batches in
	// flight are still delivered, because they use ctx.
	reading, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	slots := chan struct{}(nil)
	number := uint64(0)
	for b, err := range s() {
		if err != nil {
			return err
		}
		if slots == nil {
			slots = make(chan struct{}, r.inFlight(b.Signal))
		}
		if err := r.wait(reading, index, b); err != nil {
			return err
		}
		b.OTLP = nil // the source owns this memory
		r.change.Apply(&b)
		slots <- struct{}{}
		if reading.Err() != nil {
			return context.Cause(reading)
		}
		number++
		at := SendError{Source: index, Round: r.round, Batch: number}
		group.Go(func() {
			defer func() { <-slots }()
			if err := r.Send(ctx, b); err != nil {
				at.Err = err
				fail(&at)
				return
			}
			r.batches.Add(1)
			r.items.Add(uint64(b.Items()))
		})
	}
	group.Wait()
	return context.Cause(reading)
}

func (r *playerRound) inFlight(s otlpfile.Signal) int {
	switch {
	case r.InFlight > 0:
		return r.InFlight
	case s == otlpfile.Metrics:
		return 1
	}
	return 4
}

// wait waits until a batch of a source is due.
func (r *playerRound) wait(ctx context.Context, source int, b otlpfile.Batch) error {
	switch {
	case r.Pace == Original:
		_, last := Times(b)
		if err := r.next(ctx, source, r.begin.Add(r.times.due(last))); err != nil {
			return err
		}
		if g := r.times.skipped(last); g != nil && r.Skipped != nil {
			r.Skipped(source, g.length())
		}
		return nil
	case r.Pace > 0:
		return r.next(ctx, source, r.rate.due(b.Items()))
	}
	return context.Cause(ctx)
}

// next waits until the next batch of a source is due.
func (r *playerRound) next(ctx context.Context, source int, due time.Time) error {
	if time.Until(due) > 0 {
		r.idleFor(r.idle.waits(source, due), false)
		defer r.idle.sends(source)
	}
	return r.until(ctx, due, false)
}

func (p *Player) idleFor(left time.Duration, last bool) {
	if p.Idle != nil && left >= IdleAfter {
		p.Idle(left, last)
	}
}

// until waits until a time, and calls Check meanwhile, unless last says that no batch follows.
func (p *Player) until(ctx context.Context, due time.Time, last bool) error {
	left := time.Until(due)
	if left <= 0 {
		return context.Cause(ctx)
	}
	for ; left > 0; left = time.Until(due) {
		timer := time.NewTimer(min(left, CheckEvery))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		if p.Check != nil && !last && time.Until(due) > 0 {
			check, stop := context.WithDeadline(ctx, due)
			p.Check(check)
			stop()
		}
	}
	return nil
}

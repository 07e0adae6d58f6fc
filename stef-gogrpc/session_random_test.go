// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// world is the destination of the random test. For each batch it stores the records that arrived on
// any stream. The random decisions of a stream or a caller depend only on the seed and on the number
// of this stream or caller.
type world struct {
	t    *testing.T
	seed uint64
	rig  *rig

	mu       sync.Mutex
	seen     map[int]map[int]bool    // streams by batch
	accepted map[int]map[uint64]bool // records by batch
	reported map[int]map[uint64]bool // records that were reported as bad, by batch
	over     bool                    // Shutdown has returned
	problems []string
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) bad(batch int, record uint64) bool {
	switch batch % 7 {
	case 0:
		return record%5 == 2
	case 1:
		return batch%3 == 0
	}
	return false
}

// server simulates the peer of one stream.
type server struct {
	*fakeStream
	world  *world
	random *rand.Rand
	more   chan struct{}
	next   int // index of the next frame to process
	done   uint64
	unsaid []badRecord
}

type badRecord struct {
	id     uint64
	batch  int
	record uint64
}

func (w *world) serve(s *fakeStream) {
	sv := &server{
		fakeStream: s,
		world:      w,
		random:     rand.New(rand.NewPCG(w.seed, uint64(s.number))),
		more:       make(chan struct{}, 1),
	}
	s.deafen()
	s.tell(func(f frame) {
		w.arrive(s.number, f)
		signal(sv.more)
	})
	go sv.run()
}

// arrive records a frame before the server processes it.
func (w *world) arrive(stream int, f frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.problem("a frame after the end of the session")
	}
	for _, b := range f.batches {
		if w.seen[b.id] == nil {
			w.seen[b.id] = map[int]bool{}
		}
		w.seen[b.id][stream] = true
		for i := range b.records {
			if w.reported[b.id][b.index+i] {
				w.problem("record %d of batch %d was reported bad and is sent again", b.index+i, b.id)
			}
		}
	}
}

// pause waits for a random time below most. It reports whether the stream ended during this time.
func (sv *server) pause(most time.Duration) (over bool) {
	timer := time.NewTimer(time.Duration(sv.random.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-sv.Done():
		return true
	}
}

func (sv *server) run() {
	for {
		list := sv.frameList()
		if sv.next == len(list) {
			if sv.halfClosed() {
				sv.answer(sv.done)
				sv.fakeStream.end(nil)
				return
			}
			timer := time.NewTimer(100 * time.Millisecond) // then check again for a half-close
			select {
			case <-sv.more:
			case <-timer.C:
			case <-sv.Done():
				return
			}
			continue
		}
		if sv.pause(200*time.Millisecond) || sv.mishap(list[sv.next]) {
			return
		}
		sv.take(list[sv.next])
		sv.next++
		switch {
		case sv.random.IntN(3) == 0: // no answer; the next answer includes this frame
		case sv.random.IntN(5) == 0:
			sv.answer(0)
			sv.answer(sv.done)
		default:
			sv.answer(sv.done)
		}
	}
}

func (sv *server) take(f frame) {
	w := sv.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range f.batches {
		for i := range b.records {
			sv.done++
			record := b.index + i
			if w.bad(b.id, record) {
				sv.unsaid = append(sv.unsaid, badRecord{sv.done, b.id, record})
				continue
			}
			if w.accepted[b.id] == nil {
				w.accepted[b.id] = map[uint64]bool{}
			}
			w.accepted[b.id][record] = true
		}
	}
}

// answer reports bad records and acknowledges all records up to acked.
func (sv *server) answer(acked uint64) {
	var ranges []IDRange
	for _, x := range sv.unsaid {
		ranges = append(ranges, IDRange{From: x.id, To: x.id})
	}
	sv.random.Shuffle(len(ranges), func(i, j int) { ranges[i], ranges[j] = ranges[j], ranges[i] })
	if !sv.respond(acked, ranges...) {
		return
	}
	w := sv.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range sv.unsaid {
		if w.reported[x.batch] == nil {
			w.reported[x.batch] = map[uint64]bool{}
		}
		w.reported[x.batch][x.record] = true
	}
	sv.unsaid = nil
}

// mishap may simulate a failure instead of processing the next frame. It reports
// whether the stream ended.
func (sv *server) mishap(f frame) (over bool) {
	switch sv.random.IntN(80) {
	case 0:
		sv.answer(sv.done - min(sv.done, sv.random.Uint64N(8)))
		sv.end(unavailable())
	case 1:
		sv.answer(sv.done - min(sv.done, sv.random.Uint64N(8)))
		sv.end(nil)
	case 2:
		sv.answer(sv.done)
		sv.end(errorf(KindClosed, "reopen"))
	case 3: // accepts the frame, and ends the stream before it acknowledges
		sv.answer(sv.done)
		sv.take(f)
		sv.end(retryAfter(time.Duration(sv.random.IntN(1000)) * time.Millisecond))
	case 4:
		return sv.pause(time.Minute)
	case 5:
		sv.block()
		over = sv.pause(30 * time.Second)
		sv.unblock()
		return over
	default:
		return false
	}
	return true
}

func (w *world) open(ctx context.Context, n int, s *fakeStream) error {
	random := rand.New(rand.NewPCG(w.seed, 1<<32+uint64(n)))
	select {
	case <-time.After(time.Duration(random.IntN(500)) * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch random.IntN(12) {
	case 0:
		return unavailable()
	case 1:
		return retryAfter(time.Duration(random.IntN(3000)) * time.Millisecond)
	case 2:
		return errorf(KindAuth, "a token that is out of date")
	}
	w.serve(s)
	return nil
}

type ending struct {
	load
	err error
}

func (w *world) caller(number, batches int) (list []ending) {
	random := rand.New(rand.NewPCG(w.seed, 2<<32+uint64(number)))
	for i := range batches {
		b := load{id: 1 + number*batches + i, records: random.Uint64N(20), bytes: 1 + random.IntN(3000)}
		switch random.IntN(40) {
		case 0:
			b.err, b.written = &BatchError{Err: errors.New("poison")}, random.Uint64N(3)
		case 1:
			b.err = errors.New("the encoder failed")
		case 2:
			b.cut = b.records > 1
		case 3:
			b.slow = time.Duration(random.IntN(90)) * time.Millisecond // less than Shutdown waits
		}
		patience := 40 * time.Second
		if random.IntN(6) == 0 {
			patience = time.Duration(random.IntN(1000)) * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		began := time.Now()
		err := w.rig.session.Send(ctx, b)
		cancel()
		if took := time.Since(began); took > patience+w.rig.config.AckTimeout {
			w.mu.Lock()
			w.problem("Send took %v, its context %v", took, patience)
			w.mu.Unlock()
		}
		list = append(list, ending{b, err})
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
	return list
}

// judge compares the result of a batch with what the destination received.
func (w *world) judge(o ending) (kind eventKind) {
	accepted, seen := w.accepted[o.id], w.seen[o.id]
	if len(seen) > 1+w.rig.config.Streams {
		w.problem("batch %d was sent on %d streams", o.id, len(seen))
	}
	var rejected *RejectedError
	var bad *BatchError
	var unsent *UnsentError
	var ranges []IDRange
	from := uint64(0) // the state of the records from here on is unknown
	switch {
	case o.err == nil:
		kind, from = eventAcknowledged, o.records
	case errors.As(o.err, &rejected):
		kind, from, ranges = eventRejected, o.records, rejected.Ranges
	case errors.As(o.err, &bad):
		if o.load.err == nil {
			w.problem("batch %d was in order", o.id)
		}
		return eventBatchError
	case errors.As(o.err, &unsent):
		kind, from, ranges = eventHandedBack, unsent.Acknowledged, unsent.Rejected
		if !unsent.MaybeDelivered && len(seen) > 0 && o.load.err == nil {
			w.problem("batch %d was sent, and handed back as not sent: %v", o.id, o.err)
		}
	default:
		w.problem("batch %d: %v", o.id, o.err)
	}
	told := map[uint64]bool{}
	for _, r := range ranges {
		for n := r.From; n <= r.To; n++ {
			told[n-1] = true
		}
	}
	for n := range o.records {
		switch isBad := w.bad(o.id, n); {
		case told[n] && !isBad:
			w.problem("batch %d: record %d is good and was rejected", o.id, n)
		case n < from && isBad && !told[n]:
			w.problem("batch %d: record %d is bad and was accepted", o.id, n)
		case n < from && !isBad && !accepted[n]:
			w.problem("batch %d: record %d was acknowledged and not delivered", o.id, n)
		}
	}
	return kind
}

// TestSessionRandom: at random times streams break, stall and end, destinations accept, reject and
// refuse, callers cancel, and encoders fail. Each Send returns exactly once, its result matches what
// the destination received, and all resources are released.
func TestSessionRandom(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	if os.Getenv("STEF_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomSession(t, seed) })
		})
	}
}

func randomSession(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3<<32))
	r := newRig(t)
	w := &world{
		t: t, seed: seed, rig: r,
		seen: map[int]map[int]bool{}, accepted: map[int]map[uint64]bool{}, reported: map[int]map[uint64]bool{},
	}
	r.onOpen = w.open
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 4<<32))
	r.config.Rand = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return chance.Float64()
	}
	r.config.Streams = 1 + random.IntN(4)
	r.config.MaxLifetime = time.Duration(random.IntN(3)) * 5 * time.Second
	r.config.LifetimeJitter, r.config.Backoff.Jitter = 0.5, 0.5
	r.config.FlushInterval = time.Duration(random.IntN(3)) * 30 * time.Millisecond
	r.config.EarlyFrames = random.IntN(3) - 1
	r.config.FlushBytes = random.IntN(3) * 4000
	r.config.Senders = random.IntN(3) * 15 // the actual number of callers is 30
	r.config.MaxUnackedBatches = 1 + random.IntN(30)
	r.config.MaxUnackedBytes = random.Int64N(3) * 10000
	r.config.ProbeInterval = time.Second
	r.start()

	const callers, batches = 30, 20
	endings := make([][]ending, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { endings[i] = w.caller(i, batches) })
	}
	if seed%2 == 0 {
		group.Wait()
	} else {
		time.Sleep(time.Duration(random.IntN(60)) * time.Second) // the shutdown interrupts the callers
	}
	_, _ = r.shutdown(2 * time.Second)
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	group.Wait()

	sums := map[eventKind]int{}
	for _, list := range endings {
		for _, o := range list {
			sums[w.judge(o)]++
		}
	}
	require.Empty(t, w.problems)
	state := r.session.Stats()
	require.Equal(t, callers*batches, sums[eventAcknowledged]+sums[eventRejected]+sums[eventBatchError]+sums[eventHandedBack])
	for kind, n := range map[eventKind]uint64{
		eventAcknowledged: state.Acknowledged, eventRejected: state.Rejected, eventBatchError: state.BatchErrors,
		eventHandedBack: state.HandedBack, eventRedispatched: state.Redispatched, eventOpened: state.Opened,
	} {
		require.EqualValues(t, n, r.count(kind), "%v", kind)
		if kind != eventRedispatched && kind != eventOpened {
			require.EqualValues(t, n, sums[kind], "%v", kind)
		}
	}
	t.Log(sums, "redispatched", state.Redispatched, "closed", state.Closed)
}

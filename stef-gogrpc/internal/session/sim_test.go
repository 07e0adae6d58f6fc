// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-gogrpc/internal/ledger"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// sim runs the machine of a session in simulated time: senders take time to encode and to end
// frames, and each frame is acknowledged after a round trip.
type sim struct {
	machine *Machine
	random  *rand.Rand
	now     time.Time
	todo    events
	order   int
	trip    time.Duration
	senders []*simSender

	submitted map[*Batch]time.Time
	delivered func(*Batch)
	latency   []time.Duration
	frames    int
}

type simSender struct {
	stream *Stream
	ledger *ledger.Sender
	last   uint64
	busy   bool
	wakeID int // changes when the sender wakes, so that earlier timers do nothing
}

// The time that a sender needs to encode a batch, and to end a frame.
const (
	simEncode = 30 * time.Microsecond
	simFlush  = 50 * time.Microsecond
)

type simEvent struct {
	at    time.Time
	order int
	do    func()
}

type events []simEvent

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(simEvent)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newSim(seed uint64, c Config, trip time.Duration) *sim {
	s := &sim{random: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(0, 0), trip: trip, submitted: map[*Batch]time.Time{}}
	c.MaxUnackedBatches, c.MaxUnackedBytes, c.FlushBytes = 128, -1, -1
	c.AckTimeout, c.DrainTimeout, c.IdleTimeout = time.Hour, time.Hour, -1
	s.machine = New(c)
	for i := range c.Streams {
		x := &simSender{ledger: new(ledger.Sender)}
		x.ledger.Hold()
		x.stream = NewStream(x, i, x.ledger)
		s.senders = append(s.senders, x)
		var out Decisions
		s.machine.Opened(x.stream, nil, s.now, &out)
		s.carryOut(&out)
	}
	return s
}

func (s *sim) after(d time.Duration, do func()) {
	s.order++
	heap.Push(&s.todo, simEvent{s.now.Add(d), s.order, do})
}

func (s *sim) run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.todo) > 0 && s.todo[0].at.Before(end) {
		e := heap.Pop(&s.todo).(simEvent)
		s.now = e.at
		e.do()
	}
}

func (s *sim) submit() {
	b := &Batch{}
	s.submitted[b] = s.now
	var out Decisions
	s.machine.Submit(b, false, s.now, &out)
	s.carryOut(&out)
}

func (s *sim) carryOut(out *Decisions) {
	for i := range out.Len() {
		switch d := out.At(i); d.Kind {
		case WakeSender:
			x := d.Stream.Owner.(*simSender)
			x.wakeID++
			if id := x.wakeID; !x.busy {
				s.after(0, func() { s.work(x, id) })
			}
		case Delivered:
			s.latency = append(s.latency, s.now.Sub(s.submitted[d.Batch]))
			delete(s.submitted, d.Batch)
			if s.delivered != nil {
				s.delivered(d.Batch)
			}
		}
	}
}

func (s *sim) work(x *simSender, id int) {
	if x.busy || id != x.wakeID {
		return
	}
	var out Decisions
	b, _ := s.machine.Take(x.stream, s.now, &out)
	s.carryOut(&out)
	if b != nil {
		x.busy = true
		s.after(simEncode, func() {
			x.busy = false
			x.last += 10
			var out Decisions
			s.machine.Encoded(x.stream, b, Encoding{Last: x.last, Bytes: 100, SentTo: x.ledger.Sent(), Buffered: 1}, s.now, &out)
			s.carryOut(&out)
			s.flush(x, false)
		})
		return
	}
	s.flush(x, true)
}

func (s *sim) flush(x *simSender, idle bool) {
	var out Decisions
	wait, due := s.machine.FlushIn(x.stream, idle, 0, s.now, &out)
	s.carryOut(&out)
	x.wakeID++
	id := x.wakeID
	switch {
	case due:
		x.busy = true
		last := x.last
		if err := x.ledger.Send(last, 1); err != nil {
			panic(err)
		}
		s.after(simFlush, func() {
			x.busy = false
			s.frames++
			var out Decisions
			s.machine.Flushed(x.stream, Encoding{}, s.now, &out)
			s.carryOut(&out)
			s.after(s.trip, func() {
				news, _, err := x.ledger.Receive(wire.Response{Acked: last})
				if err != nil {
					panic(err)
				}
				var out Decisions
				s.machine.Answered(x.stream, news, s.now, &out)
				s.carryOut(&out)
			})
			x.wakeID++
			s.work(x, x.wakeID)
		})
	case !idle:
		s.work(x, id)
	case wait < time.Hour:
		s.after(wait, func() { s.work(x, id) })
	}
}

// open submits a batch after each gap. It does not wait for the results of earlier batches.
func (s *sim) open(gap func() time.Duration) {
	var next func()
	next = func() {
		s.submit()
		s.after(gap(), next)
	}
	next()
}

// bursts submits n batches at random times within spread. It repeats this again and again; every is
// the period.
func (s *sim) bursts(n int, every, spread time.Duration) {
	var next func()
	next = func() {
		for range n {
			s.after(time.Duration(s.random.Int64N(int64(spread))), s.submit)
		}
		s.after(every, next)
	}
	next()
}

// closed starts n callers. After each answer, a caller waits for about the time think, and then
// submits its next batch.
func (s *sim) closed(n int, think time.Duration) {
	s.delivered = func(*Batch) {
		s.after(time.Duration((0.5+s.random.Float64())*float64(think)), s.submit)
	}
	for range n {
		s.submit()
	}
}

// TestFrames checks how many batches share a frame, and how long they wait, under several loads.
// If batches are submitted one by one, a frame waits for the whole FlushInterval. Bursts, and batches
// of callers that wait for answers, wait a shorter time.
func TestFrames(t *testing.T) {
	const ms = time.Millisecond
	for _, trip := range []time.Duration{ms / 3, ms, 20 * ms} {
		check := func(name string, streams int, load func(*sim), mostFrames float64, mostLatency time.Duration) {
			t.Run(fmt.Sprintf("%s, trip %v, %d streams", name, trip, streams), func(t *testing.T) {
				s := newSim(1, Config{FlushInterval: 50 * ms, EarlyFrames: 4, Streams: streams}, trip)
				load(s)
				s.run(time.Second) // to measure gaps and callers
				s.frames, s.latency = 0, nil
				s.run(10 * time.Second)
				n := len(s.latency)
				var sum time.Duration
				for _, l := range s.latency {
					sum += l
				}
				perBatch, mean := float64(s.frames)/float64(n), sum/time.Duration(n)
				t.Logf("%d batches, %.4f frames per batch, latency %v", n, perBatch, mean)
				require.Greater(t, n, 50)
				require.LessOrEqual(t, perBatch, mostFrames)
				require.LessOrEqual(t, mean, mostLatency+trip)
			})
		}
		for _, streams := range []int{1, 3} {
			for _, gap := range []time.Duration{ms / 2, ms, 2 * ms, 5 * ms, 20 * ms} {
				regular := func(s *sim) { s.open(func() time.Duration { return gap }) }
				random := func(s *sim) {
					s.open(func() time.Duration { return time.Duration(s.random.ExpFloat64() * float64(gap)) })
				}
				// A frame contains the batch that begins it and the batches of the FlushInterval after it.
				most := 1.12 / float64(1+max(0, 50*ms-1)/gap/time.Duration(streams))
				check(fmt.Sprint("regular ", gap), streams, regular, most, 51*ms)
				check(fmt.Sprint("random ", gap), streams, random, 1.25*most, 51*ms)
				check(fmt.Sprint("bursts, then regular ", gap), streams, func(s *sim) {
					s.bursts(8, time.Hour, ms)
					s.after(200*ms, func() { regular(s) })
				}, most, 51*ms)
			}
			for _, period := range []time.Duration{60 * ms, 100 * ms, time.Second} {
				check(fmt.Sprintf("bursts of 8 every %v", period), streams, func(s *sim) { s.bursts(8, period, ms/2) },
					2.5*float64(streams)/8, 3*ms) // after a pause, the first frames do not wait
			}
		}
		for _, n := range []int{1, 4, 16} {
			check(fmt.Sprintf("%d callers that wait", n), 1, func(s *sim) { s.closed(n, ms/10) }, 1.02/float64(n), 2*ms)
		}
	}
}

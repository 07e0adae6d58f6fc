// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// settings are the current settings and counters of one direction of the network. All connections use
// them.
type settings struct {
	window  int
	base    time.Duration // delay of the link, one way
	stalled atomic.Bool
	delay   atomic.Int64 // delay including base
	jitter  atomic.Int64
	rate    atomic.Int64

	delivered, held, lost atomic.Int64
}

// Faults are the settings and counters of a network. A change takes effect
// immediately, on open connections and on later connections. All methods are safe
// for concurrent use.
type Faults struct {
	link     Link
	up, down settings

	mu      sync.Mutex
	random  *rand.Rand
	refuse  bool
	ended   bool
	opened  int
	kills   [2]byteRange // kills of the directions up and down
	open    map[*pair]struct{}
	changed chan struct{} // closed when a setting changes for which a dialer may wait
}

// byteRange is a range of numbers of bytes. It is empty if max is 0.
type byteRange struct{ min, max int64 }

func newFaults(link Link) (*Faults, error) {
	link, err := link.check()
	if err != nil {
		return nil, err
	}
	f := &Faults{
		link: link, random: rand.New(rand.NewPCG(link.Seed, 0)),
		open: map[*pair]struct{}{}, changed: make(chan struct{}),
	}
	for _, k := range f.settings(Both) {
		k.window = link.Window
		k.base = link.RoundTrip / 2
		k.jitter.Store(int64(link.Jitter))
		k.delay.Store(int64(k.base))
		k.rate.Store(link.BytesPerSecond)
	}
	return f, nil
}

func (f *Faults) settings(d Direction) []*settings { return pick(d, &f.up, &f.down) }

// each makes waiting dialers check the settings again. Then it calls the function do for every
// open connection, in any order, and returns the number of connections.
func (f *Faults) each(do func(*pair)) int {
	f.mu.Lock()
	close(f.changed)
	f.changed = make(chan struct{})
	pairs := slices.Collect(maps.Keys(f.open))
	f.mu.Unlock()
	for _, p := range pairs {
		do(p)
	}
	return len(pairs)
}

// eachLine calls the function do for a direction of every open connection, and returns the number
// of connections.
func (f *Faults) eachLine(d Direction, do func(*line)) int {
	return f.each(func(p *pair) {
		for _, l := range p.lines(d) {
			do(l)
		}
	})
}

// Cut ends all open connections immediately, like a router that lost its state:
// both ends get an error, and bytes in flight are lost. It returns the number of
// connections that it cut.
func (f *Faults) Cut() int {
	return f.each(func(p *pair) { p.cut(opError("read", syscall.ECONNRESET)) })
}

// Refuse makes new connections fail, or succeed again if on is false. The port of
// a proxy stays open: the proxy accepts a connection and then resets it.
func (f *Faults) Refuse(on bool) {
	f.mu.Lock()
	f.refuse = on
	f.mu.Unlock()
	f.each((*pair).wakeEnds)
}

// Stall holds back everything in a direction. The ends notice only silence;
// writers wait once the window is full. No connection is opened while either
// direction is stalled.
func (f *Faults) Stall(d Direction) { f.stall(d, true) }

// Resume ends a stall.
func (f *Faults) Resume(d Direction) { f.stall(d, false) }

func (f *Faults) stall(d Direction, on bool) {
	for _, k := range f.settings(d) {
		k.stalled.Store(on)
	}
	f.each((*pair).wakeEnds)
}

// Delay adds extra to the link's latency for bytes written from now on; 0 ends
// the delay.
func (f *Faults) Delay(d Direction, extra time.Duration) {
	for _, k := range f.settings(d) {
		k.delay.Store(int64(k.base + max(0, extra)))
	}
}

// Rate bounds the bytes per second of every connection in a direction; 0
// restores the rate of the link.
func (f *Faults) Rate(d Direction, bytesPerSecond int64) {
	if bytesPerSecond <= 0 {
		bytesPerSecond = f.link.BytesPerSecond
	}
	for _, k := range f.settings(d) {
		k.rate.Store(bytesPerSecond)
	}
	f.each((*pair).wakeEnds)
}

// HalfClose ends a direction of all open connections: the reader gets io.EOF
// after the bytes in flight, and later bytes from the writer are discarded.
func (f *Faults) HalfClose(d Direction) int { return f.eachLine(d, (*line).halfClose) }

// Repeat delivers the next write of a direction twice, on all open connections,
// like a broken device between the ends. TCP never does this.
func (f *Faults) Repeat(d Direction) int { return f.eachLine(d, (*line).repeatNext) }

// KillAfter cuts every open connection when exactly n more bytes of a direction
// have been read.
func (f *Faults) KillAfter(d Direction, n int64) int {
	return f.eachLine(d, func(l *line) { l.killAfter(n) })
}

// KillEach cuts every connection that is opened from now on, after a random number of bytes from
// least to most. If most is 0, it no longer cuts new connections.
func (f *Faults) KillEach(d Direction, least, most int64) error {
	if least < 0 || most < least {
		return fmt.Errorf("netfault: kill after %d to %d bytes: the first number must be 0 or more, the second at least as large", least, most)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kill := range pick(d, &f.kills[0], &f.kills[1]) {
		*kill = byteRange{least, most}
	}
	return nil
}

// Clear ends every lasting fault.
func (f *Faults) Clear() {
	f.Refuse(false)
	f.Delay(Both, 0)
	f.Rate(Both, 0)
	_ = f.KillEach(Both, 0, 0)
	f.Resume(Both)
}

// Conns is the number of open connections.
func (f *Faults) Conns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

// Opened is the number of connections ever opened.
func (f *Faults) Opened() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened
}

// Bytes counts the bytes read in a direction, over all connections ever opened.
func (f *Faults) Bytes(d Direction) int64 {
	return f.sum(d, func(k *settings) int64 { return k.delivered.Load() })
}

// Held counts the bytes written in a direction and not read yet.
func (f *Faults) Held(d Direction) int64 {
	return f.sum(d, func(k *settings) int64 { return k.held.Load() })
}

// Lost counts the bytes written in a direction that will never be read.
func (f *Faults) Lost(d Direction) int64 {
	return f.sum(d, func(k *settings) int64 { return k.lost.Load() })
}

func (f *Faults) sum(d Direction, of func(*settings) int64) int64 {
	var n int64
	for _, k := range f.settings(d) {
		n += of(k)
	}
	return n
}

// randomIn returns a random number from a range: the byte count of a direction at which the next
// connection is cut. It returns -1 if the range is empty.
func (f *Faults) randomIn(s byteRange) int64 {
	if s.max == 0 {
		return -1
	}
	return s.min + f.random.Int64N(s.max-s.min+1)
}

// connect opens a connection immediately.
func (f *Faults) connect() (*pair, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse || f.ended {
		return nil, opError("dial", syscall.ECONNREFUSED)
	}
	f.opened++
	p := &pair{faults: f, number: f.opened}
	seed := func(side uint64) *rand.Rand {
		return rand.New(rand.NewPCG(f.link.Seed, uint64(f.opened)<<1|side))
	}
	p.up = newLine(&f.up, seed(0), f.randomIn(f.kills[0]), p.cut)
	p.down = newLine(&f.down, seed(1), f.randomIn(f.kills[1]), p.cut)
	p.up.back, p.down.back = p.down, p.up
	f.open[p] = struct{}{}
	return p, nil
}

func (f *Faults) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.each(func(p *pair) { p.cut(opError("read", io.ErrClosedPipe)) })
}

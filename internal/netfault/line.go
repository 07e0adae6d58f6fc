// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// minWindow is the minimum window on a slow link, so that writers do not block after each packet.
const minWindow = 64 << 10

// maxStep is the longest time within which bytes of several writes get the same arrival time,
// like the packets for which a network card raises one interrupt. Waking the reader for each
// packet would dominate the cost.
const maxStep = 100 * time.Microsecond

// line is one direction of one connection.
type line struct {
	settings *settings
	back     *line       // the other direction
	cut      func(error) // ends the whole connection

	reading, writing sync.Mutex // one reader and one writer at a time
	readable         signal
	writable         signal
	timer            timer // wakes the reader; created on first use

	mu         sync.Mutex
	fifo       fifo
	random     *rand.Rand
	written    int64
	read       int64
	sentAt     time.Time // time at which all bytes written so far are sent, if there is a rate
	due        time.Time // due time of the last written byte
	end        error     // error for the reader after the last byte
	endDue     time.Time // when the reader gets end
	err        error     // if the connection was cut: the immediate error for both ends
	readErr    error     // if the reader closed its end: the error of later reads
	discard    bool      // half-closed by a fault: writes succeed and are discarded
	repeat     bool      // deliver the next write twice
	killAt     int64     // cut when this many bytes were read; negative: never
	timerEnded bool
}

// signal wakes one goroutine, now or at its next wait.
type signal chan struct{}

func (s signal) wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func newLine(k *settings, r *rand.Rand, kill int64, cut func(error)) *line {
	return &line{
		settings: k, cut: cut, random: r, killAt: kill,
		readable: make(signal, 1), writable: make(signal, 1),
	}
}

// wakeEnds wakes the reader and the writer of the line, so that they check its state and settings.
func (l *line) wakeEnds() {
	l.readable.wake()
	l.writable.wake()
}

// Read waits for bytes that have arrived.
func (l *line) Read(p []byte, limit *deadline) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	for {
		if limit.passed() {
			return 0, os.ErrDeadlineExceeded
		}
		n, next, err := l.receive(p)
		switch {
		case err != nil:
			return 0, err
		case n > 0 || len(p) == 0:
			return n, nil
		}
		l.await(next, limit)
	}
}

// await waits until there is a signal, the deadline passes, or the time next is reached. If next
// is zero, it waits only for a signal or the deadline.
func (l *line) await(next time.Time, limit *deadline) {
	var fired <-chan time.Time
	if !next.IsZero() {
		wait := time.Until(next)
		if wait < spinBelow && !fakeClock() {
			spin(next)
			return
		}
		a := l.ownTimer()
		if a == nil {
			return
		}
		a.set(wait)
		fired = a.fired()
	}
	select {
	case <-fired:
	case <-l.readable:
	case <-limit.wait():
	}
}

func (l *line) ownTimer() timer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil && !l.timerEnded {
		l.timer = newTimer()
	}
	if l.timerEnded {
		return nil
	}
	return l.timer
}

// receive moves the bytes that may be read now to p. If there are no such bytes, next is the time to
// check again. next is zero if the line is stalled, or if nothing is in flight: neither bytes nor the end
// of the stream.
func (l *line) receive(p []byte) (n int, next time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return 0, next, l.err
	case l.readErr != nil:
		return 0, next, l.readErr
	}
	if l.settings.stalled.Load() {
		return 0, next, nil
	}
	if l.fifo.size == 0 {
		if l.end != nil && l.endDue.After(time.Now()) {
			return 0, l.endDue, nil
		}
		return 0, next, l.end
	}
	ready, next := l.fifo.due(l.read, time.Now())
	if ready == 0 || len(p) == 0 {
		return 0, next, nil
	}
	ready = min(ready, int64(len(p)))
	if l.killAt >= 0 {
		ready = min(ready, l.killAt-l.read)
	}
	n = l.fifo.read(p[:ready])
	l.read += int64(n)
	l.settings.delivered.Add(int64(n))
	l.settings.held.Add(-int64(n))
	l.writable.wake()
	if l.killAt >= 0 && l.read >= l.killAt {
		err := opError("read", syscall.ECONNRESET)
		l.err = err
		l.drop()
		go l.cut(err)
		if n == 0 {
			return 0, next, err
		}
	}
	return n, next, nil
}

// Write sends all of p and blocks while the window is full.
func (l *line) Write(p []byte, limit *deadline) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	total := 0
	for {
		if limit.passed() {
			return total, os.ErrDeadlineExceeded
		}
		n, err := l.enqueue(p[total:])
		total += n
		if err != nil || total == len(p) {
			return total, err
		}
		select {
		case <-l.writable:
		case <-limit.wait():
		}
	}
}

// enqueue stores as much of p as the window allows.
func (l *line) enqueue(p []byte) (int, error) {
	notified := l.back.ended()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return 0, l.err
	case l.end != nil && !l.discard:
		return 0, opError("write", net.ErrClosed)
	case l.readErr != nil && notified:
		return 0, opError("write", syscall.EPIPE)
	case l.readErr != nil || l.discard:
		l.settings.lost.Add(int64(len(p)))
		return len(p), nil
	}
	rate, delay := l.settings.rate.Load(), time.Duration(l.settings.delay.Load())
	room := l.settings.window
	if rate > 0 {
		room = min(room, max(minWindow, int((float64(rate)*(delay+50*time.Millisecond).Seconds()))))
	}
	n := min(len(p), room-l.fifo.size)
	if n <= 0 {
		return 0, nil
	}
	idle := l.fifo.size == 0
	times := 1
	if l.repeat {
		l.repeat, times = false, 2
	}
	for range times {
		l.fifo.write(p[:n])
		l.schedule(n, rate, delay)
		l.settings.held.Add(int64(n))
	}
	// Do not wake a reader that waits until earlier bytes are due: it checks again at that
	// time.
	if idle {
		l.readable.wake()
	}
	return n, nil
}

// schedule decides when the n bytes just written can be read.
func (l *line) schedule(n int, rate int64, delay time.Duration) {
	now := time.Now()
	if jitter := l.settings.jitter.Load(); jitter > 0 {
		delay += time.Duration(l.random.Int64N(jitter + 1))
	}
	step := min(maxStep, delay/50)
	if fakeClock() {
		step = 0
	}
	arrive := func(n int, leaves time.Time) {
		if due := leaves.Add(delay); due.After(l.due) {
			if next := l.due.Add(step); next.After(due) {
				due = next
			}
			l.due = due
		}
		l.written += int64(n)
		l.fifo.mark(l.written, l.due)
	}
	if rate <= 0 {
		arrive(n, now)
		return
	}
	if l.sentAt.Before(now) {
		l.sentAt = now
	}
	// Bytes leave in steps. A step has the bytes that the rate allows in a millisecond.
	for size := max(1, int(rate/1000)); n > 0; n -= size {
		size := min(n, size)
		l.sentAt = l.sentAt.Add(time.Duration(float64(size) / float64(rate) * float64(time.Second)))
		arrive(size, l.sentAt)
	}
}

// finish ends the line gracefully: the reader gets err after the last byte.
func (l *line) finish(err error) {
	l.mu.Lock()
	if l.end == nil {
		l.end = err
		l.endDue = time.Now().Add(time.Duration(l.settings.delay.Load()))
		if l.due.After(l.endDue) {
			l.endDue = l.due
		}
	}
	l.mu.Unlock()
	l.wakeEnds()
}

// ended reports whether the end of the stream has arrived. As with TCP, the other end of the
// connection does not notice the close before this. Its reads and writes fail from the same time
// on, because programs do not expect that writes fail while reads still wait.
func (l *line) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end != nil && l.fifo.size == 0 && !l.settings.stalled.Load() && !l.endDue.After(time.Now())
}

// halfClose ends the line for the reader. Later writes still succeed.
func (l *line) halfClose() {
	l.mu.Lock()
	l.discard = true
	if l.end == nil {
		l.end, l.endDue = io.EOF, l.due
	}
	l.mu.Unlock()
	l.wakeEnds()
}

func (l *line) repeatNext() {
	l.mu.Lock()
	l.repeat = true
	l.mu.Unlock()
}

// killAfter cuts the connection when n more bytes have been read.
func (l *line) killAfter(n int64) {
	l.mu.Lock()
	l.killAt = l.read + n
	l.mu.Unlock()
	l.wakeEnds()
}

// closeRead closes the reading end: bytes in flight and later bytes are lost.
func (l *line) closeRead(err error) { l.fail(&l.readErr, err) }

// abort ends the line because the connection was cut.
func (l *line) abort(err error) { l.fail(&l.err, err) }

func (l *line) fail(first *error, err error) {
	l.mu.Lock()
	if *first == nil {
		*first = err
	}
	l.drop()
	l.mu.Unlock()
	l.wakeEnds()
}

// drop discards the bytes in flight on a line without a reader. The caller
// holds the mutex.
func (l *line) drop() {
	l.settings.lost.Add(int64(l.fifo.size))
	l.settings.held.Add(-int64(l.fifo.size))
	l.fifo.reset()
	l.timerEnded = true
	if l.timer != nil {
		l.timer.stop()
		l.timer = nil
	}
}

func opError(op string, err error) error {
	return &net.OpError{Op: op, Net: network, Err: err}
}

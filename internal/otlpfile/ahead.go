// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"errors"
	"sync"
)

var errReaderClosed = errors.New("otlpfile: the reader is closed")

// maxAhead bounds the memory for reading ahead, in bytes. A piece of the file is the content of one
// batch. While the pieces in memory are larger in total than maxAhead, no further piece is read.
const maxAhead = 8 << 20

// maxSpare is the maximum size of a buffer to keep for reuse, in bytes. One larger buffer is
// kept if there are no other buffers.
const maxSpare = 1 << 20

// readAhead reads pieces in one goroutine and decodes them in several goroutines. Results are returned in
// the order of the file.
type readAhead struct {
	r       *Reader
	work    chan *job
	ordered chan *job // the jobs in the order of the file; its capacity is the window: two jobs per worker
	done    chan struct{}
	running sync.WaitGroup
	last    *job // the job whose result was returned last

	mu     sync.Mutex
	free   sync.Cond // signalled when bytes decreases or the reader is closed
	bytes  int       // size of the pieces in memory
	closed bool
	spare  [][]byte
}

// job is a piece to decode, and its result.
type job struct {
	piece  piece
	result result
	ready  chan struct{} // closed when the result is set
}

func newReadAhead(r *Reader) *readAhead {
	window := 2 * r.workers
	a := &readAhead{r: r, work: make(chan *job, window), ordered: make(chan *job, window), done: make(chan struct{})}
	a.free.L = &a.mu
	a.running.Go(a.read)
	for range r.workers {
		a.running.Go(func() {
			for j := range a.work {
				j.result = r.decode(j.piece)
				close(j.ready)
			}
		})
	}
	return a
}

// read reads pieces until an error occurs, the file ends or the reader is closed.
func (a *readAhead) read() {
	defer close(a.ordered)
	defer close(a.work)
	for {
		buf, ok := a.buffer()
		if !ok {
			return
		}
		p, err := a.r.piece(buf)
		j := &job{piece: p, result: result{err: err}, ready: make(chan struct{})}
		if err != nil {
			close(j.ready)
		}
		a.enter(p)
		select {
		case a.ordered <- j:
		case <-a.done:
			return
		}
		if err != nil {
			return
		}
		a.work <- j // does not block forever: the workers empty this channel even after close
	}
}

// buffer waits until another piece may be read (see maxAhead), and returns memory for it. It returns
// false after close.
func (a *readAhead) buffer() (buf []byte, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.closed && a.bytes > maxAhead {
		a.free.Wait()
	}
	if n := len(a.spare); n > 0 {
		buf = a.spare[n-1]
		a.spare = a.spare[:n-1]
	}
	return buf, !a.closed
}

func (a *readAhead) enter(p piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes += len(p.body)
}

// release subtracts a decoded piece from the size of the pieces in memory, and keeps its buffer for
// reuse.
func (a *readAhead) release(p piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes -= len(p.body)
	if cap(p.buf) <= maxSpare || len(a.spare) == 0 {
		a.spare = append(a.spare, p.buf)
	}
	a.free.Signal()
}

// next returns the next result. Its bytes are valid until the next call.
func (a *readAhead) next() result {
	if a.last != nil {
		a.release(a.last.piece)
		a.last = nil
	}
	j, ok := <-a.ordered
	if !ok {
		return result{err: errReaderClosed}
	}
	<-j.ready
	a.last = j
	return j.result
}

func (a *readAhead) close() {
	a.mu.Lock()
	first := !a.closed
	a.closed = true
	a.free.Signal()
	a.mu.Unlock()
	if first {
		close(a.done)
	}
	a.running.Wait()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

const network = "memory"

// pair is a connection: two lines between two ends.
type pair struct {
	faults   *Faults
	number   int
	up, down *line

	mu     sync.Mutex
	ends   int      // number of closed ends
	err    error    // why the connection was cut, or nil
	resets []func() // functions that reset the sockets at both ends
}

func (p *pair) lines(d Direction) []*line { return pick(d, p.up, p.down) }

func (p *pair) wakeEnds() {
	p.up.wakeEnds()
	p.down.wakeEnds()
}

// cut ends both directions immediately.
func (p *pair) cut(err error) {
	p.mu.Lock()
	first := p.err == nil
	resets := p.resets
	if first {
		p.err = err
		p.resets = nil
	}
	p.mu.Unlock()
	if !first {
		return
	}
	p.forget()
	p.up.abort(err)
	p.down.abort(err)
	for _, reset := range resets {
		reset()
	}
}

// closeEnd records that one end is closed. When both ends are closed, the connection ends.
func (p *pair) closeEnd() {
	p.mu.Lock()
	p.ends++
	last := p.ends == 2
	p.mu.Unlock()
	if last {
		p.forget()
	}
}

func (p *pair) forget() {
	p.faults.mu.Lock()
	delete(p.faults.open, p)
	p.faults.mu.Unlock()
}

// onCut calls the function reset when the connection is cut, or now if it has been cut already.
func (p *pair) onCut(reset func()) {
	p.mu.Lock()
	dead := p.err != nil
	if !dead {
		p.resets = append(p.resets, reset)
	}
	p.mu.Unlock()
	if dead {
		reset()
	}
}

// attach connects a socket to one end: bytes from the socket are written to
// out, bytes from in are written to the socket. It returns when both directions
// have ended.
func (p *pair) attach(socket net.Conn, in, out *line) {
	p.onCut(func() { reset(socket) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.drain(in, socket)
	}()
	p.fill(out, socket)
	<-done
	socket.Close()
	p.closeEnd()
}

func (p *pair) fill(out *line, socket net.Conn) {
	block := blockPool.Get().(*[blockSize]byte)
	defer blockPool.Put(block)
	for {
		n, err := socket.Read(block[:])
		if n > 0 {
			// A line without a reader discards its input. Continue to read from the socket, to
			// notice the end of its stream.
			if _, err := out.Write(block[:n], nil); err != nil && !errors.Is(err, syscall.EPIPE) {
				return
			}
		}
		switch {
		case err == io.EOF:
			out.finish(io.EOF)
			return
		case err != nil:
			p.cut(opError("read", syscall.ECONNRESET))
			return
		}
	}
}

func (p *pair) drain(in *line, socket net.Conn) {
	block := blockPool.Get().(*[blockSize]byte)
	defer blockPool.Put(block)
	for {
		n, err := in.Read(block[:], nil)
		if n > 0 {
			if _, err := socket.Write(block[:n]); err != nil {
				p.cut(opError("write", syscall.ECONNRESET))
				return
			}
		}
		switch {
		case err == io.EOF:
			in.closeRead(opError("read", net.ErrClosed))
			if half, ok := socket.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
				return
			}
			socket.Close()
			return
		case err != nil:
			return
		}
	}
}

// reset closes a socket so that its peer gets an error instead of the end of the stream.
func reset(socket net.Conn) {
	if s, ok := socket.(interface{ SetLinger(int) error }); ok {
		_ = s.SetLinger(0)
	}
	socket.Close()
}

// handshake waits for the time that opening a connection needs: one round trip, and
// longer while either direction is stalled.
func (f *Faults) handshake(ctx context.Context) error {
	trip := time.Duration(f.up.delay.Load() + f.down.delay.Load())
	if trip > 0 {
		if err := sleep(ctx, trip); err != nil {
			return err
		}
	}
	for {
		f.mu.Lock()
		changed, over := f.changed, f.ended || f.refuse
		f.mu.Unlock()
		if over || !f.up.stalled.Load() && !f.down.stalled.Load() {
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	a := newTimer()
	defer a.stop()
	a.set(d)
	select {
	case <-a.fired():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

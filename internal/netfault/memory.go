// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"net"
	"sync"
	"syscall"
)

const listenerAddress = address("memory:listener")

const backlog = 128

// Memory is a network of one address inside the process.
type Memory struct {
	*Faults
	mu       sync.Mutex
	listener *listener
}

// NewMemory makes a network without a listener.
func NewMemory(link Link) (*Memory, error) {
	f, err := newFaults(link)
	if err != nil {
		return nil, err
	}
	return &Memory{Faults: f}, nil
}

// Listen listens at the only address. After the listener is closed, Listen can be called again,
// so a server can restart.
func (m *Memory) Listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listener != nil {
		return nil, opError("listen", syscall.EADDRINUSE)
	}
	m.listener = &listener{memory: m, waiting: make(chan *pair, backlog), closed: make(chan struct{})}
	return m.listener, nil
}

// Dial opens a connection to the current listener. It ignores the address. This parameter makes
// Dial usable with grpc.WithContextDialer.
func (m *Memory) Dial(ctx context.Context, _ string) (net.Conn, error) {
	if err := m.handshake(ctx); err != nil {
		return nil, opError("dial", err)
	}
	m.mu.Lock()
	l := m.listener
	m.mu.Unlock()
	if l == nil {
		return nil, opError("dial", syscall.ECONNREFUSED)
	}
	p, err := m.connect()
	if err != nil {
		return nil, err
	}
	select {
	case l.waiting <- p:
		return p.dialer(p.address(), listenerAddress), nil
	case <-l.closed:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.cut(opError("dial", err))
	return nil, opError("dial", err)
}

// Close closes the listener and cuts all connections; later dials fail.
func (m *Memory) Close() error {
	m.mu.Lock()
	l := m.listener
	m.mu.Unlock()
	if l != nil {
		l.Close()
	}
	m.end()
	return nil
}

type listener struct {
	memory  *Memory
	waiting chan *pair
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, opError("accept", net.ErrClosed)
	default:
	}
	select {
	case p := <-l.waiting:
		return p.acceptor(), nil
	case <-l.closed:
		return nil, opError("accept", net.ErrClosed)
	}
}

// Close frees the address. Accepted connections stay open.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.memory.mu.Lock()
		l.memory.listener = nil
		l.memory.mu.Unlock()
		close(l.closed)
		for {
			select {
			case p := <-l.waiting:
				p.cut(opError("read", syscall.ECONNRESET))
			default:
				return
			}
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return listenerAddress }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"net"
	"sync"
)

// Proxy is a network between TCP clients and their TCP target.
type Proxy struct {
	*Faults
	target   string
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// NewProxy listens on a free port of the loopback interface and forwards every
// connection to the target.
func NewProxy(link Link, target string) (*Proxy, error) {
	f, err := newFaults(link)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Faults: f, target: target, listener: l}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the address that clients dial.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close stops listening, cuts all connections and waits until they have ended.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.cancel()
	p.end()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		socket, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(socket) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	if err := p.handshake(p.ctx); err != nil {
		reset(client)
		return
	}
	link, err := p.connect()
	if err != nil {
		reset(client)
		return
	}
	server, err := new(net.Dialer).DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		link.cut(opError("dial", err))
		reset(client)
		return
	}
	p.running.Go(func() { link.attach(server, link.up, link.down) })
	link.attach(client, link.down, link.up)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"net"
)

// Dialer adds a link to the connections of another dialer.
type Dialer struct {
	*Faults
	dial func(ctx context.Context, address string) (net.Conn, error)
}

// NewDialer wraps a dialer, or dials TCP if it is nil.
func NewDialer(link Link, dial func(ctx context.Context, address string) (net.Conn, error)) (*Dialer, error) {
	f, err := newFaults(link)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	return &Dialer{Faults: f, dial: dial}, nil
}

// Dial opens a connection to an address; it fits grpc.WithContextDialer.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	if err := d.shake(ctx); err != nil {
		return nil, opError("dial", err)
	}
	p, err := d.connect()
	if err != nil {
		return nil, err
	}
	socket, err := d.dial(ctx, address)
	if err != nil {
		p.cut(opError("dial", err))
		return nil, err
	}
	go p.attach(socket, p.up, p.down)
	return p.dialer(socket.LocalAddr(), socket.RemoteAddr()), nil
}

// Close cuts all connections; later dials fail.
func (d *Dialer) Close() error {
	d.end()
	return nil
}

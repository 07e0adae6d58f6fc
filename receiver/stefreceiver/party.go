// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"sync"

	"google.golang.org/grpc/peer"
)

// party is a connection with a fair share of the receiver's resources. All streams
// and requests of the connection use this share together.
type party struct {
	admission account
	decoding  account
	users     int
}

// parties contains the connections that have streams or requests.
type parties struct {
	mu sync.Mutex
	of map[string]*party
}

// join returns the party of a stream or request, and a function that the caller
// must call when the stream or request ends.
func (c *parties) join(ctx context.Context) (*party, func()) {
	name := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		name = p.Addr.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	who := c.of[name]
	if who == nil {
		who = &party{}
		c.of[name] = who
	}
	who.users++
	return who, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if who.users--; who.users == 0 {
			delete(c.of, name)
		}
	}
}

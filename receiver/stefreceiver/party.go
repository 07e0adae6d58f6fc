// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
)

// party is a connection with a fair share of the receiver's resources. All streams
// and requests of the connection use this share together.
type party struct {
	// Each account is for one gate.
	admission account // core.admission
	decoding  account // core.decoding
	lanes     account // core.lanes, for expensive streams
	small     account // decompression.small: places to decompress requests
	large     account // decompression.large
	requests  account // decompression.lanes, for expensive requests
	credit    credit
	users     int
	left      time.Time // when the last stream or request ended
}

// parties contains the connections that have streams, requests or a negative credit.
type parties struct {
	mu    sync.Mutex
	of    map[string]*party
	swept time.Time
}

// debtMemory is how long, at least, a negative credit is kept after the last stream or request of a
// connection has ended. If it were not kept, a new stream would clear the negative credit.
const debtMemory = 10 * time.Second

// join returns the party of a stream or request, and a function that the caller
// must call when the stream or request ends.
func (c *parties) join(ctx context.Context) (*party, func()) {
	name := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		name = p.Addr.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	who := c.of[name]
	if who == nil {
		who = &party{}
		c.of[name] = who
	}
	who.users++
	return who, func() {
		indebted := who.credit.balance() < 0
		c.mu.Lock()
		defer c.mu.Unlock()
		if who.users--; who.users > 0 {
			return
		}
		if who.left = time.Now(); !indebted {
			delete(c.of, name)
		}
	}
}

// sweep removes the connections whose negative credit is older than debtMemory.
func (c *parties) sweep() {
	if time.Since(c.swept) < debtMemory {
		return
	}
	c.swept = time.Now()
	for name, who := range c.of {
		if who.users == 0 && c.swept.Sub(who.left) > debtMemory {
			delete(c.of, name)
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
)

// clientState is the state of a client. Each connection counts as one client and has a fair
// share of the receiver's resources. All its streams and requests use this share together.
type clientState struct {
	// Each usage is for one fairSemaphore.
	admission       usage // core.admission
	decoding        usage // core.decoding
	streamThrottle  usage // core.streamThrottle, for expensive streams
	small           usage // decompression.small: permits to decompress requests
	large           usage // decompression.large
	requestThrottle usage // decompression.throttle, for expensive requests
	credit          credit
	open            int       // number of streams and requests
	idleSince       time.Time // when the last stream or request ended
}

// clientTable contains the clients that have streams, requests or a negative credit.
type clientTable struct {
	mu        sync.Mutex
	byAddress map[string]*clientState
	lastSweep time.Time
}

// debtRetention is how long, at least, a negative credit is kept after the last stream or request of
// a client has ended. If it were not kept, a new stream would clear the negative credit.
const debtRetention = 10 * time.Second

// join returns the client of a stream or request, and a function that the caller
// must call when the stream or request ends.
func (c *clientTable) join(ctx context.Context) (*clientState, func()) {
	name := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		name = p.Addr.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep()
	client := c.byAddress[name]
	if client == nil {
		client = &clientState{}
		c.byAddress[name] = client
	}
	client.open++
	return client, func() {
		indebted := client.credit.balance() < 0
		c.mu.Lock()
		defer c.mu.Unlock()
		if client.open--; client.open > 0 {
			return
		}
		if client.idleSince = time.Now(); !indebted {
			delete(c.byAddress, name)
		}
	}
}

// sweep removes the clients without streams and requests whose negative credit is older than
// debtRetention.
func (c *clientTable) sweep() {
	if time.Since(c.lastSweep) < debtRetention {
		return
	}
	c.lastSweep = time.Now()
	for name, client := range c.byAddress {
		if client.open == 0 && c.lastSweep.Sub(client.idleSince) > debtRetention {
			delete(c.byAddress, name)
		}
	}
}

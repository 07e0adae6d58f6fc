// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"sync"
	"time"
)

// drainTime is the time that the signals of one configuration may use for their
// shutdown. The Collector shuts signals down one after another, so they share the time.
type drainTime struct {
	config *Config
	total  time.Duration

	mu   sync.Mutex
	used time.Duration
	refs int // signals that are started and not shut down
}

// reservedShare is a divisor: for each other signal that still runs, the total time divided by
// reservedShare is reserved. So a signal whose peer does not answer cannot use up the time.
const reservedShare = 10

var drainTimes = struct {
	sync.Mutex
	of map[*Config]*drainTime
}{of: map[*Config]*drainTime{}}

// joinDrain adds a signal to the signals that share the time of a configuration.
func joinDrain(c *Config) *drainTime {
	drainTimes.Lock()
	defer drainTimes.Unlock()
	d := drainTimes.of[c]
	if d == nil {
		d = &drainTime{config: c, total: c.Stef.ShutdownDrainTimeout}
		drainTimes.of[c] = d
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refs++
	return d
}

// share returns the maximum time for a shutdown that begins now.
func (d *drainTime) share() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	part := d.total / reservedShare
	return max(d.total-d.used-time.Duration(d.refs-1)*part, part)
}

// leave removes a signal whose shutdown took the given time.
func (d *drainTime) leave(took time.Duration) {
	drainTimes.Lock()
	defer drainTimes.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used += took
	if d.refs--; d.refs == 0 {
		delete(drainTimes.of, d.config)
	}
}

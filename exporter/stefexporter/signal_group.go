// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"sync"
	"time"
)

// signalGroup has what the signals of one configuration share: the time for their shutdown, because
// the Collector shuts signals down one after another, and the warnings about their peers.
type signalGroup struct {
	config   *Config
	total    time.Duration // for the shutdown
	warnings warnings

	mu   sync.Mutex
	used time.Duration
	refs int // signals that are started and not shut down
}

// reservedShare is a divisor: for each other signal that still runs, the total time divided by
// reservedShare is reserved. So a signal whose peer does not answer cannot use up the time.
const reservedShare = 10

var signalGroups = struct {
	sync.Mutex
	of map[*Config]*signalGroup
}{of: map[*Config]*signalGroup{}}

// joinSignalGroup adds a signal to the signals of a configuration.
func joinSignalGroup(c *Config) *signalGroup {
	signalGroups.Lock()
	defer signalGroups.Unlock()
	d := signalGroups.of[c]
	if d == nil {
		d = &signalGroup{config: c, total: c.Stef.ShutdownDrainTimeout}
		signalGroups.of[c] = d
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refs++
	return d
}

// share returns the maximum time for a shutdown that begins now.
func (d *signalGroup) share() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	part := d.total / reservedShare
	return max(d.total-d.used-time.Duration(d.refs-1)*part, part)
}

// leave removes a signal whose shutdown took the given time.
func (d *signalGroup) leave(took time.Duration) {
	signalGroups.Lock()
	defer signalGroups.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used += took
	if d.refs--; d.refs == 0 {
		delete(signalGroups.of, d.config)
	}
}

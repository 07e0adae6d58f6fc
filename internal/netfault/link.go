// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"errors"
	"fmt"
	"time"
)

// DefaultWindow is the window of a link whose Window is 0. At a round trip of 200 ms, it allows
// 160 MiB/s in each direction.
const DefaultWindow = 16 << 20

// Link describes the connections while no fault is active. The zero value adds no
// delay and does not limit the rate.
type Link struct {
	// RoundTrip is the time from a request to its answer if neither end needs time.
	// Each direction delays bytes by half of it. Opening a connection takes one
	// round trip.
	RoundTrip time.Duration
	// Jitter is the longest extra delay of a byte in a direction. Bytes keep their
	// order: later bytes wait for a delayed byte.
	Jitter time.Duration
	// BytesPerSecond is the rate of each direction of each connection; 0 means
	// unlimited.
	BytesPerSecond int64
	// Window bounds the bytes of one direction of one connection that are written
	// and not yet read; writers wait at the bound. 0 is DefaultWindow. A link with a
	// rate has a second bound: the bytes that the rate delivers in the delay of the
	// direction plus 50 ms, but at least 64 KiB.
	Window int
	// Seed is the seed of all random values.
	Seed uint64
}

func (l Link) check() (Link, error) {
	switch {
	case l.RoundTrip < 0 || l.Jitter < 0:
		return l, fmt.Errorf("netfault: a link with round trip %v and jitter %v: both must be 0 or more", l.RoundTrip, l.Jitter)
	case l.BytesPerSecond < 0 || l.Window < 0:
		return l, errors.New("netfault: a link with a negative rate or window: both must be 0 or more")
	}
	if l.Window == 0 {
		l.Window = DefaultWindow
	}
	return l, nil
}

// Direction is one way of a connection, or both.
type Direction uint8

const (
	Up   Direction = 1 << iota // from the end that dialed to the end that accepted
	Down                       // the opposite direction
	Both = Up | Down
)

func (d Direction) String() string {
	switch d {
	case Up:
		return "up"
	case Down:
		return "down"
	case Both:
		return "both"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// pick returns up, down or both, depending on d.
func pick[T any](d Direction, up, down T) []T {
	var list []T
	if d&Up != 0 {
		list = append(list, up)
	}
	if d&Down != 0 {
		list = append(list, down)
	}
	return list
}

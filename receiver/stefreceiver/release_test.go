// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeReleaser returns a releaser with a simulated timer and garbage collector. run calls the functions
// that the releaser has scheduled.
func fakeReleaser() (r *releaser, cycle *uint64, freed *int, run func()) {
	cycle, freed = new(uint64), new(int)
	var later []func()
	r = &releaser{
		cycles: func() uint64 { return *cycle },
		free:   func() { *freed++; *cycle += 2 },
		after:  func(_ time.Duration, f func()) { later = append(later, f) },
	}
	return r, cycle, freed, func() {
		all := later
		later = nil
		for _, f := range all {
			f()
		}
	}
}

func times(n int, f func()) {
	for range n {
		f()
	}
}

func TestReleaseOfIdleStreams(t *testing.T) {
	r, _, freed, run := fakeReleaser()
	times(5000, r.join)
	// The streams end in groups of 50, with a check after each group.
	for range 100 {
		times(50, r.leave)
		run()
	}
	require.Zero(t, r.live)
	require.LessOrEqual(t, r.ended, releaseStreams)
	require.Greater(t, *freed, 1)
	require.Less(t, *freed, 10, "forced collections")
}

func TestReleaseLeavesBusyProcessesAlone(t *testing.T) {
	r, cycle, freed, run := fakeReleaser()
	times(1000, r.join)
	// The garbage collector has run by itself, so the releaser forces no collection.
	times(1000, r.leave)
	*cycle += 2
	run()
	require.Zero(t, *freed)
	require.Zero(t, r.ended)
	// Fewer than releaseStreams streams end, so the releaser forces no collection.
	times(releaseStreams-1, r.join)
	times(releaseStreams-1, r.leave)
	run()
	require.Zero(t, *freed)
	// Most streams stay open while some end and others begin.
	times(1000, r.join)
	for range 500 {
		r.join()
		r.leave()
	}
	run()
	require.Zero(t, *freed)
}

func TestReleaserFrees(t *testing.T) {
	r := newReleaser()
	before := r.cycles()
	r.free()
	require.Greater(t, r.cycles(), before)
}

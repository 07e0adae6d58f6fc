// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// releaser returns memory to the operating system after streams have ended. A process
// whose clients are all idle allocates nothing, so the garbage collector would not run
// for two minutes, and thousands of ended streams would occupy a GiB until then.
type releaser struct {
	cycles func() uint64                   // number of garbage collections
	free   func()                          // runs the garbage collector and returns memory to the system
	after  func(d time.Duration, f func()) // runs f later

	mu      sync.Mutex
	live    int    // number of open streams
	ended   int    // ended streams whose memory was not collected yet
	cycle   uint64 // value of cycles when the last stream ended
	waiting bool   // check is scheduled
}

const (
	// releaseDelay is the wait before a forced collection. Two ordinary collections in
	// that time make the forced collection unnecessary.
	releaseDelay = time.Second
	// releaseStreams is the minimum number of ended streams for a forced collection. They occupy 1
	// to 3 MiB each.
	releaseStreams = 64
)

func newReleaser() *releaser {
	return &releaser{
		cycles: gcCycles,
		free: func() {
			runtime.GC() // FreeOSMemory collects again, which frees the contents of pools
			debug.FreeOSMemory()
		},
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

func gcCycles() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (r *releaser) join() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live++
}

func (r *releaser) leave() {
	cycle := r.cycles()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live--
	r.ended++
	r.cycle = cycle
	r.schedule()
}

// schedule makes check run later. The caller holds the mutex.
func (r *releaser) schedule() {
	if !r.waiting && r.ended >= releaseStreams && r.ended >= r.live {
		r.waiting = true
		r.after(releaseDelay, r.check)
	}
}

// check frees memory, unless the collector ran twice since the last stream ended. It also requires
// that at least releaseStreams streams have ended, and at least as many as are still open. So if
// streams only end, the number of forced collections grows with the logarithm of the number of
// streams.
func (r *releaser) check() {
	cycle := r.cycles()
	r.mu.Lock()
	r.waiting = false
	enough := r.ended >= releaseStreams && r.ended >= r.live
	collected := cycle >= r.cycle+2 // pools are empty only after the second collection
	if enough || collected {
		r.ended = 0
	}
	r.mu.Unlock()
	if enough && !collected {
		r.free()
	}
}

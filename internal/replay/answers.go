// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"sync/atomic"
	"time"
)

// UnansweredAfter is how long a sent batch may wait for its answer before Sender.Unanswered is called. It
// is also the time between two calls.
const UnansweredAfter = 5 * time.Second

// answers watches the batches that wait for an answer of the endpoint.
type answers struct {
	waiting atomic.Int64
}

// await is called when a batch is sent. It returns a function to call when the batch has its
// answer or failed. Until that call, notice is called every UnansweredAfter with the number of
// unanswered batches and the waiting time of this batch. The time in which sent returns false
// does not count, because the batch then waits for a connection or a stream.
func (a *answers) await(sent func() bool, notice func(batches int, waited time.Duration)) (done func()) {
	a.waiting.Add(1)
	begin, ended, finished := time.Now(), make(chan struct{}), make(chan struct{})
	late := time.AfterFunc(UnansweredAfter, func() {
		defer close(finished)
		ticker := time.NewTicker(UnansweredAfter)
		defer ticker.Stop()
		for {
			if now := time.Now(); sent() {
				notice(int(a.waiting.Load()), now.Sub(begin))
			} else {
				begin = now
			}
			select {
			case <-ticker.C:
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		if !late.Stop() {
			<-finished // so that no notice follows the answer
		}
		a.waiting.Add(-1)
	}
}

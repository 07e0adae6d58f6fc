// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// senders logs a warning when a sender without a deadline waits for room in a full queue. The
// Collector shuts receivers down before exporters. A receiver that waits for such a sender blocks
// the shutdown, and the exporter does not notice. The exporter must not end the wait: a receiver
// without retries would lose the batch although the peer is only away for a while.
type senders struct {
	logger *zap.Logger
	after  time.Duration
	quiet  atomic.Bool // a warning was logged less than stalledAgain ago
}

// stalledAgain is the time after which the warning may be logged again.
const stalledAgain = 5 * time.Minute

// senders returns nil if senders never wait for the queue.
func (x *stefExporter[B]) senders() *senders {
	if !x.config.QueueConfig.HasValue() {
		return nil
	}
	if queue := x.config.QueueConfig.Get(); !queue.BlockOnOverflow || queue.WaitForResult {
		return nil
	}
	return &senders{logger: x.settings.Logger, after: x.config.TimeoutConfig.Timeout}
}

// watch begins to watch a call of a sender, unless s is nil. The returned function ends the watch.
func (s *senders) watch(ctx context.Context) (end func() bool) {
	if _, ok := ctx.Deadline(); ok || s == nil {
		return func() bool { return true }
	}
	return time.AfterFunc(s.after, s.warn).Stop
}

func (s *senders) warn() {
	if s.quiet.Swap(true) {
		return
	}
	time.AfterFunc(stalledAgain, func() { s.quiet.Store(false) })
	s.logger.Warn("The sending queue is full, and a sender that set no deadline waits for space. "+
		"A shutdown of the Collector may have to wait for this sender. "+
		"Set a timeout at the receiver if it has one, such as timeout of host_metrics and other scrapers, or a deadline at the OTLP client.",
		zap.Duration("waits_for", s.after))
}

// watched returns the function queue with the checks of calls that wait for a full queue, and of
// batches that are larger than the queue.
func (x *stefExporter[B]) watched(queue func(context.Context, B) error) func(context.Context, B) error {
	senders, large := x.senders(), x.oversized()
	return func(ctx context.Context, b B) error {
		defer senders.watch(ctx)()
		return large.pass(ctx, b, queue)
	}
}

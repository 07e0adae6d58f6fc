// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// oversized refuses batches that are larger than the whole queue. The Collector's queue can never
// accept such a batch. Its error is not permanent, so senders would send the batch again and again.
// With a storage and block_on_overflow, the queue would wait for space forever.
type oversized[B any] struct {
	limit   int64 // queue_size, in the unit of its sizer
	unit    string
	size    func(B) int
	items   func(B) int
	dropped func(ctx context.Context, items int)
}

// oversized returns nil if a batch of any size fits into the queue, or if there is no queue.
func (x *stefExporter[B]) oversized() *oversized[B] {
	if !x.config.QueueConfig.HasValue() {
		return nil
	}
	queue := x.config.QueueConfig.Get()
	o := &oversized[B]{limit: queue.QueueSize, items: x.signal.Items}
	o.dropped = func(ctx context.Context, items int) { x.telemetry.dropped(ctx, dropTooLarge, items) }
	switch queue.Sizer {
	case exporterhelper.RequestSizerTypeItems:
		o.size, o.unit = x.signal.Items, "items"
	case exporterhelper.RequestSizerTypeBytes:
		o.size, o.unit = x.signal.Size, "bytes"
	default:
		return nil
	}
	return o
}

// pass passes a batch to the queue. It measures the batch first: the queue would count a batch
// that it refuses as enqueue_failed, so its items would be counted twice.
func (o *oversized[B]) pass(ctx context.Context, b B, queue func(context.Context, B) error) error {
	if o != nil {
		if err := o.refuse(ctx, b); err != nil {
			return err
		}
	}
	return queue(ctx, b)
}

// refuse returns a permanent error for a batch that is larger than the queue, and counts its items.
func (o *oversized[B]) refuse(ctx context.Context, b B) error {
	size := int64(o.size(b))
	if size <= o.limit {
		return nil
	}
	o.dropped(ctx, o.items(b))
	return consumererror.NewPermanent(fmt.Errorf("the batch has %d %s, and the queue has space for %d: raise sending_queue::queue_size, or divide batches with the batch processor and its send_batch_max_size", size, o.unit, o.limit))
}

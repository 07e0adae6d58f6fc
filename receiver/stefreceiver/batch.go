// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"
	"sync"
	"time"

	"github.com/otelstef/stef/stef-gogrpc"
	"github.com/otelstef/stef/stef-pdata"
)

// batch contains consecutive decoded records of a stream.
type batch[T any] struct {
	data     T
	items    int
	from, to uint64             // the ids of its records
	bad      []stefgrpc.IDRange // records that data does not contain, in order
	weight   int64              // admitted bytes, released when the batch is settled
	permit   bool               // the batch holds a permit of core.streamThrottle, released when the batch is settled
	began    time.Time          // when decoding of the batch began
}

var errEnding = errors.New("the stream ends because an earlier batch was refused")

// dispatch passes a batch to a goroutine that sends it to the pipeline. It waits until
// the pipeline may accept one more batch of this stream.
func (s *stream[T]) dispatch(b batch[T]) {
	begin := time.Now()
	select {
	case s.slots <- struct{}{}: // also while the stream ends: if it ends because it holds too much memory, this batch is still delivered
	default:
		select {
		case s.slots <- struct{}{}:
		case <-s.decodeCtx.Done():
			// The batch is not acknowledged, so the client will send it again.
			s.settle(&b)
			s.refuse(s.ctx, s.obs.stef, formatSTEF, b.items, errEnding)
			return
		}
	}
	s.processing.Add(1)
	go func() {
		defer s.processing.Done()
		defer func() { <-s.unanswered }()
		s.answer(&b, s.process(&b, begin))
	}()
}

func (s *stream[T]) settle(b *batch[T]) {
	s.core.admission.release(&s.client.admission, b.weight)
	s.releasePermit(b.permit, time.Since(b.began), b.weight)
}

// verdict is the result for those records of a batch that data contains.
type verdict uint8

const (
	undecided verdict = iota // the client sends them again, with the bad records of the batch
	accepted
	permanentlyRefused
)

// process sends a batch to the pipeline. If the pipeline refuses the batch temporarily, the
// stream fails. Each call runs on its own goroutine.
func (s *stream[T]) process(b *batch[T], begin time.Time) verdict {
	// Release the slot last: this starts the next batch, which must see a failure of this batch.
	defer func() { <-s.slots }()
	defer s.settle(b)
	if failed := s.failure.Load(); failed != nil && failed.from < b.from {
		s.refuse(s.ctx, s.obs.stef, formatSTEF, b.items, errEnding)
		return undecided
	}
	if b.items == 0 {
		return accepted
	}
	ctx := s.start(s.obs.stef, s.ctx)
	err := s.deliver(ctx, b.data)
	s.end(s.obs.stef, ctx, formatSTEF, b.items, err)
	s.meter.consumed(time.Since(begin))
	if err == nil {
		return accepted
	}
	why := refusalOf(err, s.core.config.RetryAfter)
	if why.permanent {
		return permanentlyRefused
	}
	s.fail(failure{b.from, why.status})
	return undecided
}

// answer acknowledges or rejects the records of a batch. It may block until the client reads the
// answer, so the stream must not hold anything that other clients need.
func (s *stream[T]) answer(b *batch[T], v verdict) {
	var none T
	b.data = none
	if v == undecided {
		return
	}
	var bad, refused uint64
	for _, r := range b.bad {
		s.transport.Reject(r.From, r.To)
		bad += r.Len()
	}
	b.eachValid(func(from, to uint64) {
		if v == accepted {
			s.transport.Ack(from, to)
			return
		}
		s.transport.Reject(from, to)
		refused += to - from + 1
	})
	s.count(-int64(b.to - b.from + 1))
	s.rejections.add(rejection{b.to, bad, badForOTLP})
	s.rejections.add(rejection{b.to, refused, badForPipeline})
	s.countRejections()
}

// rejection describes rejected records of a batch.
type rejection struct {
	to      uint64 // the last record of the batch
	records uint64
	reason  string
}

// rejections are the rejections that are not counted yet. The client learns of a rejection when all earlier records
// are answered. If an earlier batch is refused temporarily instead, the client sends the rejected records again, and
// they would count twice.
type rejections struct {
	mu   sync.Mutex
	list []rejection
}

func (r *rejections) add(one rejection) {
	if one.records == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

// maxRejections bounds the stored rejections: one batch may be in the pipeline while any number of later batches is
// rejected. If there are more, the oldest rejections count although the client has not learned of them.
const maxRejections = 4096

// countRejections counts the rejections of which the client learns, because all earlier records are answered.
func (s *stream[T]) countRejections() {
	r := &s.rejections
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return
	}
	answered, excess := s.transport.Acked(), len(r.list)-maxRejections
	kept := r.list[:0]
	for i, one := range r.list {
		if one.to <= answered || i < excess {
			s.meter.rejected(one.records, one.reason)
		} else {
			kept = append(kept, one)
		}
	}
	r.list = kept
}

// idsOf returns the ids of bad records without the reasons, which take more memory.
func idsOf(bad stefpdata.RecordErrors) (ids []stefgrpc.IDRange) {
	for _, r := range bad {
		if n := len(ids); n > 0 && ids[n-1].To == r.First-1 {
			ids[n-1].To = r.Last
		} else {
			ids = append(ids, stefgrpc.IDRange{From: r.First, To: r.Last})
		}
	}
	return ids
}

// eachValid passes every range of ids whose records are in b.data to a function.
func (b *batch[T]) eachValid(each func(from, to uint64)) {
	from := b.from
	for _, bad := range b.bad {
		if from < bad.From {
			each(from, bad.From-1)
		}
		from = bad.To + 1
	}
	if from <= b.to {
		each(from, b.to)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	// MaxGap is the longest time without a batch of any source that is replayed at the pace of
	// the recording. A longer gap takes one second, because a replay of recordings of different
	// days must not wait for days.
	MaxGap = time.Hour
	// shortened is how long a gap above MaxGap takes. It is not 0, so that the batches before and
	// after the gap stay in order.
	shortened = time.Second
)

// schedule says when batches are due at the pace of the recording.
type schedule struct {
	first, last pcommon.Timestamp // earliest and latest time of all items
	// busy are the intervals in which the next batch of any source is due within MaxGap, in
	// ascending order.
	busy []interval
	gaps []*gap // the times between the busy intervals
}

type interval struct{ begin, end pcommon.Timestamp }

// gap is a time above MaxGap without a batch. It ends when the next batch is due.
type gap struct {
	interval
	reported atomic.Bool // whether Player.Skipped was called
}

func (g *gap) length() time.Duration { return time.Duration(g.end - g.begin) }

func scheduleOf(ctx context.Context, sources []Source) (*schedule, error) {
	s := &schedule{}
	for _, source := range sources {
		for b, err := range source() {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, err
			}
			first, last := Times(b)
			if first == 0 {
				continue
			}
			if s.first == 0 || first < s.first {
				s.first = first
			}
			s.last = max(s.last, last)
			s.add(last)
		}
	}
	if s.first != 0 {
		s.add(s.first) // the replay begins with the earliest time of an item
	}
	for i := 1; i < len(s.busy); i++ {
		s.gaps = append(s.gaps, &gap{interval: interval{s.busy[i-1].end, s.busy[i].begin}})
	}
	return s, nil
}

// add adds a time at which a batch is due.
func (s *schedule) add(t pcommon.Timestamp) {
	near := func(a, b pcommon.Timestamp) bool { return time.Duration(b-a) <= MaxGap } // a <= b
	i := sort.Search(len(s.busy), func(i int) bool { return s.busy[i].end >= t })
	if i < len(s.busy) && s.busy[i].begin <= t {
		return
	}
	before := i > 0 && near(s.busy[i-1].end, t)
	after := i < len(s.busy) && near(t, s.busy[i].begin)
	switch {
	case before && after:
		s.busy[i-1].end = s.busy[i].end
		s.busy = slices.Delete(s.busy, i, i+1)
	case before:
		s.busy[i-1].end = t
	case after:
		s.busy[i].begin = t
	default:
		s.busy = slices.Insert(s.busy, i, interval{t, t})
	}
}

// due returns the time from the start of a round to the moment when a batch is due. last is the
// latest time of the items of the batch.
func (s *schedule) due(last pcommon.Timestamp) time.Duration {
	if last <= s.first {
		return 0
	}
	d := time.Duration(last - s.first)
	for _, g := range s.gaps {
		if g.end <= last {
			d -= g.length() - shortened
		}
	}
	return d
}

// skipped returns the gap that ends at the latest time of a batch. It returns nil if there is no
// such gap, or if skipped has already returned the gap.
func (s *schedule) skipped(last pcommon.Timestamp) *gap {
	i := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].end >= last })
	if i < len(s.gaps) && s.gaps[i].end == last && s.gaps[i].reported.CompareAndSwap(false, true) {
		return s.gaps[i]
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"math"
	"slices"
	"time"
)

// place says who has a job.
type place uint8

const (
	inQueue   place = iota // of the session: no stream has it
	inInbox                // of a lane, not looked at
	inEncoder              // its batch is being read by the owner of a lane
	inPending              // encoded, waiting for its acknowledgement
	nowhere                // settled
)

// job is a batch on its way through the session. All but batch, ctx and result
// is guarded by the session's lock.
type job[B any] struct {
	batch  B
	ctx    context.Context
	result chan error // has room for the one result

	prev, next *job[B] // of the list it is in
	place      place
	lane       *lane[B] // that has it, none while it is in the queue
	settled    bool     // the result was decided; a pending job may outlive it
	gaveUp     bool     // the caller's context ended while the batch was being read

	first, last uint64 // ids of its records; last is 0 until all are encoded
	bytes       int64
	since       time.Time // when encoding began
	moves       int       // how often it was encoded and taken back
	sent        bool      // by one of those streams
}

// jobList is a list of jobs, linked through them: moving one costs no memory.
type jobList[B any] struct {
	head, tail *job[B]
	len        int
}

func (l *jobList[B]) pushBack(j *job[B]) {
	j.prev, j.next = l.tail, nil
	if l.tail == nil {
		l.head = j
	} else {
		l.tail.next = j
	}
	l.tail = j
	l.len++
}

func (l *jobList[B]) pushFront(j *job[B]) {
	j.prev, j.next = nil, l.head
	if l.head == nil {
		l.tail = j
	} else {
		l.head.prev = j
	}
	l.head = j
	l.len++
}

func (l *jobList[B]) remove(j *job[B]) {
	if j.prev == nil {
		l.head = j.next
	} else {
		j.prev.next = j.next
	}
	if j.next == nil {
		l.tail = j.prev
	} else {
		j.next.prev = j.prev
	}
	j.prev, j.next = nil, nil
	l.len--
}

// badRecords are the ids reported bad that still concern a batch. Their number
// is bounded by the records that are waiting, whatever a server says.
type badRecords struct{ ids idRanges }

// add merges the ids that a server reports for the first time, and returns how
// many of them are not above done. Their batches are settled, so those are too
// late.
func (b *badRecords) add(reported []IDRange, done uint64) (late uint64) {
	if len(reported) == 0 {
		return 0
	}
	for _, r := range reported {
		late += IDRange{r.From, min(r.To, done)}.Len()
		r.From = max(r.From, done+1)
		b.ids = append(b.ids, r)
	}
	b.ids = normalize(b.ids)
	return late
}

// forget drops ids up to and with done.
func (b *badRecords) forget(done uint64) {
	b.ids = slices.Delete(b.ids, 0, b.ids.above(done))
	if len(b.ids) > 0 {
		b.ids[0].From = max(b.ids[0].From, done+1)
	}
}

// after returns the id up to which all records are answered, if those up to
// acked are.
func (b badRecords) after(acked uint64) uint64 {
	for _, r := range b.ids {
		if r.From > acked+1 {
			break
		}
		acked = max(acked, r.To)
	}
	return acked
}

// answer is what is known about the records of one batch.
type answer struct {
	acknowledged uint64    // records from the start that are acknowledged, or bad
	rejected     []IDRange // relative to the batch
	bad          uint64    // how many those are
	whole        bool      // nothing is missing
}

// answerTo looks up the records first to last; last is 0 while it is not known.
func (b badRecords) answerTo(first, last, acked uint64) answer {
	var a answer
	end := last
	if last == 0 {
		end = math.MaxUint64
	}
	if acked >= first {
		a.acknowledged = min(acked, end) - first + 1
	}
	missing := end - first + 1 - a.acknowledged
	for _, r := range b.ids {
		from, to := max(r.From, first), min(r.To, end)
		if from > to {
			continue
		}
		a.rejected = append(a.rejected, IDRange{From: from - first + 1, To: to - first + 1})
		a.bad += to - from + 1
		if from = max(from, acked+1); from <= to {
			missing -= to - from + 1
		}
	}
	a.whole = last != 0 && missing == 0
	return a
}

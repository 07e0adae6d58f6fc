// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "time"

// place is the part of the machine that has a batch.
type place uint8

const (
	inQueue   place = iota // no stream has the batch
	inInbox                // in the inbox of a stream, not encoded yet
	inEncoder              // being encoded for a stream
	inPending              // encoded, and waiting for its acknowledgement
)

// Batch is a batch that the machine processes. All fields except Owner belong to
// the machine.
type Batch struct {
	// Owner is the driver's reference for the batch.
	Owner any

	prev, next *Batch // neighbours in the list that contains the batch
	place      place
	stream     *Stream // the stream to which the batch is assigned; nil while it is in the queue
	settled    bool    // the result was decided; the batch may still be pending
	gaveUp     bool    // the caller gave up while the batch was being encoded

	first, last uint64 // ids of its records; last is 0 until all records are encoded
	bytes       int64
	since       time.Time // when encoding began
	moves       int       // how often the batch was moved back to the queue
	sent        bool      // an earlier stream may have sent records of the batch
}

// records returns the number of records, or 0 before all records are encoded.
func (b *Batch) records() uint64 {
	if b.last == 0 {
		return 0
	}
	return b.last - b.first + 1
}

// Reset prepares a settled batch for reuse.
func (b *Batch) Reset() { *b = Batch{Owner: b.Owner} }

// list is a linked list of batches. The links are in the batches, so moving a
// batch allocates nothing.
type list struct {
	head, tail *Batch
	len        int
}

func (l *list) pushBack(b *Batch) {
	b.prev, b.next = l.tail, nil
	if l.tail == nil {
		l.head = b
	} else {
		l.tail.next = b
	}
	l.tail = b
	l.len++
}

func (l *list) pushFront(b *Batch) {
	b.prev, b.next = nil, l.head
	if l.head == nil {
		l.tail = b
	} else {
		l.head.prev = b
	}
	l.head = b
	l.len++
}

func (l *list) remove(b *Batch) {
	if b.prev == nil {
		l.head = b.next
	} else {
		b.prev.next = b.next
	}
	if b.next == nil {
		l.tail = b.prev
	} else {
		b.next.prev = b.prev
	}
	b.prev, b.next = nil, nil
	l.len--
}

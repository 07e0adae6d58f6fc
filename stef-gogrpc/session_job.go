// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
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

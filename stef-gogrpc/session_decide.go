// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/stef-gogrpc/internal/session"
)

// job is a batch and its call of Send.
type job[B any] struct {
	session.Batch
	batch  B
	ctx    context.Context
	left   error      // names the items that the last WriteBatch omitted; nil: none
	result chan error // has room for the result, so sending it does not block
}

func newJob[B any]() *job[B] {
	j := &job[B]{result: make(chan error, 1)}
	j.Owner = j
	return j
}

// reset prepares j for reuse, after Send has read the result.
func (j *job[B]) reset() {
	var none B
	j.Batch.Reset()
	j.batch, j.ctx, j.left = none, nil, nil
}

// carryOut carries out the decisions of the state machine, in order. The events of a batch
// precede its result, so counters are current when Send returns. No lock is held.
func (s *Session[B]) carryOut(out *session.Decisions) {
	for i := range out.Len() {
		d := out.At(i)
		switch d.Kind {
		case session.WakeSender:
			signal(d.Stream.Owner.(*sender[B]).wake)
		case session.WakeWatcher:
			signal(d.Stream.Owner.(*sender[B]).check)
		case session.Replace:
			close(d.Stream.Owner.(*sender[B]).replace)
		case session.Open:
			for _, o := range s.slots {
				signal(o.demand)
			}
		case session.Delivered, session.Unencodable, session.HandedBack:
			s.settle(d)
		default:
			s.report(d)
		}
	}
}

func (s *Session[B]) settle(d *session.Decision) {
	j := d.Batch.Owner.(*job[B])
	stream := -1
	if d.Stream != nil {
		stream = d.Stream.Slot()
	}
	f, info := &s.config.Events, BatchInfo{Records: d.Records, Bytes: d.Bytes, Latency: d.Latency}
	var result error
	switch {
	case d.Kind == session.Delivered && d.Answer.Bad == 0:
		if f.BatchAcknowledged != nil {
			f.BatchAcknowledged(stream, info)
		}
	case d.Kind == session.Delivered:
		rejected := &RejectedError{Ranges: d.Answer.Rejected, Records: d.Answer.Bad}
		info.Records, result = d.Answer.Bad, rejected
		if f.BatchRejected != nil {
			f.BatchRejected(stream, info, rejected)
		}
	case d.Kind == session.Unencodable:
		result = d.Fault.Err
		if f.BatchUnencodable != nil {
			var bad *BatchError
			errors.As(result, &bad)
			f.BatchUnencodable(stream, bad)
		}
	default:
		cause := s.cause(d.Fault, j.ctx)
		if why := s.unopened.Load(); why != nil && d.Stream == nil && (d.Fault.Class == session.GaveUp || d.Fault.Class == session.ShutDown) {
			why.explain(cause)
		}
		var refused time.Time
		if d.Stream == nil {
			refused = d.Fault.At
		}
		unsent := &UnsentError{
			Cause:          cause,
			Refused:        refused,
			MaybeDelivered: d.Maybe,
			Acknowledged:   d.Answer.Acknowledged,
			Rejected:       d.Answer.Rejected,
			LeftOut:        j.left,
			written:        d.Records,
		}
		if result = unsent; f.BatchHandedBack != nil {
			f.BatchHandedBack(stream, unsent)
		}
	}
	if d.Kind == session.Delivered && j.left != nil {
		result = &BatchError{Err: withRejected(j.left, result), Delivered: true}
	}
	var none B
	j.batch = none
	j.result <- result
}

// openFailure is an error after which no stream is open.
type openFailure struct {
	err *Error
	at  time.Time
}

// explain extends the cause of a returned batch: it adds the reason why no stream was open, and
// sets RetryDelay to the remaining part of the delay that the peer requested.
func (l *openFailure) explain(cause *Error) {
	cause.Err = fmt.Errorf("%w while no stream was open: %w", cause.Err, l.err)
	cause.RetryDelay = max(0, l.err.RetryDelay-time.Since(l.at))
	cause.HasRetryInfo = l.err.HasRetryInfo
}

// report calls the event function for a stream.
func (s *Session[B]) report(d *session.Decision) {
	f, stream := &s.config.Events, d.Stream.Slot()
	switch {
	case d.Kind == session.Draining && f.StreamDraining != nil:
		f.StreamDraining(stream, d.Reason)
	case d.Kind == session.Closed:
		var cause *Error
		if d.Fault != nil {
			cause = s.cause(d.Fault, nil)
			s.lastErr.Store(cause)
		}
		if f.StreamClosed != nil {
			f.StreamClosed(stream, d.Reason, d.Latency, cause)
		}
	case d.Kind == session.Redispatched && f.BatchRedispatched != nil:
		f.BatchRedispatched(stream, d.Bytes)
	case d.Kind == session.Late && f.LateRejection != nil:
		f.LateRejection(stream, d.Records)
	}
}

// faultOf classifies an error for the state machine. It returns nil if err is nil.
func faultOf(err *Error) *session.Fault {
	if err == nil {
		return nil
	}
	f := &session.Fault{Err: err}
	switch err.Kind {
	case KindClosed:
		f.Class = session.Orderly
	case KindCanceled:
		f.Class = session.Canceled
	case KindUnavailable:
		f.Class = session.Unavailable
	}
	return f
}

// endOf classifies the end of a stream. sent reports whether records may have been sent on it. If
// so, UNIMPLEMENTED is about these records, because the server had accepted the stream.
func endOf(err *Error, sent bool) *session.Fault {
	f := faultOf(err)
	if f == nil || err.Retryable() {
		return f
	}
	switch err.Kind {
	case KindRejected, KindInvalid:
		f.Class, f.Deliberate = session.Refused, true
	case KindLimit, KindAuth, KindUnknown:
		f.Class = session.Refused
	case KindUnimplemented:
		if sent {
			f.Class = session.Refused
		}
	}
	return f
}

// cause returns the Error for a fault. This is the error from which faultOf made the fault, or a
// new Error if the state machine made the fault. ctx is the context of the batch if Class is
// GaveUp.
func (s *Session[B]) cause(f *session.Fault, ctx context.Context) *Error {
	switch f.Class {
	case session.AckTimeout:
		return &Error{Kind: KindUnavailable, Code: codes.DeadlineExceeded,
			Err: fmt.Errorf("the server sent no acknowledgement for %v", s.config.AckTimeout)}
	case session.ShutDown:
		return shutDown()
	case session.GaveUp:
		return gaveUp(ctx)
	case session.Unanswered:
		return errorf(KindClosed, "the server ended the stream gracefully")
	case session.EncoderFailed:
		return errorf(KindClosed, "another batch of the stream could not be encoded: %v", f.Err)
	case session.Bystander:
		why := ""
		if f.Blamed {
			why = ", probably because of another batch"
		}
		return errorf(KindUnavailable, "the server ended the stream%s: %v", why, f.Err)
	}
	return FromStatus(f.Err)
}

// withRejected returns an error for the items that were omitted from a batch and the records
// that the destination rejected, if any.
func withRejected(left, rejected error) error {
	if rejected == nil {
		return left
	}
	return fmt.Errorf("%w; %w", left, rejected)
}

// leftOut returns the error for the omitted items, or nil if err does not say that the batch
// writer omitted items and wrote all other items. It detects the errors of LeftOut and stefpdata
// by their method Items, because this package must not import stefpdata. A writer may also return
// a *BatchError with Delivered. This does not mean that the server has accepted the written
// items.
func leftOut(err error) error {
	if err == nil {
		return nil // return before the variables below are allocated on the heap
	}
	var items interface{ Items() int }
	var bad *BatchError
	var gone *Error
	switch {
	case errors.As(err, &gone):
		return nil
	case errors.As(err, &bad) && !bad.Delivered:
		return nil
	case bad != nil && error(bad) == err && bad.Err != nil:
		return bad.Err // Send makes a new *BatchError when the other items are delivered
	case bad != nil || errors.As(err, &items):
		return err
	}
	return nil
}

// encodingFault classifies an error of a batch writer. lost: the stream has ended. broken: the
// writer cannot be used any more. unencodable: only the batch is affected.
func encodingFault(err error) (lost, broken *session.Fault, unencodable error) {
	if err == nil {
		return nil, nil, nil
	}
	var bad *BatchError
	var gone *Error
	switch {
	case errors.As(err, &bad) && !bad.Delivered:
		return nil, nil, err
	case errors.As(err, &gone):
		return faultOf(gone), nil, nil
	}
	return nil, faultOf(&Error{Kind: KindUnknown, Code: codes.Internal, Err: fmt.Errorf("batch writer: %w", err)}), nil
}

// signal wakes a goroutine, now or at its next check.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

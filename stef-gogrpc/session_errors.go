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

// ErrSessionClosed is wrapped by the errors that Send returns after Shutdown was
// called.
var ErrSessionClosed = errors.New("session is shut down")

// RejectedError is the error of a batch with records that the destination will
// never accept. The destination has accepted all other records: send no part of
// the batch again.
type RejectedError struct {
	// Ranges are the bad records by their position among the written records of the batch,
	// counted from 1. So they do not count items that WriteBatch left out, and they follow
	// the order in which it wrote the others. They are sorted and do not touch.
	Ranges []IDRange
	// Records is the number of bad records.
	Records uint64
}

// Error implements error.
func (e *RejectedError) Error() string {
	text := fmt.Sprintf("stefgrpc: %s rejected by the destination", count(e.Records, "record"))
	if len(e.Ranges) > 0 {
		first := e.Ranges[0]
		if first.To == first.From {
			text += fmt.Sprintf(": record %d of the batch", first.From)
		} else {
			text += fmt.Sprintf(": records %d to %d of the batch", first.From, first.To)
		}
	}
	if len(e.Ranges) > 1 {
		text += " and " + count(uint64(len(e.Ranges)-1), "more range")
	}
	return text
}

// count formats a number and a noun, with a plural s unless the number is 1.
func count(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// BatchError is the error of a batch that cannot be encoded. It is permanent for
// the batch, and the stream remains usable.
type BatchError struct {
	// Err says what is wrong with the batch. If some of the delivered records were
	// rejected, it also wraps a *RejectedError.
	Err error
	// Delivered reports that all of the batch was delivered, except what Err names. Only Send
	// reports this. An error of WriteBatch with Delivered means the same as LeftOut(Err): Send
	// waits for the records that were written.
	Delivered bool
}

// Error implements error.
func (e *BatchError) Error() string {
	if e.Delivered {
		return fmt.Sprintf("stefgrpc: batch delivered in part: %v", e.Err)
	}
	return fmt.Sprintf("stefgrpc: batch cannot be encoded: %v", e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// LeftOut returns the error of a WriteBatch that left out items and wrote all others: one
// error for each item. It returns nil if every err is nil, as errors.Join does. The error
// has a method Items() int and wraps all of them.
func LeftOut(errs ...error) error {
	var left leftOutError
	for _, err := range errs {
		if err != nil {
			left = append(left, err)
		}
	}
	if left == nil {
		return nil
	}
	return left
}

// leftOutError has an error for each item that was left out.
type leftOutError []error

// Error implements error.
func (e leftOutError) Error() string {
	if len(e) == 1 {
		return fmt.Sprintf("1 item left out: %v", e[0])
	}
	return fmt.Sprintf("%d items left out, first: %v", len(e), e[0])
}

// Unwrap returns the errors.
func (e leftOutError) Unwrap() []error { return e }

// Items returns how many items were left out.
func (e leftOutError) Items() int { return len(e) }

// UnsentError is the error of a batch that the session returned to its caller: the session does
// not use the batch any more. Cause.Retryable reports whether to send the batch again. It also
// returns true if the context of Send ended or the session was shut down: leave a loop of retries
// if ctx.Err() is not nil or the error wraps ErrSessionClosed.
//
// If the server ends a stream for a permanent reason, only the batch with the first unanswered
// record gets this reason as its Cause. The later batches of the stream, also those of other
// callers, have a retryable Cause, because the server did not refuse them.
type UnsentError struct {
	// Cause is the reason. It wraps the error of the context if the context of
	// Send ended, and ErrSessionClosed if the session was shut down. If the context ended
	// while no stream was open, the Kind of Cause is KindCanceled, and Cause.Err also wraps
	// the *Error of the last attempt to open a stream, or of the last stream. Call errors.As
	// with Cause.Err to find it: its Kind says why no stream was open, such as
	// KindUnavailable if nothing listens. Cause.RetryDelay is then the rest of its delay.
	Cause *Error
	// Refused is set if the destination refused to open a stream, or refused streams without
	// records, and so no stream accepted the batch. It is the time when Cause was received. It
	// may be long before the call of Send, because Send does not try to open a stream itself.
	Refused time.Time
	// MaybeDelivered reports that records of the batch were sent. They may have
	// arrived. If the batch is sent again, they may then be delivered twice.
	MaybeDelivered bool
	// Acknowledged is how many records from the start of the batch were
	// acknowledged. They have arrived, except those in Rejected. Acknowledged and Rejected
	// count written records, as RejectedError.Ranges does. They are positions of items only
	// if LeftOut is nil and WriteBatch writes one record for each item, in order.
	Acknowledged uint64
	// Rejected are the records that were reported bad, as in RejectedError. Do not
	// send them again.
	Rejected []IDRange
	// LeftOut says which items WriteBatch left out when it last wrote the batch, nil if none.
	LeftOut error

	written uint64 // records of the batch; 0 if that is unknown
}

// Settled returns how many of the records of the batch were delivered, and how many were
// reported bad. records is the size of the batch. The sum of the results does not exceed it.
func (e *UnsentError) Settled(records uint64) (delivered, rejected uint64) {
	delivered = e.Acknowledged
	for _, r := range e.Rejected {
		rejected += r.To - r.From + 1
		if r.From <= e.Acknowledged {
			delivered -= min(r.To, e.Acknowledged) - r.From + 1
		}
	}
	delivered = min(delivered, records)
	return delivered, min(rejected, records-delivered)
}

// Error implements error.
func (e *UnsentError) Error() string {
	sent := "not sent"
	if e.MaybeDelivered {
		sent = "sent, not acknowledged"
		switch {
		case e.written == 0:
		case e.Acknowledged == 0:
			sent = "sent, none of " + count(e.written, "record") + " acknowledged"
		default:
			sent = fmt.Sprintf("sent, %d of %s acknowledged", e.Acknowledged, count(e.written, "record"))
		}
	}
	return fmt.Sprintf("stefgrpc: batch handed back (%s): %v", sent, e.Unwrap())
}

// Unwrap returns Cause.
func (e *UnsentError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// gaveUp returns the cause of a batch whose caller's context ended.
func gaveUp(ctx context.Context) *Error {
	err := ctx.Err()
	code := codes.Canceled
	if errors.Is(err, context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return &Error{Kind: KindCanceled, Code: code, Err: err}
}

func shutDown() *Error {
	return &Error{Kind: KindClosed, Code: codes.Unavailable, Err: ErrSessionClosed}
}

// refusal returns the fault of a failed attempt to open a stream if an early retry is useless,
// and nil otherwise.
func refusal(err *Error) *session.Fault {
	switch err.Kind {
	case KindUnimplemented, KindIncompatible, KindAuth:
		return faultOf(err)
	}
	return nil
}

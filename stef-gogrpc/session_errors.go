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
	// Ranges are the positions of the bad records among the written records of the batch,
	// counted from 1, in the order in which WriteBatch wrote them. Items that WriteBatch left
	// out have no position. The ranges are sorted and do not touch.
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
	// Delivered reports that the whole batch was delivered, except the part that Err names. If
	// WriteBatch left out all items, nothing was delivered, and Delivered is false. In an error
	// of WriteBatch, Delivered has another meaning: like LeftOut(Err), it makes Send wait for the
	// written records.
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

// LeftOut returns the error for a WriteBatch that left out items and wrote all other items.
// errs has one error for each omitted item. Like errors.Join, LeftOut returns nil if all of
// them are nil. The result wraps the errors and has a method Items() int. When the other items
// are delivered, Send returns a *BatchError with Delivered that wraps the result. If there are no
// other items, Delivered is false.
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
	return fmt.Sprintf("%d items left out, the first: %v", len(e), e[0])
}

// Unwrap returns the errors.
func (e leftOutError) Unwrap() []error { return e }

// Items returns how many items were left out.
func (e leftOutError) Items() int { return len(e) }

// UnsentError is the error of a batch that the session returned to its caller: the session does
// not use the batch any more. Cause.Retryable reports whether to send the batch again. It also
// returns true if the context of Send ended or the session was shut down. So end a loop of retries
// if ctx.Err() is not nil or the error wraps ErrSessionClosed.
//
// If the server ends a stream for a permanent reason, only the batch with the first unanswered
// record gets this reason as its Cause. If gRPC of either end refuses a message that is too large,
// the largest batch of the frame gets this reason instead. All other batches of the stream have a
// retryable Cause, because the server did not refuse them.
type UnsentError struct {
	// Cause is the reason. It wraps the error of the context if the context of
	// Send ended, and ErrSessionClosed if the session was shut down. The Kind of Cause is then
	// KindCanceled or KindClosed. If no stream was open at that time, Cause.Err also wraps
	// the *Error of the last attempt to open a stream, or of the last stream. Call errors.As
	// with Cause.Err to find this error: its Kind says why no stream was open, for example
	// KindUnavailable if nothing listens. In this case, Cause.RetryDelay is the remaining
	// part of the delay in this error.
	Cause *Error
	// If Cause is the reason why no stream accepted the batch, Refused is the time when Cause was
	// received. Such a reason is that the destination refused to open a stream, or refused streams
	// before records were sent on them, or that the program has a mistake. In other cases Refused
	// is zero. The time may be long before the call of Send, because Send does not try to open a
	// stream itself.
	Refused time.Time
	// MaybeDelivered reports that records of the batch were sent and may have arrived.
	// If the batch is sent again, these records may be delivered twice.
	MaybeDelivered bool
	// Acknowledged is how many records from the start of the batch were acknowledged. They
	// have arrived, except the records in Rejected. Like RejectedError.Ranges, Acknowledged
	// and Rejected count written records. They are positions of items only if LeftOut is nil
	// and WriteBatch writes one record for each item, in order.
	Acknowledged uint64
	// Rejected are the positions of the records that were reported as bad, as in
	// RejectedError. Do not send these records again.
	Rejected []IDRange
	// LeftOut says which items WriteBatch left out when it last wrote the batch. It is nil if
	// WriteBatch left out no items.
	LeftOut error

	written uint64 // number of records of the batch; 0 if it is unknown
}

// Settled returns how many records of the batch were delivered, and how many were reported
// as bad. records is the size of the batch. The sum of the results is at most records.
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

// usageError is an error about a mistake in the program, which no retry corrects.
type usageError string

// Error implements error.
func (m usageError) Error() string { return string(m) }

// refusal returns the fault of a failed attempt to open a stream if an early retry is useless,
// and nil otherwise.
func refusal(err *Error) *session.Fault {
	if errors.As(err, new(usageError)) {
		return faultOf(err)
	}
	switch err.Kind {
	case KindUnimplemented, KindIncompatible, KindAuth:
		return faultOf(err)
	case KindLimit:
		if err.Code == codes.Internal { // of headersTooLarge; other limits, such as the number of streams, may be met soon
			return faultOf(err)
		}
	}
	return nil
}

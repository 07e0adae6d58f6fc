// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
)

// ErrSessionClosed is wrapped by what Send returns after Shutdown was called.
var ErrSessionClosed = errors.New("session is shut down")

// RejectedError is a batch of which the destination will never accept some
// records. It has accepted all others: no part of the batch is to be sent again.
type RejectedError struct {
	// Ranges are the bad records by their place in the batch, counted from 1;
	// they are sorted and do not touch.
	Ranges []IDRange
	// Records is how many they are.
	Records uint64
}

// Error implements error.
func (e *RejectedError) Error() string {
	first := e.Ranges[0]
	more := ""
	if len(e.Ranges) > 1 {
		more = fmt.Sprintf(" and %d more ranges", len(e.Ranges)-1)
	}
	return fmt.Sprintf("stefgrpc: %d records rejected by the destination: records %d to %d of the batch%s",
		e.Records, first.From, first.To, more)
}

// BatchError is a batch that cannot be encoded. It is permanent for the batch,
// and the stream is as good as before.
type BatchError struct {
	// Err says what is wrong with the batch.
	Err error
}

// Error implements error.
func (e *BatchError) Error() string { return "stefgrpc: batch cannot be encoded: " + e.Err.Error() }

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// UnsentError is a batch that is the caller's again: the session has forgotten
// it. Whether to send it once more is for Cause.Retryable to say.
type UnsentError struct {
	// Cause is why. It wraps the error of the context if the caller gave up,
	// and ErrSessionClosed if the session did.
	Cause *Error
	// MaybeDelivered says that records of the batch were sent. They may have
	// arrived, and will then be there twice if the batch is sent again.
	MaybeDelivered bool
	// Acknowledged is how many records from the start of the batch were
	// acknowledged. They have arrived, but for those in Rejected.
	Acknowledged uint64
	// Rejected are the records that were reported bad, as in RejectedError.
	// They are not to be sent again.
	Rejected []IDRange
}

// Error implements error.
func (e *UnsentError) Error() string {
	sent := "not sent"
	if e.MaybeDelivered {
		sent = "sent, not acknowledged"
	}
	return "stefgrpc: batch handed back (" + sent + "): " + e.Cause.Error()
}

// Unwrap returns Cause.
func (e *UnsentError) Unwrap() error { return e.Cause }

// gaveUp is the cause of a batch whose caller's context ended.
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

// refusal says whether an attempt to open a stream failed for a reason that
// another attempt soon after will not cure.
func refusal(err *Error) bool {
	switch err.Kind {
	case KindUnimplemented, KindIncompatible, KindAuth:
		return true
	}
	return false
}

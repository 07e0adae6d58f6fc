// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/grpcstatus"
)

// Kind classifies an Error by what a sender should do about it.
type Kind uint8

// The kinds of an Error.
const (
	// KindUnknown is a failure without a known reason.
	KindUnknown Kind = iota
	// KindUnavailable is a connection or stream that was lost or could not be
	// opened. Another attempt may succeed.
	KindUnavailable
	// KindIncompatible is a server with another schema: neither end can use the
	// schema of the other.
	KindIncompatible
	// KindUnimplemented is a peer that does not implement STEF, or does not serve
	// the root.
	KindUnimplemented
	// KindLimit is a limit of this end or of the peer that was exceeded.
	KindLimit
	// KindProtocol is a peer that broke the rules of the protocol.
	KindProtocol
	// KindRejected is a peer that refuses for a permanent reason: sending again
	// does not help.
	KindRejected
	// KindCanceled means that the stream was ended locally, by Close or by a context.
	KindCanceled
	// KindClosed is a stream that was ended gracefully: by the server, which does this from
	// time to time, or by CloseSend. If a server that shuts down refuses to open a stream, the
	// error is also of KindClosed. The text says whether everything was acknowledged.
	KindClosed
	// KindAuth is missing or bad credentials.
	KindAuth
	// KindInvalid is data that the peer cannot decode.
	KindInvalid
)

var kinds = [...]struct {
	name string
	code codes.Code // status code of errors that arise at this end
}{
	KindUnknown:       {"unknown", codes.Unknown},
	KindUnavailable:   {"unavailable", codes.Unavailable},
	KindIncompatible:  {"incompatible", codes.FailedPrecondition},
	KindUnimplemented: {"unimplemented", codes.Unimplemented},
	KindLimit:         {"limit", codes.ResourceExhausted},
	KindProtocol:      {"protocol", codes.Internal},
	KindRejected:      {"rejected", codes.FailedPrecondition},
	KindCanceled:      {"canceled", codes.Canceled},
	KindClosed:        {"closed", codes.Unavailable},
	KindAuth:          {"auth", codes.Unauthenticated},
	KindInvalid:       {"invalid", codes.InvalidArgument},
}

// String returns the name of k in lower case.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is the type of all errors of this package that concern a peer.
type Error struct {
	Kind Kind
	// Code is the status with which the peer ended the stream. If the error arose
	// at this end, Code corresponds to Kind. If a handler returns an Error with
	// Code 0, the client receives the code that corresponds to Kind, such as
	// UNAVAILABLE for KindUnavailable.
	Code codes.Code
	// RetryDelay is how long the peer asks the client to wait. HasRetryInfo reports
	// that the peer sent a delay, which may be 0. A handler sets RetryDelay; it sets
	// HasRetryInfo only to send a delay of 0.
	RetryDelay   time.Duration
	HasRetryInfo bool
	// Err says what happened and where.
	Err error
}

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: kinds[kind].code, Err: fmt.Errorf(format, args...)}
}

func (e *Error) code() codes.Code {
	switch {
	case e.Code != codes.OK:
		return e.Code
	case int(e.Kind) < len(kinds):
		return kinds[e.Kind].code
	}
	return codes.Unknown
}

// at returns a copy of e whose text begins with a prefix, such as the operation.
func (e *Error) at(format string, args ...any) *Error {
	placed := *e
	placed.Err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), e.Err)
	return &placed
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "stefgrpc: " + e.Kind.String() + ": " + e.code().String()
	}
	return "stefgrpc: " + e.Kind.String() + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the data of the stream may be sent again, according to the table
// of OTLP. RESOURCE_EXHAUSTED is retryable only if the peer named a delay. Errors of
// KindUnavailable are always retryable, even with the code INTERNAL: gRPC reports this code for
// some lost streams.
func (e *Error) Retryable() bool {
	if e.Kind == KindUnavailable {
		return true
	}
	code := e.code()
	return grpcstatus.Retried(code) || code == codes.ResourceExhausted && e.namesDelay()
}

func (e *Error) namesDelay() bool { return e.HasRetryInfo || e.RetryDelay > 0 }

// GRPCStatus returns e as a status. status.FromError finds this status, also in an *UnsentError.
// A *BatchError and a *RejectedError have no status. If Err has a status with the code of e,
// GRPCStatus returns the status of Err. If e has a delay, the status has this delay.
func (e *Error) GRPCStatus() *status.Status {
	st := status.New(e.code(), e.Error())
	var from interface{ GRPCStatus() *status.Status }
	if errors.As(e.Err, &from) {
		if inner := from.GRPCStatus(); inner != nil && inner.Code() == e.code() {
			st = inner
		}
	}
	if delay, named := grpcstatus.RetryInfo(st); !e.namesDelay() || named && delay == e.RetryDelay {
		return st
	}
	other := st.Proto() // a copy
	other.Details = slices.DeleteFunc(other.GetDetails(), func(d *anypb.Any) bool { return d.MessageIs((*errdetails.RetryInfo)(nil)) })
	detailed, err := status.FromProto(other).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryDelay)})
	if err != nil {
		return st
	}
	return detailed
}

// FromStatus returns an error of gRPC as an *Error, and nil for nil. It returns an
// *Error unchanged. Errors without a status become KindUnknown.
func FromStatus(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Err: plainStatus(err), Code: statusCode(err)}
	e.Kind = kindOf(e.Code)
	if st, ok := status.FromError(err); ok {
		e.RetryDelay, e.HasRetryInfo = grpcstatus.RetryInfo(st)
	}
	switch reason := Reason(err); { // more specific than the code
	case reason == ReasonReconnect, reason == "" && goneAway(e):
		e.Kind = KindClosed
	case reason == ReasonSchema:
		e.Kind = KindIncompatible
	case reason == "" && cutShort(e):
		e.Kind = KindUnavailable
	case reason == "" && headersTooLarge(e):
		e.Kind = KindLimit
	}
	return e
}

// returned returns the error of a function of the caller, or nil if the error is empty. Empty
// errors are a nil *Error, such as the result of FromStatus(nil), a nil *BatchError, and an empty
// list of errors, such as nil stefpdata.ItemErrors. returned checks the length of the list, not its
// method Items: Items does not count the items of a damaged container, so it can return 0 for a
// list with errors.
func returned(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *Error:
		if e == nil {
			return nil
		}
	case *BatchError:
		if e == nil {
			return nil
		}
	case interface{ Items() int }:
		if list := reflect.ValueOf(err); list.Kind() == reflect.Slice && list.Len() == 0 {
			return nil
		}
	}
	return err
}

// statusError is a status of gRPC whose text is for users: it does not contain the code, which gRPC
// adds to the text. The code is already in the kind of the error.
type statusError struct {
	text string
	err  error
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// Unwrap returns the error of gRPC, which has the status.
func (e *statusError) Unwrap() error { return e.err }

// plainStatus returns err. If err carries a status of gRPC, the text of the result is for users.
func plainStatus(err error) error {
	carrier, ok := err.(interface{ GRPCStatus() *status.Status })
	if !ok {
		return err
	}
	st := carrier.GRPCStatus()
	switch text := st.Message(); {
	case text == "":
		return &statusError{st.Code().String() + " without a message", err}
	case st.Code() == codes.Unimplemented && strings.HasPrefix(text, "unknown service "):
		return &statusError{"the server does not implement STEF: " + text, err}
	default:
		return &statusError{text, err}
	}
}

// Only goneAway, cutShort and headersTooLarge decide by the text of a status, because nothing else shows these
// events.

// goneAway reports whether the connection received GOAWAY before it broke: the server or a proxy
// ended it gracefully.
func goneAway(e *Error) bool {
	return e.Code == codes.Unavailable && strings.Contains(e.Err.Error(), "received prior goaway: code: NO_ERROR")
}

// cutShort reports whether the stream ended without a status of the server: a proxy or the server
// reset the stream, or ended the stream in the middle of the data. gRPC at this end then creates a
// status. When a server sends a status with the same code, the error is permanent, but a stream
// that was cut may be retried. Only PERMISSION_DENIED stays permanent: the peer resets a stream
// with this code because the connection is not secure enough.
func cutShort(e *Error) bool {
	text := e.Err.Error()
	switch e.Code {
	case codes.Internal:
		return strings.Contains(text, "RST_STREAM") || strings.HasSuffix(text, "server closed the stream without sending trailers") ||
			text == "unexpected EOF" || strings.HasSuffix(text, " desc = unexpected EOF") // HasSuffix is for an error that wraps the status
	case codes.Unknown, codes.ResourceExhausted:
		return strings.Contains(text, "stream terminated by RST_STREAM")
	}
	return false
}

// headersTooLarge reports whether gRPC at this end did not send the headers of a stream, because they are
// larger than the server allows.
func headersTooLarge(e *Error) bool {
	return e.Code == codes.Internal && strings.Contains(e.Err.Error(), "header list size to send violates the maximum size")
}

func statusCode(err error) codes.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return codes.Unavailable
	}
	return status.Code(err)
}

func kindOf(code codes.Code) Kind {
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.DataLoss:
		return KindUnavailable
	case codes.Canceled:
		return KindCanceled
	case codes.Unimplemented:
		return KindUnimplemented
	case codes.ResourceExhausted:
		return KindLimit
	case codes.Unauthenticated, codes.PermissionDenied:
		return KindAuth
	case codes.InvalidArgument, codes.OutOfRange:
		return KindInvalid
	case codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists:
		return KindRejected
	}
	return KindUnknown
}

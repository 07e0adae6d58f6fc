// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Kind says what an Error means for whoever has data to send.
type Kind uint8

// The kinds of an Error.
const (
	// KindUnknown is a failure that says nothing about its reason.
	KindUnknown Kind = iota
	// KindUnavailable is a connection or stream that was lost or not to be had.
	// Another one may do better.
	KindUnavailable
	// KindIncompatible is a server with another schema, of which neither end
	// can use the other's.
	KindIncompatible
	// KindUnimplemented is a peer without STEF, or without the root.
	KindUnimplemented
	// KindLimit is a limit that was exceeded, at this end or the other.
	KindLimit
	// KindProtocol is a peer that broke the rules of the protocol.
	KindProtocol
	// KindRejected is a peer that refuses, for a reason that sending again does
	// not cure.
	KindRejected
	// KindCanceled is an end by this end's own wish: Close, or a context.
	KindCanceled
	// KindClosed is a stream that ended in order, but not with everything
	// acknowledged: the peer ends streams or connections from time to time, or
	// CloseSend was called before.
	KindClosed
	// KindAuth is missing or bad credentials.
	KindAuth
	// KindInvalid is data that the peer cannot decode.
	KindInvalid
)

var kinds = [...]struct {
	name string
	code codes.Code // of errors that arise at this end
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

// Error is every error of this package that has to do with a peer.
type Error struct {
	Kind Kind
	// Code is the status the peer ended the stream with, or the one that suits
	// Kind where the error arose at this end.
	Code codes.Code
	// RetryDelay is how long the peer wants to be left alone, if HasRetryInfo.
	RetryDelay   time.Duration
	HasRetryInfo bool
	// Err says what happened and where.
	Err error
}

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: kinds[kind].code, Err: fmt.Errorf(format, args...)}
}

// at returns e with a place, or more, before what it says.
func (e *Error) at(format string, args ...any) *Error {
	placed := *e
	placed.Err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), e.Err)
	return &placed
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "stefgrpc: " + e.Kind.String() + ": " + e.Code.String()
	}
	return "stefgrpc: " + e.Kind.String() + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Retryable says whether the data of the stream may be sent again, by the
// table of OTLP: RESOURCE_EXHAUSTED only where the peer gave a delay.
func (e *Error) Retryable() bool {
	switch e.Code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return true
	case codes.ResourceExhausted:
		return e.HasRetryInfo
	}
	return false
}

// GRPCStatus returns e as a status, so that status.FromError finds it.
func (e *Error) GRPCStatus() *status.Status {
	var from interface{ GRPCStatus() *status.Status }
	if errors.As(e.Err, &from) {
		if st := from.GRPCStatus(); st != nil && st.Code() == e.Code {
			return st
		}
	}
	code := e.Code
	if code == codes.OK {
		code = codes.Unknown
	}
	st := status.New(code, e.Error())
	if !e.HasRetryInfo {
		return st
	}
	detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryDelay)})
	if err != nil {
		return st
	}
	return detailed
}

// FromStatus returns an error of gRPC as an *Error, nil for nil. An *Error
// stays what it is; errors that carry no status are of KindUnknown.
func FromStatus(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Err: err, Code: statusCode(err)}
	e.Kind = kindOf(e.Code)
	if st, ok := status.FromError(err); ok {
		e.RetryDelay, e.HasRetryInfo = retryInfo(st)
	}
	switch reason := Reason(err); { // tells more than the code
	case reason == ReasonReconnect, reason == "" && goneAway(e):
		e.Kind = KindClosed
	case reason == ReasonSchema:
		e.Kind = KindIncompatible
	case reason == "" && streamReset(e):
		e.Kind = KindUnavailable
	}
	return e
}

// goneAway reports whether the connection was told to go away before it broke:
// the server, or a proxy, ends connections in order. streamReset reports whether
// a stream was reset between the ends; proxies do that with codes that would be
// final in a status. gRPC tells both in the text of the status only, so this is
// the one place where text decides.
func goneAway(e *Error) bool {
	return e.Code == codes.Unavailable && strings.Contains(e.Err.Error(), "received prior goaway: code: NO_ERROR")
}

func streamReset(e *Error) bool {
	return e.Code == codes.Internal && strings.Contains(e.Err.Error(), "RST_STREAM")
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

func retryInfo(st *status.Status) (delay time.Duration, ok bool) {
	for _, detail := range st.Details() {
		if info, isInfo := detail.(*errdetails.RetryInfo); isInfo {
			return max(0, info.GetRetryDelay().AsDuration()), true
		}
	}
	return 0, false
}

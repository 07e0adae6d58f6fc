// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	stef "github.com/otelstef/stef/stef-go"
)

// ReasonDomain is the domain of the ErrorInfo that servers of this package put
// into the details of a status.
const ReasonDomain = "github.com/otelstef/stef"

// The reasons in an ErrorInfo of ReasonDomain.
const (
	// ReasonUnknownRoot comes with UNIMPLEMENTED: the server has STEF, but does
	// not take records of that root. A server without STEF gives no reason.
	ReasonUnknownRoot = "UNKNOWN_ROOT"
	// ReasonReconnect comes with UNAVAILABLE: the server ends in order, and
	// wants its clients to open their streams anew, elsewhere if they can.
	ReasonReconnect = "RECONNECT"
	// ReasonBusy comes with UNAVAILABLE: there are as many streams as there may
	// be.
	ReasonBusy = "BUSY"
	// ReasonSchema comes with INVALID_ARGUMENT: the stream is in a schema that
	// the server cannot read.
	ReasonSchema = "INCOMPATIBLE_SCHEMA"
)

// Reason returns the reason that a server of this package gave for the end of a
// stream, or "".
func Reason(err error) string {
	if err == nil {
		return ""
	}
	st, _ := status.FromError(err)
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == ReasonDomain {
			return info.GetReason()
		}
	}
	return ""
}

// reasonStatus returns a status with a reason, and a delay unless it is 0.
func reasonStatus(code codes.Code, message, reason string, delay time.Duration) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: ReasonDomain}}
	if delay > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	}
	st := status.New(code, message)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return st.Err()
}

// busyDelay is how long clients leave a server alone that is full.
const busyDelay = time.Second

var (
	errReconnect = reasonStatus(codes.Unavailable, "the server is ending, open the stream anew", ReasonReconnect, 0)
	errBusy      = reasonStatus(codes.Unavailable, "the server has as many streams as it takes", ReasonBusy, busyDelay)
	// What was delivered and not acknowledged when these end a stream may come
	// again, so they do not claim to be an end in order.
	errCutShort = status.Error(codes.Unavailable, "the server ended before the stream did")
	errUntold   = status.Error(codes.Unavailable, "the client did not take its last acknowledgements in time")
	errPanicked = status.Error(codes.Internal, "the handler of the server panicked")
)

// crowded is the error of a stream that ends because the server lacks memory.
func crowded(reason string) *Error {
	return &Error{Kind: KindLimit, Code: codes.ResourceExhausted, HasRetryInfo: true, RetryDelay: busyDelay, Err: errors.New(reason)}
}

func errUnknownRoot(name string) error {
	const longest = 64
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	st := status.Newf(codes.Unimplemented, "the server does not take records of root %q", name)
	return reasonStatus(st.Code(), st.Message(), ReasonUnknownRoot, 0)
}

// statusOf returns the status of an error of a handler.
//
// spec: #grpc-status
func statusOf(err error) error {
	var carrier interface{ GRPCStatus() *status.Status }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &carrier) && carrier.GRPCStatus().Code() != codes.OK:
		// The status as it is: status.FromError would replace its message.
		return carrier.GRPCStatus().Err()
	case errors.Is(err, stef.ErrLimit):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, stef.ErrSchema):
		return reasonStatus(codes.InvalidArgument, err.Error(), ReasonSchema, 0)
	case errors.Is(err, stef.ErrCorrupt), errors.Is(err, stef.ErrVersion):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unknown, err.Error())
}

// stopReason is why a server made a stream end.
type stopReason uint8

const (
	stopNone     stopReason = iota
	stopLifetime            // it is old
	stopIdle                // nothing was sent for too long
	stopShutdown            // the server ends
)

// status returns the status of the stream after its handler returned err. told
// says whether the client could be told all that was acknowledged.
func (s *ServerStream) status(err error, told bool) error {
	// A reader that was stopped behind a chunk takes that as a clean end if the
	// chunk was a frame, and as a cut in any other case, such as between the
	// headers. Neither is the client's fault.
	stopped := s.stopped != stopNone && errors.Is(err, io.ErrUnexpectedEOF)
	var cause *Error // of the end of the context, if the server ended it for the client's doing
	errors.As(context.Cause(s.ctx), &cause)
	switch {
	case cause != nil && (err == nil || errors.Is(err, context.Canceled)):
		return cause.GRPCStatus().Err()
	case s.killed() && (err == nil || stopped || errors.Is(err, context.Canceled)):
		return errCutShort
	case err == nil && s.readErr != nil && s.readErr != io.EOF:
		// The handler may not care how the stream ended, but the client has to
		// learn it.
		return statusOf(s.readErr)
	case err != nil && !stopped:
		return statusOf(err)
	case !told:
		return errUntold
	case s.stopped == stopShutdown:
		return errReconnect
	}
	return nil
}

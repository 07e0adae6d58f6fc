// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/grpcstatus"
	stef "github.com/otelstef/stef/stef-go"
)

// ReasonDomain is the domain of the ErrorInfo in the status details that servers
// of this package send.
const ReasonDomain = "github.com/otelstef/stef"

// The reasons in an ErrorInfo of ReasonDomain.
const (
	// ReasonUnknownRoot is sent with UNIMPLEMENTED: the server implements STEF,
	// but does not accept records of that root. A server without STEF sends no
	// reason.
	ReasonUnknownRoot = "UNKNOWN_ROOT"
	// ReasonReconnect is sent with UNAVAILABLE when the server ends gracefully. Clients should
	// open their streams again, on another server if possible.
	ReasonReconnect = "RECONNECT"
	// ReasonBusy is sent with UNAVAILABLE: the limit of streams is reached.
	ReasonBusy = "BUSY"
	// ReasonSchema is sent with INVALID_ARGUMENT: the server cannot read the
	// schema of the stream.
	ReasonSchema = "INCOMPATIBLE_SCHEMA"
)

// Reason returns the reason that a server of this package gave for the end of a
// stream, or "" if the server gave no reason. If an *Error gives no reason, Reason looks for one
// in the errors that it wraps. So for an *UnsentError whose context ended, Reason returns the
// reason why no stream was open.
func Reason(err error) string {
	for err != nil {
		st, _ := status.FromError(err)
		for _, detail := range st.Details() {
			if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == ReasonDomain {
				return info.GetReason()
			}
		}
		var e *Error
		if !errors.As(err, &e) {
			break
		}
		err = e.Err
	}
	return ""
}

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

// busyDelay is the retry delay that a server sends if it is full, or if a handler
// failed and named no delay.
const busyDelay = time.Second

var (
	errReconnect = reasonStatus(codes.Unavailable, "the server is ending, open the stream again", ReasonReconnect, 0)
	errBusy      = reasonStatus(codes.Unavailable, "the server has reached its maximum number of streams", ReasonBusy, busyDelay)
	// These statuses have no reason, because the stream did not end gracefully: delivered data may
	// be unacknowledged, and clients may send it again.
	errCutShort = status.Error(codes.Unavailable, "the server shut down before the stream ended")
	errUntold   = status.Error(codes.Unavailable, "the client did not read its last acknowledgements in time")
	errPanicked = status.Error(codes.Internal, "the handler of the server panicked")
)

// memoryError returns the error of a stream that ends because the server lacks memory.
func memoryError(reason string) *Error {
	return &Error{Kind: KindLimit, Code: codes.ResourceExhausted, HasRetryInfo: true, RetryDelay: busyDelay, Err: errors.New(reason)}
}

// errUnknownRoot returns the status for a root that the server does not serve. served
// lists the names of the roots that the server serves.
func errUnknownRoot(name string, served []string) error {
	const longest = 64
	if len(name) > longest {
		name = name[:longest] + "…"
	}
	text := fmt.Sprintf("the server does not accept records of root %q, only of %q", name, served)
	if len(served) == 0 {
		text = fmt.Sprintf("the server does not accept records of root %q: no handler is registered (Server.Handle)", name)
	}
	return reasonStatus(codes.Unimplemented, text, ReasonUnknownRoot, 0)
}

func shortened(err error) error {
	st, ok := status.FromError(err)
	if !ok || st == nil {
		return err
	}
	short := st.Proto() // a copy
	short.Message = grpcstatus.Shorten(short.GetMessage())
	details := len(short.GetDetails())
	// Drop the largest detail first: the retry delay is small, so it remains.
	for proto.Size(&rpcstatus.Status{Details: short.GetDetails()}) > grpcstatus.MaxText {
		largest := slices.MaxFunc(short.GetDetails(), func(a, b *anypb.Any) int { return proto.Size(a) - proto.Size(b) })
		short.Details = slices.DeleteFunc(short.GetDetails(), func(detail *anypb.Any) bool { return detail == largest })
	}
	if short.GetMessage() == st.Message() && len(short.GetDetails()) == details {
		return err
	}
	return status.FromProto(short).Err()
}

// statusOf returns the status of an error of a handler. A long text is truncated, and large
// details are omitted.
//
// spec: #grpc-status
func statusOf(err error) error { return shortened(wholeStatus(err)) }

func wholeStatus(err error) error {
	var carrier interface{ GRPCStatus() *status.Status }
	var own *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own) && own.Err != nil && own.GRPCStatus().Message() == own.Error():
		// The client adds the kind to its own error. If this status had the kind, too, the client
		// would print the kind twice.
		st := own.GRPCStatus().Proto()
		st.Message = own.Err.Error()
		return status.FromProto(st).Err()
	case errors.As(err, &carrier) && carrier.GRPCStatus().Code() != codes.OK:
		// Use the status unchanged: status.FromError would replace its message.
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
	// The error does not say that the data is bad, so the client may send it again.
	// After UNKNOWN, the client would drop the data.
	st := status.New(codes.Unavailable, err.Error())
	if detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(busyDelay)}); err == nil {
		st = detailed
	}
	return st.Err()
}

type stopReason uint8

const (
	stopNone stopReason = iota
	stopLifetime
	stopIdle // nothing was sent for too long
	stopShutdown
	stopHalted // StopReading was called
)

// status returns the status of the stream after its handler returned err. told
// reports whether all acknowledgements could be sent to the client.
func (s *ServerStream) status(err error, told bool) error {
	// A stopped reader can report a truncated stream: if the server stops it between the fixed
	// header and the var header, or StopReading stops it within a chunk. The client did nothing
	// wrong, so ignore this error. After StopReading, ignore io.ErrUnexpectedEOF only if a reader
	// returned it. The io.ErrUnexpectedEOF of a database, for example, can be the reason why the
	// handler called StopReading.
	stopped := s.stopped != stopNone && errors.Is(err, io.ErrUnexpectedEOF) &&
		(s.stopped != stopHalted || errors.Is(err, stef.ErrCorrupt))
	if err == io.EOF && s.readErr == io.EOF {
		err = nil // the handler returned the io.EOF of a graceful end
	}
	var cause *Error // why the server cancelled the context; nil if Shutdown did
	errors.As(context.Cause(s.ctx), &cause)
	switch {
	case cause != nil && (err == nil || errors.Is(err, context.Canceled)):
		return statusOf(cause)
	case s.killed() && (err == nil || stopped || errors.Is(err, context.Canceled)):
		return errCutShort
	case err == nil && s.readErr != nil && s.readErr != io.EOF:
		// The handler may ignore how the stream ended, but the client must receive the
		// error.
		return s.failed(s.readErr, told)
	case err != nil && !stopped:
		return s.failed(err, told)
	case !told:
		return errUntold
	case s.stopped == stopShutdown:
		return errReconnect
	}
	return nil
}

// failed returns the status of a stream that ends with err. After a permanent error, a client
// drops the batch with the first unanswered record. If the client has not received all answers,
// the handler may have accepted this batch. In this case the status is retryable, so that the
// client sends all unanswered batches again.
func (s *ServerStream) failed(err error, told bool) error {
	st := statusOf(err)
	if told || s.grpc.Context().Err() != nil || FromStatus(st).Retryable() {
		return st
	}
	var cause *Error
	if errors.As(context.Cause(s.ctx), &cause) && cause.Retryable() {
		return statusOf(cause)
	}
	return status.Errorf(codes.Unavailable, "%s; the stream ended with %s", status.Convert(errUntold).Message(), status.Convert(st).Message())
}

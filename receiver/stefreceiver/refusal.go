// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/fanout"
	"github.com/otelstef/stef/internal/grpcstatus"
	"github.com/otelstef/stef/stef-gogrpc"
)

// refusal is the reason why data was not accepted, as the client receives it. Both protocols use
// the rules of OTLP: a permanent refusal has a code that is never retried, and a temporary refusal
// has UNAVAILABLE with a retry delay.
type refusal struct {
	permanent bool
	status    *status.Status
}

// refusalOf converts an error of the pipeline to a refusal. after is the retry delay that is used
// if the error has no delay.
//
// An error is permanent if it is marked as permanent, or if it carries a status that
// OTLP does not retry. RESOURCE_EXHAUSTED and UNKNOWN count as temporary: limiters use
// RESOURCE_EXHAUSTED to report that they are full temporarily, and UNKNOWN has no
// defined meaning.
//
// The fan-out of the Collector and connectors return the errors of several consumers as one
// error. This error is permanent if all errors of the consumers are permanent.
func refusalOf(err error, after time.Duration) refusal {
	if parts := fanout.Parts(err); len(parts) > 0 {
		return refusalOfAll(err, parts, after)
	}
	st, ok := statusOf(err)
	permanent := consumererror.IsPermanent(err)
	if ok && !permanent {
		switch st.Code() {
		case codes.OK, codes.Unknown, codes.ResourceExhausted:
		default:
			permanent = !grpcstatus.Retried(st.Code())
		}
	}
	if !permanent {
		return refusal{status: unavailable(err.Error(), delayOf(st, after))}
	}
	if !ok || st.Code() == codes.OK || st.Code() == codes.Unknown || grpcstatus.Retried(st.Code()) {
		return refusal{permanent: true, status: status.New(codes.Internal, grpcstatus.Shorten(err.Error()))}
	}
	// Remove a retry delay: senders of OTLP would retry because of it.
	if _, named := grpcstatus.RetryInfo(st); named || proto.Size(st.Proto()) > grpcstatus.MaxText {
		st = status.New(st.Code(), grpcstatus.Shorten(st.Message()))
	}
	return refusal{permanent: true, status: st}
}

// refusalOfAll converts an error that consists of the errors of several consumers. Data that one
// consumer refused temporarily must be sent again, after the longest delay of all consumers. A
// permanent refusal has the code of the first error.
func refusalOfAll(err error, parts []error, after time.Duration) refusal {
	longest := time.Duration(-1)
	for _, part := range parts {
		if r := refusalOf(part, after); !r.permanent {
			longest = max(longest, delayOf(r.status, after))
		}
	}
	if longest >= 0 {
		return refusal{status: unavailable(err.Error(), longest)}
	}
	return refusal{permanent: true, status: status.New(refusalOf(parts[0], after).status.Code(), grpcstatus.Shorten(err.Error()))}
}

func statusOf(err error) (*status.Status, bool) {
	var carrier *consumererror.Error
	if errors.As(err, &carrier) {
		return consumererror.ToGRPCStatus(err), true
	}
	return status.FromError(err)
}

// delayOf returns the retry delay of a status. If the status has none, it returns the argument
// after.
func delayOf(st *status.Status, after time.Duration) time.Duration {
	if delay, ok := grpcstatus.RetryInfo(st); ok {
		return delay
	}
	return after
}

func unavailable(message string, after time.Duration) *status.Status {
	return detailed(codes.Unavailable, message, &errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
}

// errHeldMost gracefully ends the stream that held the most memory. The client opens
// another stream immediately.
var errHeldMost = detailed(codes.Unavailable, "the streams of this receiver hold too much memory, and this stream holds the most: open it again",
	&errdetails.ErrorInfo{Reason: stefgrpc.ReasonReconnect, Domain: stefgrpc.ReasonDomain}).Err()

func undecodable(err error) *status.Status {
	violation := &errdetails.BadRequest_FieldViolation{Field: "request", Description: grpcstatus.Shorten(err.Error())}
	return detailed(codes.InvalidArgument, "the request cannot be decoded: "+err.Error(),
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}})
}

// badRequest refuses a request that exceeds a limit or cannot be decoded.
type badRequest struct {
	error         // the status as an error
	reason string // value of the attribute reason of the metric
}

// GRPCStatus returns the status of the answer.
func (b *badRequest) GRPCStatus() *status.Status { return status.Convert(b.error) }

func exceeds(reason, format string, args ...any) error {
	return &badRequest{status.Errorf(codes.ResourceExhausted, format, args...), reason}
}

func invalid(err error) error { return &badRequest{undecodable(err).Err(), requestInvalid} }

func detailed(code codes.Code, message string, detail protoadapt.MessageV1) *status.Status {
	st := status.New(code, grpcstatus.Shorten(message))
	if with, err := st.WithDetails(detail); err == nil {
		st = with
	}
	return st
}

// panicked returns a permanent refusal of data that caused a panic, because the same
// data would cause the panic again.
func panicked(what string, value any) error {
	return consumererror.NewPermanent(status.Error(codes.Internal, fmt.Sprintf("the %s panicked: %v", what, value)))
}

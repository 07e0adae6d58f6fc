// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestFromStatus checks which statuses may be retried, according to the table of OTLP.
func TestFromStatus(t *testing.T) {
	f := func(code codes.Code, kind Kind, retryable bool) {
		t.Helper()
		err := status.Error(code, "text")
		e := FromStatus(fmt.Errorf("wrapped: %w", err))
		require.Equal(t, code, e.Code)
		require.Equal(t, kind, e.Kind)
		require.Equal(t, retryable, e.Retryable())
		require.False(t, e.HasRetryInfo)
		require.ErrorIs(t, e, err)
		require.ErrorContains(t, e, kind.String())
		require.ErrorContains(t, e, "text")
		require.Equal(t, code, status.Code(e))
		require.Equal(t, code, status.Code(fmt.Errorf("wrapped again: %w", e)))
		require.Same(t, e, FromStatus(fmt.Errorf("wrapped again: %w", e)))
	}
	f(codes.Canceled, KindCanceled, true)
	f(codes.Unknown, KindUnknown, false)
	f(codes.InvalidArgument, KindInvalid, false)
	f(codes.DeadlineExceeded, KindUnavailable, true)
	f(codes.NotFound, KindRejected, false)
	f(codes.AlreadyExists, KindRejected, false)
	f(codes.PermissionDenied, KindAuth, false)
	f(codes.ResourceExhausted, KindLimit, false)
	f(codes.FailedPrecondition, KindRejected, false)
	f(codes.Aborted, KindUnavailable, true)
	f(codes.OutOfRange, KindInvalid, true)
	f(codes.Unimplemented, KindUnimplemented, false)
	f(codes.Internal, KindUnknown, false)
	f(codes.Unavailable, KindUnavailable, true)
	f(codes.DataLoss, KindUnavailable, true)
	f(codes.Unauthenticated, KindAuth, false)
	f(codes.Code(77), KindUnknown, false)

	require.Nil(t, FromStatus(nil))
	require.Nil(t, FromStatus(status.Error(codes.OK, "")))

	// These streams ended without a status from the server, so the data may be good and can be sent
	// again.
	cut := func(code codes.Code, text string, want bool) {
		t.Helper()
		plain := status.Error(code, text)
		for _, err := range []error{plain, fmt.Errorf("wrapped: %w", plain)} {
			e := FromStatus(err)
			require.Equal(t, want, e.Kind == KindUnavailable)
			require.Equal(t, want, e.Retryable())
			require.Equal(t, code, e.Code)
		}
	}
	reset := "stream terminated by RST_STREAM with error code: "
	cut(codes.Internal, reset+"INTERNAL_ERROR", true)
	cut(codes.ResourceExhausted, reset+"ENHANCE_YOUR_CALM", true)
	cut(codes.Unknown, reset+"UNKNOWN_CODE_99", true)
	cut(codes.PermissionDenied, reset+"INADEQUATE_SECURITY", false)
	cut(codes.Internal, "server closed the stream without sending trailers", true)
	cut(codes.Internal, "unexpected EOF", true)
	cut(codes.Internal, "cannot decode: unexpected EOF", false)
	cut(codes.Unknown, "unexpected EOF", false)
}

func TestFromOtherErrors(t *testing.T) {
	f := func(err error, kind Kind, code codes.Code) {
		t.Helper()
		e := FromStatus(err)
		require.Equal(t, kind, e.Kind)
		require.Equal(t, code, e.Code)
		require.Equal(t, code, e.GRPCStatus().Code())
	}
	f(context.Canceled, KindCanceled, codes.Canceled)
	f(context.DeadlineExceeded, KindUnavailable, codes.DeadlineExceeded)
	f(io.EOF, KindUnavailable, codes.Unavailable)
	f(fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), KindUnavailable, codes.Unavailable)
	f(errors.New("text"), KindUnknown, codes.Unknown)
}

func TestRetryInfo(t *testing.T) {
	f := func(wants time.Duration, info *errdetails.RetryInfo) {
		t.Helper()
		st, err := status.New(codes.ResourceExhausted, "later").WithDetails(&errdetails.ErrorInfo{Reason: "r"}, info)
		require.NoError(t, err)
		e := FromStatus(st.Err())
		require.True(t, e.HasRetryInfo)
		require.True(t, e.Retryable())
		require.Equal(t, wants, e.RetryDelay)

		// A peer that receives the error as a status can restore all fields.
		again := FromStatus(e.GRPCStatus().Err())
		require.True(t, again.HasRetryInfo)
		require.Equal(t, wants, again.RetryDelay)
		require.Len(t, e.GRPCStatus().Details(), 2)
	}
	f(3*time.Second, &errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
	f(0, &errdetails.RetryInfo{})
	f(0, &errdetails.RetryInfo{RetryDelay: durationpb.New(-time.Second)})
}

func TestErrorsOfThisEnd(t *testing.T) {
	for kind := KindUnknown; kind <= KindInvalid; kind++ {
		e := errorf(kind, "it is %d", kind)
		require.Equal(t, fmt.Sprintf("stefgrpc: %s: it is %d", kind, kind), e.Error())
		require.Equal(t, e.Code, status.Code(e))
		require.NotEqual(t, codes.OK, e.Code)
		st, ok := status.FromError(e)
		require.True(t, ok)
		require.Equal(t, e.Error(), st.Message())
	}
	require.Equal(t, "kind 99", Kind(99).String())

	e := errorf(KindLimit, "full")
	e.RetryDelay, e.HasRetryInfo = time.Minute, true
	require.Equal(t, time.Minute, FromStatus(e.GRPCStatus().Err()).RetryDelay)

	// RetryDelay is sent even without HasRetryInfo: if a full server sends no delay, its clients
	// drop their data.
	e.HasRetryInfo = false
	require.True(t, e.Retryable())
	sent := FromStatus(e.GRPCStatus().Err())
	require.True(t, sent.HasRetryInfo)
	require.Equal(t, time.Minute, sent.RetryDelay)
	require.False(t, (&Error{Kind: KindLimit}).Retryable())

	placed := e.at("here %d", 1)
	require.Equal(t, "stefgrpc: limit: here 1: full", placed.Error())
	require.Equal(t, "stefgrpc: limit: full", e.Error())
	require.True(t, placed.Retryable())

	// If an Error wraps a status whose code differs from Code, the sent status has Code.
	e = &Error{Kind: KindClosed, Code: codes.Unavailable, Err: status.Error(codes.Internal, "inner")}
	require.Equal(t, codes.Unavailable, status.Code(e))
	e = &Error{Kind: KindClosed}
	require.Equal(t, codes.Unavailable, status.Code(e))
	require.Equal(t, "stefgrpc: closed: Unavailable", e.Error())
	require.True(t, e.Retryable())
	require.Equal(t, codes.Unknown, status.Code(&Error{Kind: 99}))
}

// The text of an error does not contain "rpc error: code =", as gRPC prints a status. Programs can
// still find the status in the error.
func TestPlainStatus(t *testing.T) {
	for want, err := range map[string]error{
		`stefgrpc: unimplemented: the server does not accept records of root "Shop", only of ["Logs" "Spans"]`:                 errUnknownRoot("Shop", []string{"Logs", "Spans"}),
		`stefgrpc: unimplemented: the server does not accept records of root "Shop": no handler is registered (Server.Handle)`: errUnknownRoot("Shop", nil),
		"stefgrpc: unimplemented: the server does not implement STEF: unknown service STEFDestination":                         status.Error(codes.Unimplemented, "unknown service STEFDestination"),
		"stefgrpc: invalid: InvalidArgument without a message":                                                                 status.Error(codes.InvalidArgument, ""),
		"stefgrpc: unavailable: it is gone": status.Error(codes.Unavailable, "it is gone"),
		"stefgrpc: unknown: no status":      errors.New("no status"),
	} {
		got := FromStatus(err)
		require.EqualError(t, got, want)
		require.ErrorIs(t, got, err)
		if st, ok := status.FromError(err); ok {
			require.Equal(t, st.Code(), status.Code(got))
			require.Equal(t, Reason(err), Reason(got))
		}
	}
}

func TestLeftOut(t *testing.T) {
	require.NoError(t, LeftOut())
	require.NoError(t, LeftOut(nil, nil))
	err := LeftOut(nil, io.EOF)
	require.EqualError(t, err, "1 item left out: EOF")
	err = LeftOut(io.EOF, nil, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "2 items left out, the first: EOF")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	var items interface{ Items() int }
	require.ErrorAs(t, err, &items)
	require.Equal(t, 2, items.Items())
	require.Equal(t, err, leftOut(err), "a session delivers the other items")
}

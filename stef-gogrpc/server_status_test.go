// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/grpcstatus"
	stef "github.com/otelstef/stef/stef-go"
)

// Clients restore the kind, code and reason of an error from the status that the
// server sent.
func TestReasons(t *testing.T) {
	f := func(err error, kind Kind, code codes.Code, reason string, retryable bool) {
		t.Helper()
		require.Equal(t, reason, Reason(err))
		e := FromStatus(err)
		require.Equal(t, kind, e.Kind)
		require.Equal(t, code, e.Code)
		require.Equal(t, retryable, e.Retryable())
		require.Equal(t, reason, Reason(e))
		require.Equal(t, reason, Reason(fmt.Errorf("wrapped: %w", e)))
		require.Equal(t, code, status.Code(e))
	}
	f(errReconnect, KindClosed, codes.Unavailable, ReasonReconnect, true)
	f(errBusy, KindUnavailable, codes.Unavailable, ReasonBusy, true)
	f(errUnknownRoot("Profiles", nil), KindUnimplemented, codes.Unimplemented, ReasonUnknownRoot, false)
	f(status.Error(codes.Unimplemented, "unknown service"), KindUnimplemented, codes.Unimplemented, "", false)
	f(statusOf(fmt.Errorf("reading: %w", stef.ErrSchema)), KindIncompatible, codes.InvalidArgument, ReasonSchema, false)
	f(statusOf(fmt.Errorf("reading: %w", stef.ErrCorrupt)), KindInvalid, codes.InvalidArgument, "", false)
	f(statusOf(fmt.Errorf("reading: %w", stef.ErrLimit)), KindLimit, codes.ResourceExhausted, "", false)
	f(errors.New("nothing of gRPC"), KindUnknown, codes.Unknown, "", false)
	require.Empty(t, Reason(nil))

	// The error that Send returns if its context ends while no stream is open.
	gone := &Error{Kind: KindCanceled, Code: codes.DeadlineExceeded, Err: context.DeadlineExceeded}
	require.Empty(t, Reason(&UnsentError{Cause: gone}))
	(&openFailure{err: FromStatus(errBusy).at("opening a stream")}).explain(gone)
	require.Equal(t, ReasonBusy, Reason(&UnsentError{Cause: gone}))

	// The text of the error names the kind only once, and the delay that the handler set arrives at
	// the client.
	busy := &Error{Kind: KindLimit, RetryDelay: time.Minute, Err: errors.New("disk full")}
	e := FromStatus(statusOf(fmt.Errorf("storing: %w", busy)))
	require.Equal(t, "stefgrpc: limit: disk full", e.Error())
	require.Equal(t, time.Minute, e.RetryDelay)
	require.True(t, e.Retryable())
}

// TestDelayOfHandler: a handler returns an error that has its own retry delay and wraps the status of
// a database. The client receives this delay. After RESOURCE_EXHAUSTED without a delay, the client
// would drop the data.
func TestDelayOfHandler(t *testing.T) {
	for _, inner := range []error{
		status.Error(codes.ResourceExhausted, "quota"),
		reasonStatus(codes.ResourceExhausted, "quota", "OTHER", time.Second),
	} {
		for _, delay := range []time.Duration{0, time.Minute} {
			e := FromStatus(statusOf(&Error{Kind: KindLimit, HasRetryInfo: delay == 0, RetryDelay: delay, Err: inner}))
			require.Equal(t, "stefgrpc: limit: quota", e.Error())
			require.Equal(t, delay, e.RetryDelay)
			require.True(t, e.Retryable())
			require.Equal(t, Reason(inner), Reason(e))
		}
	}
}

// TestLongStatus: the text of a status is truncated, because it is sent in headers. The code, the
// delay and the reason of the status remain.
func TestLongStatus(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	for _, err := range []error{
		errors.New(long),
		&Error{Kind: KindLimit, RetryDelay: time.Minute, Err: errors.New(long)},
		reasonStatus(codes.Unavailable, long, ReasonBusy, time.Minute),
		fmt.Errorf("%s: %w", long, stef.ErrSchema),
		status.Error(codes.Aborted, long),
	} {
		whole, st := FromStatus(wholeStatus(err)), statusOf(err)
		require.LessOrEqual(t, len(status.Convert(st).Message()), grpcstatus.MaxText)
		require.Greater(t, len(status.Convert(st).Message()), grpcstatus.MaxText-5)
		require.True(t, utf8.ValidString(status.Convert(st).Message()))
		e := FromStatus(st)
		require.Equal(t, whole.Kind, e.Kind)
		require.Equal(t, whole.Code, e.Code)
		require.Equal(t, whole.RetryDelay, e.RetryDelay)
		require.Equal(t, Reason(wholeStatus(err)), Reason(st))
	}
	require.NoError(t, statusOf(nil))
}

// TestInvalidStatusText: gRPC drops the details of a status whose text is not UTF-8, so the text
// is corrected. Without the delay in the details, RESOURCE_EXHAUSTED would be permanent, and the
// client would drop data.
func TestInvalidStatusText(t *testing.T) {
	for _, err := range []error{
		&Error{Kind: KindLimit, RetryDelay: time.Minute, Err: errors.New("key \xff")},
		reasonStatus(codes.Unavailable, "key \xff", ReasonBusy, time.Minute),
	} {
		st := status.Convert(statusOf(err))
		require.Equal(t, "key \uFFFD", st.Message())
		_, err := proto.Marshal(st.Proto())
		require.NoError(t, err)
		require.Equal(t, time.Minute, FromStatus(st.Err()).RetryDelay)
	}
}

// TestLargeDetails: large details of a status are omitted, because they are sent in headers.
// Small details, such as the delay, remain.
func TestLargeDetails(t *testing.T) {
	debug := &errdetails.DebugInfo{Detail: strings.Repeat("x", 10_000)}
	st, err := status.New(codes.Unavailable, "full").WithDetails(debug, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)}, debug)
	require.NoError(t, err)
	short := status.Convert(statusOf(fmt.Errorf("store: %w", st.Err())))
	require.Equal(t, "full", short.Message())
	require.Less(t, proto.Size(short.Proto()), grpcstatus.MaxText)
	e := FromStatus(short.Err())
	require.Equal(t, KindUnavailable, e.Kind)
	require.Equal(t, time.Minute, e.RetryDelay)
	require.Len(t, st.Details(), 3, "the error of the handler is unchanged")

	// A detail of almost the maximum size does not displace the delay. Without the delay, the
	// client would drop data.
	info := &errdetails.DebugInfo{Detail: strings.Repeat("x", 950)}
	st, err = status.New(codes.ResourceExhausted, "full").WithDetails(info, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Minute)})
	require.NoError(t, err)
	require.True(t, FromStatus(statusOf(st.Err())).Retryable())
}

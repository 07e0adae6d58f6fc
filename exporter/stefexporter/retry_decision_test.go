// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestRetryable checks all 17 codes of the retry table of OTLP.
func TestRetryable(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.OK:                 false,
		codes.Canceled:           true,
		codes.Unknown:            false,
		codes.InvalidArgument:    false,
		codes.DeadlineExceeded:   true,
		codes.NotFound:           false,
		codes.AlreadyExists:      false,
		codes.PermissionDenied:   false,
		codes.ResourceExhausted:  false, // see below
		codes.FailedPrecondition: false,
		codes.Aborted:            true,
		codes.OutOfRange:         true,
		codes.Unimplemented:      false,
		codes.Internal:           false,
		codes.Unavailable:        true,
		codes.DataLoss:           true,
		codes.Unauthenticated:    false,
	} {
		retry := func(info bool, also alsoRetried) bool {
			return decideRetry(&stefgrpc.Error{Code: code, HasRetryInfo: info}, also).retry
		}
		require.Equal(t, want, retry(false, alsoRetried{}), code)
		exhausted := code == codes.ResourceExhausted
		require.Equal(t, want || exhausted, retry(true, alsoRetried{}), code)
		require.Equal(t, want || exhausted, retry(false, alsoRetried{exhausted: true}), code)
		credentials := code == codes.Unauthenticated || code == codes.PermissionDenied
		require.Equal(t, want || credentials, retry(false, alsoRetried{credentials: true}), code)
		require.NotContains(t, codeName(code), "CODE_")
	}
	require.Len(t, codeNames, 17)
	require.Equal(t, "CODE_99", codeName(99))
}

func withRetryInfo(code codes.Code, delay time.Duration) error {
	st, err := status.New(code, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

func TestJudge(t *testing.T) {
	f := func(err error, want retryDecision) {
		t.Helper()
		require.Equal(t, want, decideRetry(err, alsoRetried{}))
		require.Equal(t, want, decideRetry(fmt.Errorf("wrapped: %w", err), alsoRetried{}))
	}
	f(status.Error(codes.Unavailable, ""), retryDecision{retry: true, code: codes.Unavailable})
	f(withRetryInfo(codes.Unavailable, time.Second), retryDecision{retry: true, delay: time.Second, code: codes.Unavailable})
	f(withRetryInfo(codes.ResourceExhausted, 0), retryDecision{retry: true, code: codes.ResourceExhausted})
	f(status.Error(codes.ResourceExhausted, ""), retryDecision{code: codes.ResourceExhausted})
	f(withRetryInfo(codes.InvalidArgument, time.Second), retryDecision{delay: time.Second, code: codes.InvalidArgument})
	f(context.DeadlineExceeded, retryDecision{retry: true, code: codes.DeadlineExceeded})
	f(context.Canceled, retryDecision{retry: true, code: codes.Canceled})
	f(errors.New("no status"), retryDecision{code: codes.Unknown})

	require.True(t, decideRetry(status.Error(codes.ResourceExhausted, ""), alsoRetried{exhausted: true}).retry)
}

func TestJudgeStream(t *testing.T) {
	f := func(err error, retry bool) {
		t.Helper()
		require.Equal(t, retry, decideStreamRetry(err, alsoRetried{}).retry)
	}
	// If the peer ends a stream with a status, the status is judged like the answer to a request.
	f(status.Error(codes.Unavailable, ""), true)
	f(status.Error(codes.InvalidArgument, ""), false)
	f(status.Error(codes.Internal, "it broke"), false)
	f(status.Error(codes.ResourceExhausted, ""), false)
	// If the connection failed or the stream was closed, another stream can succeed.
	f(io.EOF, true)
	f(status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: PROTOCOL_ERROR"), true)
	f(&stefgrpc.Error{Kind: stefgrpc.KindProtocol, Code: codes.Internal}, true)
	f(&stefgrpc.UnsentError{Cause: &stefgrpc.Error{Kind: stefgrpc.KindClosed, Code: codes.Unavailable}}, true)
	refused := &stefgrpc.UnsentError{Cause: &stefgrpc.Error{Kind: stefgrpc.KindAuth, Code: codes.Unauthenticated}}
	f(refused, false)
	require.True(t, decideStreamRetry(refused, alsoRetried{credentials: true}).retry)
}

func TestFailureAsError(t *testing.T) {
	plain := errors.New("plain")
	require.True(t, consumererror.IsPermanent((&failure{err: plain}).permanent(createDefaultConfig().(*Config))))
	retry := (&unsent[ptrace.Traces]{whole: true, err: plain}).asError(testConfig(""), tracesSplitter(""))
	require.False(t, consumererror.IsPermanent(retry))
	require.Equal(t, plain, retry)
	throttle := (&unsent[ptrace.Traces]{batch: spans("a"), err: plain, delay: time.Minute}).asError(testConfig(""), tracesSplitter(""))
	require.ErrorContains(t, throttle, "Throttle (1m0s)")
	require.ErrorIs(t, throttle, plain)
	var rest consumererror.Traces
	require.ErrorAs(t, throttle, &rest)
	require.Equal(t, 1, rest.Data().SpanCount())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/grpcstatus"
)

func withRetryInfo(code codes.Code, delay time.Duration) error {
	return detailed(code, "slow down", &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)}).Err()
}

func TestRefusal(t *testing.T) {
	const after, none = 7 * time.Second, -1 * time.Second
	plain := errors.New("plain")
	f := func(err error, code codes.Code, permanent bool, delay time.Duration) {
		t.Helper()
		got := refusalOf(err, after)
		require.Equal(t, code, got.status.Code(), "%v", err)
		require.Equal(t, permanent, got.permanent, "%v", err)
		named, ok := grpcstatus.RetryInfo(got.status)
		if !ok {
			named = none
		}
		require.Equal(t, delay, named, "%v", err)
	}
	permanent := consumererror.NewPermanent

	f(plain, codes.Unavailable, false, after)
	f(permanent(plain), codes.Internal, true, none)
	f(fmt.Errorf("wrapped: %w", permanent(plain)), codes.Internal, true, none)
	f(context.Canceled, codes.Unavailable, false, after)
	f(context.DeadlineExceeded, codes.Unavailable, false, after)

	// Test each code as a temporary error and as a permanent error.
	final := map[codes.Code]bool{
		codes.InvalidArgument: true, codes.NotFound: true, codes.AlreadyExists: true, codes.PermissionDenied: true,
		codes.FailedPrecondition: true, codes.Unimplemented: true, codes.Internal: true, codes.Unauthenticated: true,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		err := status.Error(code, "told")
		switch {
		case final[code]:
			f(err, code, true, none)
			f(fmt.Errorf("wrapped: %w", err), code, true, none)
			f(permanent(err), code, true, none)
			f(consumererror.NewOTLPGRPCError(plain, status.Convert(err)), code, true, none)
		case code == codes.ResourceExhausted:
			f(err, codes.Unavailable, false, after)
			f(permanent(err), codes.ResourceExhausted, true, none)
		default:
			f(err, codes.Unavailable, false, after)
			f(permanent(err), codes.Internal, true, none)
		}
	}

	f(withRetryInfo(codes.Unavailable, 0), codes.Unavailable, false, 0)
	f(withRetryInfo(codes.Unavailable, 3*time.Second), codes.Unavailable, false, 3*time.Second)
	f(withRetryInfo(codes.ResourceExhausted, 2*time.Second), codes.Unavailable, false, 2*time.Second)
	f(permanent(withRetryInfo(codes.ResourceExhausted, 2*time.Second)), codes.ResourceExhausted, true, none)
	f(consumererror.NewRetryableError(plain), codes.Unavailable, false, after)
	f(consumererror.NewOTLPHTTPError(plain, 503), codes.Unavailable, false, after)
	f(consumererror.NewOTLPHTTPError(plain, 400), codes.InvalidArgument, true, none)
}

// several is an error that wraps the errors of several consumers, like the errors of package multierr.
// A fan-out returns such an error.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Errors() []error { return s }
func (s several) Unwrap() []error { return s }

// If several consumers of a fan-out refuse a batch and all refuse it permanently, the error is permanent.
// Otherwise the client sends the batch again.
func TestRefusalOfSeveralConsumers(t *testing.T) {
	const after = 7 * time.Second
	no, full := consumererror.NewPermanent(status.Error(codes.InvalidArgument, "no")), errors.New("full")
	for _, err := range []error{
		several{no, full}, several{full, no}, several{full, full}, several{no, several{no, full}},
		// Connectors, such as the routing connector, join errors with package errors.
		errors.Join(no, full), errors.Join(full, no), errors.Join(no, several{no, full}), several{no, errors.Join(no, full)},
		fmt.Errorf("routing: %w", errors.Join(no, full)), fmt.Errorf("routing: %w", several{no, full}),
		consumererror.NewDownstream(errors.Join(no, full)), consumererror.NewDownstream(several{no, full}),
	} {
		got := refusalOf(err, after)
		require.False(t, got.permanent, "%v", err)
		require.Equal(t, codes.Unavailable, got.status.Code())
		require.Equal(t, err.Error(), got.status.Message())
		require.Equal(t, after, delayOf(got.status, 0))
	}
	got := refusalOf(several{withRetryInfo(codes.Unavailable, 2*time.Second), no, withRetryInfo(codes.Unavailable, time.Second)}, after)
	require.Equal(t, 2*time.Second, delayOf(got.status, 0))
	// A delay below 0 does not make a refusal permanent.
	got = refusalOf(several{withRetryInfo(codes.Unavailable, -time.Second), no}, after)
	require.False(t, got.permanent)
	require.Zero(t, delayOf(got.status, after))
	for _, all := range []error{
		several{no, consumererror.NewPermanent(full)}, errors.Join(no, consumererror.NewPermanent(full)), errors.Join(no),
	} {
		got = refusalOf(all, after)
		require.True(t, got.permanent)
		require.Equal(t, codes.InvalidArgument, got.status.Code())
		require.Equal(t, all.Error(), got.status.Message())
	}
	// A component can mark the errors of several consumers as permanent.
	for _, judged := range []error{
		consumererror.NewPermanent(errors.Join(no, full)), consumererror.NewOTLPGRPCError(errors.Join(full, full), status.New(codes.InvalidArgument, "no")),
	} {
		got = refusalOf(judged, after)
		require.True(t, got.permanent)
		require.Equal(t, codes.InvalidArgument, got.status.Code())
	}
}

func TestUndecodable(t *testing.T) {
	st := undecodable(errors.New("odd byte"))
	require.Equal(t, codes.InvalidArgument, st.Code())
	require.Contains(t, st.Message(), "odd byte")
	require.Len(t, st.Details(), 1)
	bad, ok := st.Details()[0].(*errdetails.BadRequest)
	require.True(t, ok)
	require.Equal(t, "odd byte", bad.GetFieldViolations()[0].GetDescription())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package grpcstatus_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otelstef/stef/internal/grpcstatus"
)

// TestRetried checks all 17 codes against the table of OTLP.
func TestRetried(t *testing.T) {
	var retried []codes.Code
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if grpcstatus.Retried(code) {
			retried = append(retried, code)
		}
	}
	require.Equal(t, []codes.Code{
		codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss,
	}, retried)
}

func TestRetryInfo(t *testing.T) {
	f := func(want time.Duration, wantOK bool, st *status.Status) {
		t.Helper()
		delay, ok := grpcstatus.RetryInfo(st)
		require.Equal(t, want, delay)
		require.Equal(t, wantOK, ok)
	}
	with := func(delay time.Duration) *status.Status {
		st, err := status.New(codes.Unavailable, "later").WithDetails(
			&errdetails.ErrorInfo{Reason: "BUSY"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
		require.NoError(t, err)
		return st
	}
	f(3*time.Second, true, with(3*time.Second))
	f(0, true, with(0))
	f(0, true, with(-time.Second))
	f(0, false, status.New(codes.Unavailable, "later"))
	f(0, false, nil)
}

func TestShorten(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		got := grpcstatus.Shorten(text)
		require.Equal(t, want, got)
		require.LessOrEqual(t, len(got), grpcstatus.MaxText)
		require.True(t, utf8.ValidString(got))
	}
	full := strings.Repeat("a", grpcstatus.MaxText)
	f("", "")
	f("größe", "größe")
	f("a\uFFFDb", "a\xff\xfeb")
	f(full, full)
	f(full[:grpcstatus.MaxText-3]+"…", full+"a")
	f(full[:grpcstatus.MaxText-4]+"…", full[:grpcstatus.MaxText-4]+"öxyz") // the cut is within ö
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package streamerr_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/streamerr"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

func TestRetryable(t *testing.T) {
	f := func(want bool, err error) {
		t.Helper()
		require.Equal(t, want, streamerr.Retryable(err))
		require.Equal(t, want, streamerr.Retryable(fmt.Errorf("wrapped: %w", err)))
	}
	f(true, status.Error(codes.Unavailable, ""))
	f(false, status.Error(codes.InvalidArgument, ""))
	f(false, status.Error(codes.Internal, "it broke"))
	f(false, status.Error(codes.ResourceExhausted, ""))
	f(true, &stefgrpc.Error{Kind: stefgrpc.KindLimit, Code: codes.ResourceExhausted, HasRetryInfo: true})
	f(true, io.EOF)
	f(false, errors.New("no status"))

	// These kinds are retried with every code.
	retried := map[stefgrpc.Kind]bool{
		stefgrpc.KindUnavailable: true, stefgrpc.KindClosed: true, stefgrpc.KindCanceled: true, stefgrpc.KindProtocol: true,
	}
	for kind := stefgrpc.KindUnknown; kind <= stefgrpc.KindInvalid; kind++ {
		f(retried[kind], &stefgrpc.Error{Kind: kind, Code: codes.Internal})
		f(retried[kind], &stefgrpc.UnsentError{Cause: &stefgrpc.Error{Kind: kind, Code: codes.Internal}})
	}
}

func TestWithoutSTEF(t *testing.T) {
	without := map[stefgrpc.Kind]bool{stefgrpc.KindUnimplemented: true, stefgrpc.KindIncompatible: true}
	for kind := stefgrpc.KindUnknown; kind <= stefgrpc.KindInvalid; kind++ {
		e := &stefgrpc.Error{Kind: kind}
		require.Equal(t, without[kind], streamerr.WithoutSTEF(e), kind)
		require.Equal(t, without[kind], streamerr.WithoutSTEF(&stefgrpc.UnsentError{Cause: e}), kind)
	}
	require.False(t, streamerr.WithoutSTEF(nil))
	require.False(t, streamerr.WithoutSTEF(status.Error(codes.Unimplemented, ""))) // an answer to an OTLP request
}

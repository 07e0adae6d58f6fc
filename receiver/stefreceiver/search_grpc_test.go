// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package stefreceiver

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// served is a receiver with the default configuration, and clients that attack it over gRPC.
type served struct {
	*rig
	hostile, honest *grpc.ClientConn
}

func newServed(t testing.TB) *served {
	nop := consumertest.NewNop()
	r := startRig(t, testConfig(), sinks{nop, nop, nop})
	return &served{rig: r, hostile: r.dial(), honest: r.dial()}
}

// suffer sends a stream to the receiver and measures the allocations of the process, including the
// client. The receiver must answer with an expected status, serve an honest client afterwards, and hold
// no memory. The charge of the outcome is the larger of two numbers: the charge for the stream
// without gRPC, and the bytes of the decoded telemetry. The second number can be larger: if a
// client has no credit, its batches are smaller, and each batch repeats the resource.
func (s *served) suffer(root string, stream []byte) outcome {
	out := sufferUpTo(s.t, root, stream, false, math.MaxInt64) // calculates the charge without gRPC
	decoded := s.decoded()
	allocated := allocatedBytes()
	// The time is long because a client without credit has to wait, and because the search runs
	// beside other work.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	p := rawOpenOn(s.t, s.hostile, ctx, root)
	for rest := stream; len(rest) > 0; {
		part := rest[:min(len(rest), mib)]
		rest = rest[len(part):]
		p.data(part, len(rest) == 0)
	}
	require.NoError(s.t, p.stream.CloseSend())
	st := p.end()
	out.allocated = allocatedBytes() - allocated
	out.charged = max(out.charged, s.decoded()-decoded)
	require.NotContains(s.t, []codes.Code{codes.Internal, codes.Unknown, codes.DeadlineExceeded, codes.Canceled}, st.Code(), "%v", st)
	honest := metricKind.mustOpen(s.t, s.honest) // opened now, because an idle stream would end
	require.NoError(s.t, honest.deliver(points(1)))
	honest.stream.Close()
	s.requireIdle()
	return out
}

// decoded returns the size as OTLP of the telemetry that the receiver has decoded.
func (s *served) decoded() int64 {
	return sumOf(s.t, s.telemetry, "otelcol_receiver_stef_bytes_as_otlp", "", "")
}

// TestServedIsMeasured checks that suffer of served really measures the receiver: over gRPC, a stream
// causes more than half of the allocations that decoding it without gRPC causes.
func TestServedIsMeasured(t *testing.T) {
	notShort(t)
	r := parseRecipe(t, knownRecipes(t)[0].Recipe)
	stream := r.cook(t)
	inside := sufferUpTo(t, r.root(), stream, false, math.MaxInt64)
	over := newServed(t).suffer(r.root(), stream)
	require.Greater(t, over.allocated, inside.allocated/2)
	require.Equal(t, inside.charged, over.charged)
}

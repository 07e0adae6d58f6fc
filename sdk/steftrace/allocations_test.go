// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftrace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/internal/netfault"
	"github.com/otelstef/stef/internal/signal"
	stefsdk "github.com/otelstef/stef/sdk"
	"github.com/otelstef/stef/sdk/steftrace"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// discard returns the network of a peer that acknowledges spans and allocates nothing for a span.
func discard(t *testing.T) *netfault.Memory {
	t.Helper()
	network, err := netfault.NewMemory(netfault.Link{})
	require.NoError(t, err)
	listener, err := network.Listen()
	require.NoError(t, err)
	streams, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, streams.Handle(signal.Traces.Compact(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewSpansReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			if r.BufferedRecords() == 0 {
				s.AckUpTo(r.Stats().Records)
			}
		}
		return r.Err()
	})))
	server := grpc.NewServer()
	streams.Register(server)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-finished
		_ = streams.Shutdown(context.Background())
		_ = network.Close()
	})
	return network
}

// perExport bounds the number of allocations of an export to an endpoint, with the peer and gRPC in
// the same process: contexts, timers, messages and the acknowledgement. An export of 1 span and an
// export of 512 spans both made 80 allocations in a measurement.
const perExport = 110

// perSpan bounds the number of allocations for each further span of an export.
const perSpan = 0.02

func TestAllocationsToAnEndpoint(t *testing.T) {
	ctx := context.Background()
	network := discard(t)
	x, err := steftrace.New(ctx, stefsdk.WithEndpoint("passthrough:///peer"), stefsdk.WithInsecure(),
		stefsdk.WithDialOption(grpc.WithContextDialer(network.Dial)))
	require.NoError(t, err)
	spans := spansOf(512, attribute.String("http.route", "/cart/{id}"), attribute.Int("number", 7))
	measure := func(n int) float64 {
		for range 20 {
			require.NoError(t, x.ExportSpans(ctx, spans[:n]))
		}
		failed := 0
		allocations := testing.AllocsPerRun(100, func() {
			if x.ExportSpans(ctx, spans[:n]) != nil {
				failed++
			}
		})
		require.Zero(t, failed)
		return allocations
	}
	many, one := measure(len(spans)), measure(1)
	t.Logf("allocations of an export: %.0f of %d spans, %.0f of one", many, len(spans), one)
	require.LessOrEqual(t, one, float64(perExport))
	require.LessOrEqual(t, many-one, perSpan*float64(len(spans)))
	require.NoError(t, x.Shutdown(ctx))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The test counts allocations, so it does not run with the race detector: under the detector, a
// sync.Pool drops some values at random.

package stefgrpc

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// sink is a gRPC stream that encodes each message like gRPC and then frees it.
type sink struct{ codec encoding.CodecV2 }

func (s *sink) Header() (metadata.MD, error) { return nil, nil }
func (s *sink) Trailer() metadata.MD         { return nil }
func (s *sink) CloseSend() error             { return nil }
func (s *sink) Context() context.Context     { return context.Background() }
func (s *sink) RecvMsg(any) error            { return io.EOF }

func (s *sink) SendMsg(m any) error {
	data, err := s.codec.Marshal(m)
	if err != nil {
		return err
	}
	data.Free()
	return nil
}

// TestAllocations bounds the allocations for a chunk, without the allocations of gRPC itself.
func TestAllocations(t *testing.T) {
	f := func(n int, most float64) {
		t.Helper()
		config, err := newClientConfig(nil)
		require.NoError(t, err)
		s := newStream(&sink{wire.ClientCodec()}, otelstef.MetricsRoot(), agreement{}, &config)
		answer := response(Response{})
		chunk := make([]byte, n)
		id := uint64(0)
		got := testing.AllocsPerRun(200, func() {
			id++
			if _, err := s.WriteRecords(chunk, id); err != nil {
				t.Fatal(err)
			}
			answer.Message.Response.Acked = id
			if err := s.respond(answer); err != nil {
				t.Fatal(err)
			}
		})
		require.LessOrEqual(t, got, most, "a chunk of %d bytes", n)
	}
	// A chunk allocates its slice of buffers. A small chunk also allocates its buffer, because gRPC
	// pools only larger buffers.
	f(500, 3)
	f(5_000, 1)
	f(60_000, 1)
	f(1_000_000, 1)
}

var marshaled mem.BufferSlice

func BenchmarkMarshalChunk(b *testing.B) {
	for _, n := range []int{200, 20_000, 1_000_000} {
		b.Run(byteCount(n), func(b *testing.B) {
			c := wire.ClientCodec()
			m := (&wire.ClientMessage{Bytes: make([]byte, n), EndOfChunk: true}).Proto()
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				data, err := c.Marshal(m)
				if err != nil {
					b.Fatal(err)
				}
				marshaled = data
				data.Free()
			}
		})
	}
}

func byteCount(n int) string {
	switch {
	case n >= 1_000_000:
		return "bytes=1M"
	case n >= 10_000:
		return "bytes=20k"
	default:
		return "bytes=200"
	}
}

var _ grpc.ClientStream = (*sink)(nil)

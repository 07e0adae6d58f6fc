// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
	"github.com/otelstef/stef/stef-gogrpc/stefpb"
)

// BenchmarkMessageSize compares message sizes. DefaultMaxMessageBytes is chosen by its results. It
// sends chunks of 3.9 MB, the size of full frames, over a loopback connection, split into messages
// of different sizes.
func BenchmarkMessageSize(b *testing.B) {
	for _, size := range []int{16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		b.Run(fmt.Sprintf("size=%dk", size>>10), func(b *testing.B) {
			s := benchStream(b, WithMaxMessageBytes(size))
			chunk := make([]byte, 3_900_000)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			id := uint64(0)
			for b.Loop() {
				id++
				_, err := s.WriteRecords(chunk, id)
				require.NoError(b, err)
			}
			require.NoError(b, s.AwaitAll(within(b)))
		})
	}
}

func benchStream(b *testing.B, options ...ClientOption) *Stream {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	g := grpc.NewServer()
	plainServer{drop}.register(g)
	go func() { _ = g.Serve(listener) }()
	b.Cleanup(g.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(b, err)
	b.Cleanup(func() { conn.Close() })
	return openMetrics(b, conn, options...)
}

func drop(stream grpc.ServerStream) error {
	if err := welcome(stream); err != nil {
		return err
	}
	for acked := uint64(0); ; {
		var m stefpb.STEFClientMessage
		if err := stream.RecvMsg(&m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if m.IsEndOfChunk {
			acked++
			if err := stream.SendMsg(wire.ServerMessage{Response: &Response{Acked: acked}}.Proto()); err != nil {
				return err
			}
		}
	}
}

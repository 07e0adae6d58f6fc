// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// TestWindowsOfManyStreams: a server asks the clients of streams beyond the memory of
// windows for smaller windows, their streams hold less, and streams that open when
// there are fewer again are not asked.
//
// spec: #window-limit
func TestWindowsOfManyStreams(t *testing.T) {
	held := make(chan int, 10)
	e := newEnds(t, func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			held <- r.Stats().HeldBytes
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	}, endsConfig{server: []stefgrpc.ServerOption{stefgrpc.WithWindowMemory(3 << 20)}}) // room for two windows of 1 MiB
	client, err := stefgrpc.NewClient(e.conn)
	require.NoError(t, err)
	f := func(wantWindow, least, most int) *stefgrpc.Stream {
		t.Helper()
		stream, err := client.Open(context.Background(), otelstef.MetricsSchema())
		require.NoError(t, err)
		require.Equal(t, wantWindow, steftest.WriterConfig(t, stream.WriterOptions()...).WindowBytes)
		w, err := otelstef.NewMetricsWriter(stream, append(stream.WriterOptions(), stef.WithCompression(stef.Zstd))...)
		require.NoError(t, err)
		w.Record().Metric().SetName("requests")
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
		got := <-held
		require.Greater(t, got, least)
		require.Less(t, got, most)
		require.NoError(t, stream.AwaitAck(within(t, stefgrpc.DefaultHandshakeTimeout), 1))
		require.NoError(t, w.Close())
		return stream
	}
	large := func() *stefgrpc.Stream { return f(1<<20, 1<<20, 2<<20) }
	small := func(window int) *stefgrpc.Stream { return f(window, 96<<10, 1<<20) }
	streams := []*stefgrpc.Stream{large(), large()}
	for range 6 {
		streams = append(streams, small(1<<20)) // frames are small: 16 KiB
	}
	streams = append(streams, small(512<<10))
	for _, s := range streams {
		require.NoError(t, s.CloseSend())
		<-s.Done()
		require.NoError(t, s.Err())
	}
	last := large()
	require.NoError(t, last.CloseSend())
	<-last.Done()
}

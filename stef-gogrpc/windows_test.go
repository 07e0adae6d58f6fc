// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// windowMeter stores the window size that the zstd data of a stream declares.
type windowMeter struct {
	*stefgrpc.Stream
	window int
}

func (m *windowMeter) WriteRecords(chunk []byte, last uint64) (int, error) {
	const magic = "\x28\xb5\x2f\xfd"
	if at := bytes.Index(chunk, []byte(magic)); at >= 0 && last > 0 { // RFC 8878, section 3.1.1.1.2
		m.window = 1 << (10 + chunk[at+len(magic)+1]>>3)
	}
	return m.Stream.WriteRecords(chunk, last)
}

// TestWindowsOfManyStreams: when the zstd windows of all streams could need more memory than
// WithWindowMemoryBytes, a server announces a maximum window to the clients of further streams. Their
// zstd data then declares a smaller window. After enough streams have ended, the server announces no
// maximum.
//
// spec: #window-limit
func TestWindowsOfManyStreams(t *testing.T) {
	e := newEnds(t, func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewMetricsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	}, endsConfig{server: []stefgrpc.ServerOption{stefgrpc.WithWindowMemoryBytes(3 << 20)}}) // room for two windows of 1 MiB
	client, err := stefgrpc.NewClient(e.conn)
	require.NoError(t, err)
	f := func(wantLimit, wantWindow int) *stefgrpc.Stream {
		t.Helper()
		stream, err := client.Open(context.Background(), otelstef.MetricsRoot())
		require.NoError(t, err)
		require.Equal(t, wantLimit, steftest.WriterSettingsOf(t, stream.WriterOptions()...).WindowLimit)
		sent := windowMeter{Stream: stream}
		w, err := otelstef.NewMetricsWriter(&sent, append(stream.WriterOptions(), stef.WithCompression(stef.Zstd))...)
		require.NoError(t, err)
		w.Record().Metric().SetName("requests")
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush())
		require.Equal(t, wantWindow, sent.window)
		require.NoError(t, stream.AwaitAck(within(t, stefgrpc.DefaultHandshakeTimeout), 1))
		require.NoError(t, w.Close())
		return stream
	}
	large := func() *stefgrpc.Stream { return f(0, 1<<20) }
	small := func(limit int) *stefgrpc.Stream { return f(limit, 16<<10) }
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

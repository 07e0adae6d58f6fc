// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

type textWriter struct{ *otelstef.LogsWriter }

func newTextWriter(s *stefgrpc.Stream) (stefgrpc.BatchWriter[[]string], error) {
	w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
	return textWriter{w}, err
}

func (w textWriter) WriteBatch(batch []string) (uint64, error) {
	for _, text := range batch {
		w.Record().Record().Body().SetString(text)
		if err := w.Write(); err != nil {
			return 0, err
		}
	}
	return w.Stats().Records, nil
}

// A frame with three batches exceeds the limit of the server or its reader, because the second batch
// has a large record. The error of the first batch is permanent, so the caller drops it. The other
// two can be sent again, but the second batch fails every time.
func TestSessionFrameOverLimit(t *testing.T) {
	const limit = 2000
	t.Run("of the reader", func(t *testing.T) {
		testFrameOverLimit(t, stef.Limits{FrameBytes: limit}, stefgrpc.DefaultMaxChunkBytes)
	})
	t.Run("of the server", func(t *testing.T) { testFrameOverLimit(t, stef.Limits{}, limit) })
}

func testFrameOverLimit(t *testing.T, limits stef.Limits, chunkBytes int) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		_, register := x.stef(func(s *stefgrpc.ServerStream) error {
			r, err := otelstef.NewLogsReader(s, append(s.ReaderOptions(), stef.WithLimits(limits))...)
			if err != nil {
				return err
			}
			defer r.Close()
			for r.Next() {
				s.AckUpTo(r.Stats().Records)
			}
			return r.Err()
		}, stefgrpc.WithMaxChunkBytes(chunkBytes))
		x.serve(register)
		conn := x.dial()
		defer conn.Close()
		client, err := stefgrpc.NewClient(conn)
		require.NoError(t, err)
		config := stefgrpc.SessionConfig{}
		config.EarlyFrames = -1 // so that the batches share a frame
		session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
			return client.Open(ctx, otelstef.LogsRoot())
		}, newTextWriter, config)
		require.NoError(t, err)
		defer func() { require.NoError(t, session.Shutdown(t.Context())) }()

		batches := [][]string{{"good"}, {"good", strings.Repeat("x", 2000)}, {"good"}}
		unsent := make([]*stefgrpc.UnsentError, len(batches))
		var group sync.WaitGroup
		for i, batch := range batches {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond) // send the batches in this order
				require.ErrorAs(t, session.Send(t.Context(), batch), &unsent[i])
			})
		}
		group.Wait()
		for i, err := range unsent {
			require.Equal(t, i > 0, err.Cause.Retryable(), "batch %d: %v", i, err)
			require.ErrorContains(t, err, "limit: stream of Logs to bufconn, none of 4 sent records acknowledged: ")
			require.Zero(t, err.Acknowledged)
		}
		require.Equal(t, stefgrpc.KindLimit, unsent[0].Cause.Kind)

		var again *stefgrpc.UnsentError
		require.ErrorAs(t, session.Send(t.Context(), batches[1]), &again)
		require.False(t, again.Cause.Retryable())
		require.NoError(t, session.Send(t.Context(), batches[2]))
	})
}

// A frame can be nearly full before its last record. The readers in the examples accept such a
// frame even if the last record is the largest that the encoders of package stefpdata write.
func TestExampleFrameLimit(t *testing.T) {
	const largest = 8 << 20 // the value of stefpdata.MaxItemBytes; this package must not import stefpdata
	b := &storage{}
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.LogsRoot(), stefgrpc.HandlerFunc(b.logs)))
	x := newSite(t)
	x.serve(func(g *grpc.Server) { server.Register(g) })
	conn := x.dial()
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	s, err := client.Open(t.Context(), otelstef.LogsRoot())
	require.NoError(t, err)
	defer s.Close()
	w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithDictBytes(1<<30))...)
	require.NoError(t, err)
	write := func(size int) {
		w.Record().Record().Body().SetString(strings.Repeat("x", size))
		require.NoError(t, w.Write())
	}
	write(stef.DefaultFrameBytes - 1000)
	require.Zero(t, w.Stats().Frames)
	write(largest)
	require.NoError(t, w.Flush())
	require.Equal(t, 1, w.Stats().Frames)
	require.NoError(t, s.Drain(t.Context()))
	require.Len(t, b.db.rows, 2)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The race detector uses additional memory.
//go:build !race

package stefgrpc_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelstef/stef/internal/netfault"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

type logsWriter struct{ *otelstef.LogsWriter }

func (w logsWriter) WriteBatch(records uint64) (uint64, error) {
	for n := range records {
		fillNumber(w.Record().Record(), n)
		if err := w.Write(); err != nil {
			return w.Stats().Records, err
		}
	}
	return w.Stats().Records, nil
}

func (w logsWriter) BufferedBytes() int {
	s := w.Stats()
	return int(s.Records - s.Flushed)
}

const idleSessions = 100

// sessionMemory returns how many bytes a session and its server hold per stream. It measures after
// one batch with zstd. If idle is positive, it waits for this time without data before it measures.
// If silent is true, the handler does not return when the session has ended a stream.
func sessionMemory(t *testing.T, idle time.Duration, silent bool) float64 {
	network, err := netfault.NewMemory(netfault.Link{})
	require.NoError(t, err)
	defer network.Close()
	g := grpc.NewServer()
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	var frames atomic.Int64
	handler := idleHandler(&frames)
	if silent {
		handler = stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
			err := idleHandler(&frames).ServeSTEF(s)
			<-s.Context().Done()
			return err
		})
	}
	require.NoError(t, server.Handle(otelstef.LogsRoot(), handler))
	server.Register(g)
	l, err := network.Listen()
	require.NoError(t, err)
	go g.Serve(l)
	defer g.Stop()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithContextDialer(network.Dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)

	before := memory()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sessions := make([]*stefgrpc.Session[uint64], idleSessions)
	for i := range sessions {
		sessions[i], err = stefgrpc.NewSession(
			func(ctx context.Context) (*stefgrpc.Stream, error) { return client.Open(ctx, otelstef.LogsRoot()) },
			func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[uint64], error) {
				w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.Zstd))...)
				return logsWriter{w}, err
			},
			stefgrpc.SessionConfig{FlushInterval: -1, IdleTimeout: idle, DrainTimeout: 300 * time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, sessions[i].Send(ctx, 1000))
	}
	if idle > 0 {
		require.Eventually(t, func() bool {
			for _, s := range sessions {
				if s.Stats().Idle != 1 {
					return false
				}
			}
			return server.Stats().Streams == 0
		}, time.Minute, 10*time.Millisecond)
	}
	each := (memory() - before) / idleSessions
	for _, s := range sessions { // each session can send again
		require.NoError(t, s.Send(ctx, 10))
		if !silent {
			require.NoError(t, s.Shutdown(ctx))
		}
	}
	for _, s := range sessions {
		_ = s.Shutdown(ctx)
	}
	return each
}

// TestIdleSessions: after IdleTimeout without data, a session and its server together hold less than
// 64 KiB for a stream. Without IdleTimeout, the open stream would still hold the state of the codecs
// and of zstd.
func TestIdleSessions(t *testing.T) { testIdleSessions(t, false) }

// TestIdleSessionsOfSilentServers: when a session ends an idle stream, its memory is released even if
// the handler of the server does not return.
func TestIdleSessionsOfSilentServers(t *testing.T) { testIdleSessions(t, true) }

func testIdleSessions(t *testing.T, silent bool) {
	// Memory of earlier tests may be released during a measurement.
	for try := 1; ; try++ {
		open, idle := sessionMemory(t, -1, false), sessionMemory(t, 200*time.Millisecond, silent)
		t.Logf("per stream, both ends: open %.0f KiB, idle %.1f KiB", open/1024, idle/1024)
		if open > 64<<10 && idle < 64<<10 {
			return
		}
		require.Less(t, try, 5)
	}
}

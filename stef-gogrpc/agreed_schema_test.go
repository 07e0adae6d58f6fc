// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-gogrpc"
)

// TestOptionsBeyondTheAgreement: a program can append options to the writer options of a stream. They
// may select fewer fields than the schema that both ends agreed on, but not more fields.
func TestOptionsBeyondTheAgreement(t *testing.T) {
	compact, full := otelstef.MetricsCompactRoot(), otelstef.MetricsRoot()
	published, err := schema.Cut(full, otelstef.MetricsBaseSchema())
	require.NoError(t, err)
	f := func(sender, receiver *schema.Struct, allowed bool, appended stef.WriterOption) {
		t.Helper()
		s := open(t, sender, receiver, func(s *stefgrpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		})
		w, err := otelstef.NewMetricsWriter(s, append(s.WriterOptions(), appended)...)
		if allowed {
			require.NoError(t, err)
			require.NoError(t, w.Close())
			return
		}
		require.Nil(t, w)
		require.ErrorIs(t, err, stef.ErrSchema)
		require.ErrorContains(t, err, "create it with the options Stream.WriterOptions()")
		var e *stefgrpc.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, stefgrpc.KindIncompatible, e.Kind)
		require.False(t, e.Retryable())
	}
	f(compact, compact, true, otelstef.CompactMetrics())
	f(compact, full, false, otelstef.CompactMetrics())
	f(full, compact, false, otelstef.CompactMetrics())
	f(full, full, false, otelstef.CompactMetrics())
	f(full, published, false, stef.WithSchema(otelstef.MetricsSchema()))
	f(full, full, true, stef.WithSchema(otelstef.MetricsSchema()))
	f(full, full, true, otelstef.PublishedMetrics())
	f(compact, full, true, otelstef.PublishedMetrics())
	f(full, published, true, otelstef.PublishedMetrics())
	f(full, published, true, stef.WithCompression(stef.Zstd))
}

// TestWithoutTheAgreement creates writers without the writer options of the stream. The schema of such
// a writer is still compared with the schema that both ends agreed on.
func TestWithoutTheAgreement(t *testing.T) {
	f := func(sender, receiver *schema.Struct, allowed bool, options ...stef.WriterOption) {
		t.Helper()
		s := open(t, sender, receiver, func(s *stefgrpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		})
		w, err := otelstef.NewMetricsWriter(s, options...)
		again, e := otelstef.NewMetricsWriter(io.Discard, options...)
		require.NoError(t, e)
		e = again.Reset(s)
		if allowed {
			require.NoError(t, errors.Join(err, e))
			require.NoError(t, w.Close())
			return
		}
		require.Nil(t, w)
		require.ErrorIs(t, err, stef.ErrSchema)
		require.ErrorContains(t, err, "create it with the options Stream.WriterOptions()")
		require.EqualError(t, e, err.Error())
		require.Error(t, again.Write())
	}
	full := otelstef.MetricsRoot()
	published, err := schema.Cut(full, otelstef.MetricsBaseSchema())
	require.NoError(t, err)
	f(full, full, true)
	f(full, published, false)
	f(full, published, true, otelstef.PublishedMetrics())
	f(full, full, false, otelstef.CompactMetrics())
}

// uncounted is a batch writer whose BufferedBytes always returns 0.
type uncounted struct{ timesWriter }

func (uncounted) BufferedBytes() int { return 0 }

// TestSessionFlushesUncountedBytes: a session sends a batch even if BufferedBytes of the batch writer
// always returns 0.
func TestSessionFlushesUncountedBytes(t *testing.T) {
	server, err := stefgrpc.NewServer()
	require.NoError(t, err)
	require.NoError(t, server.Handle(otelstef.LogsRoot(), stefgrpc.HandlerFunc(func(s *stefgrpc.ServerStream) error {
		r, err := otelstef.NewLogsReader(s, s.ReaderOptions()...)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			s.AckUpTo(r.Stats().Records)
		}
		return r.Err()
	})))
	g := grpc.NewServer()
	server.Register(g)
	client, err := stefgrpc.NewClient(serveGRPC(t, g))
	require.NoError(t, err)
	session, err := stefgrpc.NewSession(func(ctx context.Context) (*stefgrpc.Stream, error) {
		return client.Open(ctx, otelstef.LogsRoot())
	}, func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[times], error) {
		w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
		return uncounted{timesWriter{w}}, err
	}, stefgrpc.SessionConfig{})
	require.NoError(t, err)
	ctx := within(t, 10*time.Second)
	for n := range uint64(3) {
		require.NoError(t, session.Send(ctx, times{10*n + 1, 10*n + 7}))
	}
	require.NoError(t, session.Shutdown(ctx))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// texts is a batch writer. A batch is the number of attributes of one record, each with a key and a
// value of 60 KiB. texts leaves out records that the writer refuses, as the comment of package
// stefgrpc shows.
type texts struct{ *otelstef.LogsWriter }

func (w texts) WriteBatch(n int) (uint64, error) {
	record := w.Record().Record()
	record.SetTime(1)
	record.Attributes().Reset()
	for i := range n {
		text := strings.Repeat(fmt.Sprintf("%04d", i), 15<<10)
		record.Attributes().AppendString("key"+text, "value"+text)
	}
	err := w.Write()
	if errors.Is(err, stef.ErrLimit) {
		err = stefgrpc.LeftOut(err)
	}
	return w.Stats().Records, err
}

// TestSessionFrameTooLarge: a batch whose record makes a frame too large fails with the error of
// the writer and cannot be retried. The batches before and after it are delivered.
func TestSessionFrameTooLarge(t *testing.T) {
	x := newSite(t)
	_, register := x.stef(x.take)
	x.serve(register)
	conn := x.dial()
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn)
	require.NoError(t, err)
	closed := make(chan *stefgrpc.Error, 10)
	s, err := stefgrpc.NewSession(
		func(ctx context.Context) (*stefgrpc.Stream, error) { return client.Open(ctx, otelstef.LogsRoot()) },
		func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[int], error) {
			w, err := otelstef.NewLogsWriter(s, s.WriterOptions()...)
			return texts{w}, err
		},
		stefgrpc.SessionConfig{Events: stefgrpc.SessionEvents{
			StreamClosed: func(_ int, _ stefgrpc.CloseReason, _ time.Duration, err *stefgrpc.Error) { closed <- err },
		}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Shutdown(t.Context())) }()

	require.NoError(t, s.Send(t.Context(), 3))

	err = s.Send(t.Context(), 600) // 72 MB
	require.ErrorIs(t, err, stef.ErrFrameTooLarge)
	require.NotErrorIs(t, err, stef.ErrLimit)
	var unsent *stefgrpc.UnsentError
	require.ErrorAs(t, err, &unsent)
	require.False(t, unsent.Cause.Retryable())
	require.False(t, unsent.MaybeDelivered)
	require.ErrorIs(t, <-closed, stef.ErrFrameTooLarge)
	require.ErrorIs(t, s.Stats().LastError, stef.ErrFrameTooLarge)

	var bad *stefgrpc.BatchError
	err = s.Send(t.Context(), stef.MaxPairs+1)
	require.ErrorAs(t, err, &bad)
	require.ErrorIs(t, err, stef.ErrLimit)
	require.NoError(t, s.Send(t.Context(), 3))
	require.Equal(t, 2, x.count(1))
}

// TestSessionMessageTooLarge: a large batch makes a message too large for a limit of gRPC, in the server
// or in the client, and gRPC ends the stream. The error of the large batch is permanent. An earlier
// batch that the server has not answered yet can be sent again.
func TestSessionMessageTooLarge(t *testing.T) {
	t.Run("received", func(t *testing.T) { sendTooLarge(t, grpc.MaxRecvMsgSize(256<<10)) })
	t.Run("sent", func(t *testing.T) {
		sendTooLarge(t, grpc.EmptyServerOption{}, stefgrpc.WithCallOptions(grpc.MaxCallSendMsgSize(256<<10)))
	})
}

func sendTooLarge(t *testing.T, limit grpc.ServerOption, options ...stefgrpc.ClientOption) {
	x := newSite(t)
	_, register := x.stef(func(s *stefgrpc.ServerStream) error {
		if x.streams.Load() == 0 {
			return x.read(s, func(uint64, uint64, bool) {}) // acknowledges nothing
		}
		return x.take(s)
	})
	x.serve(register, limit)
	conn := x.dial()
	defer conn.Close()
	client, err := stefgrpc.NewClient(conn, options...)
	require.NoError(t, err)
	s, err := stefgrpc.NewSession(
		func(ctx context.Context) (*stefgrpc.Stream, error) { return client.Open(ctx, otelstef.LogsRoot()) },
		func(s *stefgrpc.Stream) (stefgrpc.BatchWriter[int], error) {
			w, err := otelstef.NewLogsWriter(s, append(s.WriterOptions(), stef.WithCompression(stef.None))...)
			return texts{w}, err
		},
		stefgrpc.SessionConfig{FlushInterval: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Shutdown(t.Context())) }()

	small := make(chan error, 1)
	go func() { small <- s.Send(t.Context(), 1) }()
	require.Eventually(t, func() bool { return s.Stats().UnackedBytes > 0 }, time.Minute, time.Millisecond)
	for range 2 { // the second time, the large batch is alone
		err = s.Send(t.Context(), 6)
		var unsent *stefgrpc.UnsentError
		require.ErrorAs(t, err, &unsent)
		require.Equal(t, stefgrpc.KindLimit, unsent.Cause.Kind, "%v", err)
		require.False(t, unsent.Cause.Retryable())
	}
	err = <-small
	var unsent *stefgrpc.UnsentError
	require.ErrorAs(t, err, &unsent)
	require.True(t, unsent.Cause.Retryable(), "%v", err)
	require.NoError(t, s.Send(t.Context(), 1))
}

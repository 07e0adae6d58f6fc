// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/otelstef/stef/stef-go/otelstef"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// blockedEnds is a stream on which a write waits, with its client, server and network. Each of them
// can end the stream.
type blockedEnds struct {
	*ends
	stream  *stefgrpc.Stream
	handler chan func(s *stefgrpc.ServerStream) error // what the handler does next
}

// newBlocked opens a stream on which the next write of a chunk waits. If room is true, the write
// waits for acknowledgements. Otherwise it waits because the server does not read.
func newBlocked(t *testing.T, room bool, c endsConfig) *blockedEnds {
	b := &blockedEnds{handler: make(chan func(*stefgrpc.ServerStream) error, 1)}
	b.ends = newEnds(t, func(s *stefgrpc.ServerStream) error {
		if room {
			if _, err := io.ReadFull(s, make([]byte, blockedChunk)); err != nil {
				return err
			}
		}
		select {
		case next := <-b.handler:
			return next(s)
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}, c)
	var options []stefgrpc.ClientOption
	if room {
		options = append(options, stefgrpc.WithMaxUnackedBytes(blockedChunk))
	}
	client, err := stefgrpc.NewClient(b.conn, options...)
	require.NoError(t, err)
	b.stream, err = client.Open(within(t, time.Second), otelstef.MetricsRoot())
	require.NoError(t, err)
	if room {
		_, err = b.stream.WriteRecords(make([]byte, blockedChunk), 1)
		require.NoError(t, err)
	}
	return b
}

const blockedChunk = 1 << 20

// When a stream ends for any reason, all waiting calls return. A waiting write returns the reason
// as its error.
func TestBlockedWriterEnds(t *testing.T) {
	type end struct {
		name       string
		kind       stefgrpc.Kind
		goesOn     bool // the stream stays open, but accepts no writes
		graceful   bool // the end works only if the handler continues to read
		grpc       []grpc.ServerOption
		bringAbout func(b *blockedEnds)
	}
	returns := func(err error) func(b *blockedEnds) {
		return func(b *blockedEnds) { b.handler <- func(*stefgrpc.ServerStream) error { return err } }
	}
	ended := []end{
		{name: "the handler returns", kind: stefgrpc.KindClosed, bringAbout: returns(nil)},
		{name: "the handler fails", kind: stefgrpc.KindUnavailable, bringAbout: returns(errors.New("no idea"))},
		{name: "the handler panics", kind: stefgrpc.KindUnknown, bringAbout: func(b *blockedEnds) {
			b.handler <- func(*stefgrpc.ServerStream) error { panic("out of its mind") }
		}},
		{name: "the server acknowledges what was not sent", kind: stefgrpc.KindProtocol, bringAbout: func(b *blockedEnds) {
			b.handler <- func(s *stefgrpc.ServerStream) error {
				s.AckUpTo(1 << 40)
				<-s.Context().Done()
				return s.Context().Err()
			}
		}},
		{name: "the server shuts down and waits", kind: stefgrpc.KindClosed, graceful: true, bringAbout: func(b *blockedEnds) {
			b.handler <- drain
			_ = b.server.Shutdown(context.Background())
		}},
		{name: "the server shuts down at once", kind: stefgrpc.KindUnavailable, bringAbout: func(b *blockedEnds) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = b.server.Shutdown(ctx)
		}},
		{name: "the server crashes", kind: stefgrpc.KindUnavailable, bringAbout: func(b *blockedEnds) { b.grpc.Stop() }},
		{name: "the connection is cut", kind: stefgrpc.KindUnavailable, bringAbout: func(b *blockedEnds) { b.net.Cut() }},
		{name: "the connection is closed", kind: stefgrpc.KindCanceled, bringAbout: func(b *blockedEnds) { _ = b.conn.Close() }},
		{name: "the connection is too old", kind: stefgrpc.KindClosed, bringAbout: func(*blockedEnds) { time.Sleep(time.Minute) },
			grpc: []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{
				MaxConnectionAge: 30 * time.Second, MaxConnectionAgeGrace: time.Second})}},
		{name: "Close", kind: stefgrpc.KindCanceled, bringAbout: func(b *blockedEnds) { _ = b.stream.Close() }},
		{name: "CloseSend", kind: stefgrpc.KindClosed, goesOn: true, graceful: true,
			bringAbout: func(b *blockedEnds) { _ = b.stream.CloseSend() }},
	}
	f := func(room bool, x end) {
		name := "flow control, " + x.name
		if room {
			name = "room, " + x.name
		}
		inBubble(t, name, func(t *testing.T) {
			b := newBlocked(t, room, endsConfig{grpc: x.grpc, server: []stefgrpc.ServerOption{
				stefgrpc.WithOnPanic(func(*stefgrpc.ServerStream, any, []byte) {})}})
			wrote, awaited := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := b.stream.WriteRecords(make([]byte, 4*blockedChunk), 2)
				wrote <- err
			}()
			go func() { awaited <- b.stream.AwaitAck(context.Background(), 2) }()
			time.Sleep(10 * time.Second)
			require.Empty(t, wrote, "the write does not wait")
			x.bringAbout(b)
			time.Sleep(time.Second)
			synctest.Wait()

			require.Len(t, wrote, 1, "the write waits")
			var e *stefgrpc.Error
			require.ErrorAs(t, <-wrote, &e)
			require.Equal(t, x.kind, e.Kind, "%v", e)
			_, err := b.stream.WriteRecords([]byte("more"), 3)
			require.ErrorAs(t, err, &e)
			require.Equal(t, x.kind, e.Kind, "%v", e)
			if x.goesOn {
				require.Empty(t, awaited)
				require.NoError(t, b.stream.Err())
				require.NoError(t, b.stream.Close())
			}
			require.Error(t, <-awaited)
			<-b.stream.Done()
		})
	}
	for _, x := range ended {
		f(true, x)
		if !x.graceful {
			f(false, x)
		}
	}
}

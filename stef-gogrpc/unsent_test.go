// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// endingPeer is a connection of a client. The server acknowledges the first chunk of a stream. Then it
// ends the stream with a permanent error, before gRPC sends the first message of the second chunk.
type endingPeer struct{ *serverPeer }

func (e endingPeer) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := e.serverPeer.NewStream(ctx, desc, method, options...)
	return &endingStream{s, e.serverPeer, 0}, err
}

type endingStream struct {
	grpc.ClientStream
	peer *serverPeer
	sent int
}

func (e *endingStream) SendMsg(m any) error {
	if e.sent++; e.sent == 3 { // the first message of the protocol, and a chunk
		e.peer.say(status.Error(codes.Unauthenticated, "the token has expired"))
		time.Sleep(20 * time.Millisecond) // the client receives the end before this call returns
		return io.EOF
	}
	return e.ClientStream.SendMsg(m)
}

// TestUnsentChunk: if the server ends the stream before a byte of a chunk was sent, the chunk does not
// count as sent.
func TestUnsentChunk(t *testing.T) {
	peer := newServerPeer()
	wire, err := otelstef.MetricsSchema().AppendBinary(nil)
	require.NoError(t, err)
	peer.say(capable(0, wire))
	s := openMetrics(t, endingPeer{peer})
	_, err = s.WriteRecords([]byte("first"), 5)
	require.NoError(t, err)
	peer.say(ackOf(5))
	require.NoError(t, s.AwaitAck(within(t), 5))
	_, err = s.WriteRecords([]byte("second"), 9)
	require.ErrorContains(t, err, "the token has expired")
	<-s.Done()
	require.EqualValues(t, 5, s.Sent())
	require.ErrorContains(t, s.Err(), "all 5 sent records acknowledged")
	bytes, records := s.Unacked()
	require.Zero(t, bytes)
	require.Zero(t, records)
}

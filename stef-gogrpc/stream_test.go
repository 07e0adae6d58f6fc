// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-gogrpc/internal/wire"
)

// bareStream is a stream without a peer.
func bareStream() *Stream {
	s := newStream(nil, otelstef.MetricsRoot(), agreement{}, &clientConfig{maxUnackedBytes: 1 << 40})
	s.cancel = func() {}
	return s
}

// TestManyTinyChunks: the number of unacknowledged chunks is bounded even if bytes and
// records have no limits.
func TestManyTinyChunks(t *testing.T) {
	s := bareStream()
	for id := range uint64(maxChunks) {
		require.True(t, s.hasRoom())
		require.NoError(t, s.ledger.Send(id+1, 1))
	}
	require.False(t, s.hasRoom())
	require.NoError(t, s.respond(response(Response{Acked: 1})))
	require.True(t, s.hasRoom())
}

// TestResponsesAfterErrorAreIgnored: after a protocol error, the client ignores
// further responses of the server.
func TestResponsesAfterErrorAreIgnored(t *testing.T) {
	s := bareStream()
	require.NoError(t, s.ledger.Send(10, 1))
	err := s.respond(response(Response{Acked: 11}))
	require.Equal(t, KindProtocol, FromStatus(err).Kind)
	s.end(FromStatus(err))
	require.NoError(t, s.respond(response(Response{Acked: 10, Rejected: []IDRange{{From: 3, To: 3}}})))
	require.Zero(t, s.Acked())
	require.Empty(t, s.Rejected())
}

func response(r Response) *wire.Received {
	return &wire.Received{Message: wire.ServerMessage{Response: &r}}
}

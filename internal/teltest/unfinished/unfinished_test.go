// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package unfinished

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBegin: each stream has headers, and a message of which a part arrives.
func TestBegin(t *testing.T) {
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Begin(client, "/service/Method", 2, 40<<10) }()

	preface := make([]byte, len(http2.ClientPreface))
	_, err := io.ReadFull(server, preface)
	require.NoError(t, err)
	require.Equal(t, http2.ClientPreface, string(preface))
	framer := http2.NewFramer(nil, server)
	headers, bytes := map[uint32]int{}, map[uint32]int{}
	for bytes[1] < 48<<10 || bytes[3] < 48<<10 {
		frame, err := framer.ReadFrame()
		require.NoError(t, err)
		switch f := frame.(type) {
		case *http2.HeadersFrame:
			headers[f.StreamID]++
		case *http2.DataFrame:
			if bytes[f.StreamID] == 0 {
				require.Zero(t, f.Data()[0], "compressed")
				require.EqualValues(t, MessageBytes, binary.BigEndian.Uint32(f.Data()[1:]))
			}
			bytes[f.StreamID] += len(f.Data())
		}
	}
	require.NoError(t, <-done)
	require.Equal(t, map[uint32]int{1: 1, 3: 1}, headers)
	require.Equal(t, map[uint32]int{1: 48 << 10, 3: 48 << 10}, bytes)
	require.NoError(t, server.Close()) // ends what reads the answers
	require.NoError(t, client.Close())
}

// A connection that is closed is an error.
func TestBeginClosed(t *testing.T) {
	client, server := net.Pipe()
	require.NoError(t, server.Close())
	require.Error(t, Begin(client, "/service/Method", 1, 1))
	require.NoError(t, client.Close())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rawgrpc

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

// TestBegin checks that each stream sends headers and a part of a message.
func TestBegin(t *testing.T) {
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Begin(client, "/service/Method", 2, 40<<10) }()

	preface := make([]byte, len(http2.ClientPreface))
	_, err := io.ReadFull(server, preface)
	require.NoError(t, err)
	require.Equal(t, http2.ClientPreface, string(preface))
	framer := http2.NewFramer(server, server)
	go func() { // a pipe has no buffer, so each write waits for a reader
		_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20 << 10})
		for stream, n := range []uint32{64 << 10, 28 << 10, 0, 28 << 10} {
			if n > 0 {
				_ = framer.WriteWindowUpdate(uint32(stream), n)
			}
		}
	}()
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
	require.NoError(t, server.Close()) // ends the goroutine that reads the answers
	require.NoError(t, client.Close())
}

func TestBeginClosed(t *testing.T) {
	client, server := net.Pipe()
	require.NoError(t, server.Close())
	require.Error(t, Begin(client, "/service/Method", 1, 1))
	require.NoError(t, client.Close())
}

// TestBeginStalls: Begin sends no more than the window that a server grants.
func TestBeginStalls(t *testing.T) {
	client, server := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Begin(client, "/service/Method", 1, 128<<10) }()
	total := make(chan int, 1)
	go func() {
		sum := 0
		_, _ = io.ReadFull(server, make([]byte, len(http2.ClientPreface)))
		framer := http2.NewFramer(nil, server)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				break
			}
			if f, ok := frame.(*http2.DataFrame); ok {
				sum += len(f.Data())
			}
		}
		total <- sum
	}()
	require.ErrorIs(t, <-done, ErrStalled)
	require.NoError(t, client.Close())
	require.Equal(t, 48<<10, <-total)
	require.NoError(t, server.Close())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// The race detector uses additional memory, so this test would exceed its limit.
//go:build !race

package stefreceiver

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configopaque"
	"golang.org/x/net/http2"
)

// TestConnectionsWithoutData: a connection without data needs little memory. gRPC would keep a read
// buffer of read_buffer_size (512 KiB) for each connection if connections did not implement
// readyread.Reader.
func TestConnectionsWithoutData(t *testing.T) {
	cert, key := certificate(t)
	for _, secure := range []bool{false, true} {
		to, _, _, _ := everything()
		r := startRig(t, testConfig(func(c *Config) {
			if secure {
				server := c.ServerConfig.TLS.GetOrInsertDefault()
				server.CertPem, server.KeyPem = configopaque.String(cert), configopaque.String(key)
			}
		}), to)
		const connections = 200
		before := heapAndStacks()
		for range connections {
			conn, err := net.Dial("tcp", r.address)
			require.NoError(t, err)
			defer conn.Close()
			if secure {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			}
			_, err = io.WriteString(conn, http2.ClientPreface)
			require.NoError(t, err)
			framer := http2.NewFramer(conn, conn)
			require.NoError(t, framer.WriteSettings())
			for acknowledged := false; !acknowledged; {
				frame, err := framer.ReadFrame()
				require.NoError(t, err)
				settings, ok := frame.(*http2.SettingsFrame)
				acknowledged = ok && settings.IsAck()
			}
			_, err = conn.Write(make([]byte, 5)) // a part of a frame's header
			require.NoError(t, err)
		}
		time.Sleep(100 * time.Millisecond)
		each := (heapAndStacks() - before) / connections
		t.Logf("TLS %v: %d KiB for each connection, with the client", secure, each>>10)
		require.Less(t, each, int64(200<<10))
		require.NoError(t, r.stop(t.Context()))
	}
}

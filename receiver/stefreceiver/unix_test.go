// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

func unixConfig(path string) *Config {
	return testConfig(func(c *Config) {
		c.ServerConfig.NetAddr.Transport = confignet.TransportTypeUnix
		c.ServerConfig.NetAddr.Endpoint = path
	})
}

// TestClientsOfUnixSocket: clients are usually distinguished by their addresses. All connections of a Unix
// socket have the same address, but each of them counts as a client of its own.
func TestClientsOfUnixSocket(t *testing.T) {
	to, _, metrics, _ := everything()
	r := startRig(t, unixConfig(filepath.Join(t.TempDir(), "s")), to)
	for range 3 {
		conn := dial(t, "unix:"+r.address)
		require.NoError(t, metricKind.mustOpen(t, conn).deliver(points(1)))
		require.NoError(t, export(conn, points(1)))
	}
	require.Equal(t, 6, metrics.DataPointCount())
	r.shared.clients.mu.Lock()
	defer r.shared.clients.mu.Unlock()
	require.Len(t, r.shared.clients.byAddress, 3)
}

// TestUsedUnixSocket: a killed process leaves the file of its Unix socket. If the receiver cannot listen
// because of this file, the error says what to do.
func TestUsedUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	killed, err := net.Listen("unix", path)
	require.NoError(t, err)
	killed.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())
	part, err := NewFactory().CreateMetrics(t.Context(), receivertest.NewNopSettings(metadata.Type), unixConfig(path), consumertest.NewNop())
	require.NoError(t, err)
	err = part.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "remove the file if it is left from a process that was killed")
	require.NotContains(t, err.Error(), "port")
	require.NoError(t, part.Shutdown(t.Context()))
}

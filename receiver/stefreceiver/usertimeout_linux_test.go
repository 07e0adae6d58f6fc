// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// acceptedConns keeps the connections that a listener accepts.
type acceptedConns struct {
	net.Listener
	conns chan net.Conn
}

// Accept implements net.Listener.
func (a *acceptedConns) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err == nil {
		a.conns <- conn
	}
	return conn, err
}

// TestUserTimeout: if a client disappears without closing its connection, the operating system closes the
// connection after TCP_USER_TIMEOUT. gRPC sets this timeout only for a *net.TCPConn. The listener of
// this package wraps its connections, so it must set the same timeout itself.
func TestUserTimeout(t *testing.T) {
	for _, wrap := range []func(net.Listener) net.Listener{
		func(l net.Listener) net.Listener { return newHandshakeListener(l, testConfig()) },
		func(l net.Listener) net.Listener { return l },
	} {
		listener, err := net.Listen("tcp", "localhost:0")
		require.NoError(t, err)
		accepted := &acceptedConns{listener, make(chan net.Conn, 1)}
		server := grpc.NewServer()
		go func() { _ = server.Serve(wrap(accepted)) }()
		t.Cleanup(server.Stop)
		dial(t, listener.Addr().String()).Connect()
		raw, err := (<-accepted.conns).(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			var timeout int
			require.NoError(t, raw.Control(func(fd uintptr) {
				timeout, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
			}))
			return err == nil && timeout == 20_000
		}, time.Minute, time.Millisecond)
	}
	config := testConfig()
	config.ServerConfig.Keepalive.GetOrInsertDefault().ServerParameters.GetOrInsertDefault().Timeout = 7 * time.Second
	require.Equal(t, 7*time.Second, config.userTimeout())
}

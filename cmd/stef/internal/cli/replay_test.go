// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
)

// replay ends when the endpoint cannot be reached, over either protocol, and says
// in good time why it waits.
func TestReplayUnreachable(t *testing.T) {
	dir, recorded := folder(t)
	down := freeAddress(t)
	f := func(want string, args ...string) {
		t.Helper()
		began := time.Now()
		code, _, stderr := run(nil, append([]string{"replay", "--rate", "max", "--retries", "1"}, append(args, recorded)...)...)
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, want)
		require.Less(t, time.Since(began), 10*time.Second)
	}
	f(down+": no STEF stream yet: connection refused (nothing listens there); trying again\n", "--protocol", "stef", "--endpoint", down)
	f(": no STEF stream: connection refused (nothing listens there)\n", "--protocol", "stef", "--endpoint", down)
	f(down+": not accepted yet: connection refused (nothing listens there); trying again\n", "--endpoint", down)

	plain, interrupt, wait := recording(t, filepath.Join(dir, "rec-{signal}.stef"))
	f(plain+": no STEF stream yet: the endpoint does not speak TLS (remove --tls and --ca); trying again\n", "--protocol", "stef", "--tls", "--endpoint", plain)
	f("the endpoint does not speak TLS (remove --tls and --ca)\n", "--tls", "--endpoint", plain)
	require.True(t, interrupt.Deliver())
	code, stderr := wait()
	require.Zero(t, code, stderr)
}

// If the endpoint does not accept a protocol, replay says how to choose the other one.
func TestReplayOtherProtocol(t *testing.T) {
	_, recorded := folder(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	f := func(want string, args ...string) {
		t.Helper()
		args = append([]string{"replay", "--rate", "max", "--retries", "0", "--endpoint", l.Addr().String()}, args...)
		code, _, stderr := run(nil, append(args, recorded)...)
		require.Equal(t, cli.ExitIO, code, stderr)
		require.Contains(t, stderr, want)
	}
	f(": the endpoint does not accept OTLP (for STEF add --protocol stef)\n")
	f(": the endpoint does not accept STEF (for OTLP remove --protocol stef)\n", "--protocol", "stef")
}

// replay says that an endpoint accepts connections and does not answer, and ends.
func TestReplaySilent(t *testing.T) {
	_, recorded := folder(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	address := silent.Addr().String()
	code, _, stderr := run(nil, "replay", "--rate", "max", "--retries", "0", "--protocol", "stef", "--endpoint", address, recorded)
	require.Equal(t, cli.ExitIO, code, stderr)
	require.Contains(t, stderr, address+": no answer yet; waiting\n")
	require.Contains(t, stderr, "did not answer within 5s")
}

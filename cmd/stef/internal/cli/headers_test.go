// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// replay sends the headers over both protocols, also without TLS.
func TestReplayHeaders(t *testing.T) {
	_, recorded := folder(t)
	server := grpc.NewServer(append(replay.Options(), grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if !slices.Equal(info.Header.Get("authorization"), []string{"Bearer a=b"}) || !slices.Equal(info.Header.Get("tenant"), []string{"x"}) {
			return nil, status.Error(codes.Unauthenticated, "wrong token")
		}
		return ctx, nil
	}))...)
	_, err := replay.Register(server, func(otlpfile.Batch) error { return nil })
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	f := func(code int, want string, args ...string) {
		t.Helper()
		for _, protocol := range []string{"otlp", "stef"} {
			all := append([]string{"replay", "--rate", "max", "--retries", "0", "--protocol", protocol, "--endpoint", l.Addr().String()}, args...)
			got, _, stderr := run(nil, append(all, recorded)...)
			require.Equal(t, code, got, stderr)
			require.Contains(t, stderr, want)
			require.NotContains(t, stderr, "Bearer a=b")
		}
	}
	f(0, "sent ", "--header", "Authorization=Bearer a=b", "--header", "tenant=x")
	f(cli.ExitIO, "wrong token", "--header", "authorization=Bearer a=b")
	f(cli.ExitIO, "wrong token")
	f(cli.ExitUsage, "must be KEY=VALUE", "--header", "tenant")
	f(cli.ExitUsage, "gRPC reserves names that begin with grpc-", "--header", "grpc-timeout=1S")
	f(cli.ExitUsage, "use letters, digits", "--header", "a key=x")
	for _, key := range []string{"connection", "Content-Type", "host", "te", "user-agent"} {
		f(cli.ExitUsage, "gRPC reserves it", "--header", key+"=x")
	}
	f(cli.ExitUsage, "printable ASCII", "--header", "tenant=zürich")
}

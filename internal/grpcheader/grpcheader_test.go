// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package grpcheader_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/grpcheader"
)

func TestCheck(t *testing.T) {
	f := func(want, name, value string) {
		t.Helper()
		err := grpcheader.Check(name, value)
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	f("", "Authorization", "Bearer a=b")
	f("", "x_y.z-1", "")
	f("", "trace-BIN", "\x00\xff")
	f(`the header "" is not valid`, "", "secret")
	f(`the header "a b" is not valid: use letters`, "a b", "secret")
	f(`the header ":path" is not valid: use letters`, ":path", "secret")
	f(`the header "größe" is not valid: use letters`, "größe", "secret")
	f(`the header "Grpc-Timeout" is not valid: gRPC reserves names that begin with grpc-`, "Grpc-Timeout", "secret")
	for _, name := range []string{"connection", "Content-Type", "host", "TE", "user-agent"} {
		f("gRPC reserves it", name, "secret")
	}
	f(`the value of the header "tenant" is not valid: use printable ASCII`, "tenant", "secret\n")
	f(`the value of the header "tenant" is not valid`, "tenant", "secrét")
}

func TestReserved(t *testing.T) {
	require.True(t, grpcheader.Reserved(":authority"))
	require.True(t, grpcheader.Reserved("grpc-timeout"))
	require.False(t, grpcheader.Reserved("tenant"))
}

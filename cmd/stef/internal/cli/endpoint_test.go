// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckEndpoint(t *testing.T) {
	for _, endpoint := range []string{"localhost:4317", "[::1]:4317", ":4317", "localhost:http", "dns:///a:1", "dns:a:1", "unix:///run/x.sock", "unix:/run/x.sock"} {
		require.NoError(t, checkEndpoint(endpoint), endpoint)
	}
	for endpoint, want := range map[string]string{
		"":                     ": the port is missing, as in localhost:4317",
		"localhost:":           ": write HOST:PORT, such as localhost:4317",
		"a:b:4317":             ": write HOST:PORT, such as localhost:4317",
		"::1:4317":             ": write [ADDRESS]:PORT, with an IPv6 address in brackets, such as [::1]:4317",
		"[::1]":                ": write [ADDRESS]:PORT, with an IPv6 address in brackets, such as [::1]:4317",
		"localhost:4317/v1":    ": write HOST:PORT without a path: localhost:4317",
		"HTTP://localhost:1":   ": write HOST:PORT without a scheme: localhost:1",
		"https://localhost:1":  ": write HOST:PORT without a scheme: --tls --endpoint localhost:1",
		"tcp://localhost:4317": ": gRPC does not know the scheme tcp://: write HOST:PORT without a scheme: localhost:4317",
	} {
		require.EqualError(t, checkEndpoint(endpoint), "--endpoint "+endpoint+want)
	}
	require.EqualError(t, checkEndpoint("localhost:65536"), "--endpoint: port 65536 is not between 1 and 65535")
}

// If an endpoint closes the connection, replay says so, whatever the client does at that moment.
func TestEndpointClosedConnection(t *testing.T) {
	const broken, reset = "write tcp 127.0.0.1:1->127.0.0.1:2: write: broken pipe", "read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"
	for _, cause := range []string{
		"error reading server preface: EOF",
		"error reading server preface: " + reset,
		"transport: failed to write client preface: " + broken,
		"transport: failed to write initial settings frame: " + broken,
		"transport: failed to write window update: " + broken,
	} {
		err := errors.New(`no STEF stream: rpc error: code = Unavailable desc = connection error: desc = "` + cause + `"`)
		f := func(c *replayer, want string) {
			t.Helper()
			require.EqualError(t, c.plainly(err), "no STEF stream: the endpoint closed the connection"+want)
		}
		f(&replayer{}, " (it may expect TLS: add --tls)")
		f(&replayer{tls: true}, " (it may want a certificate of the client: add --cert and --key)")
		f(&replayer{cert: "x"}, " (it may not accept the certificate: check --cert and --key)")
		accepted := new(replayer)
		accepted.accepted.Store(true)
		f(accepted, "")
	}
}

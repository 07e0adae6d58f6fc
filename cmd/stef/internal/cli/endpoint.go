// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/otelstef/stef/internal/confkeys"
)

// checkEndpoint refuses addresses that gRPC would retry forever: URLs of HTTP and of schemes that gRPC does
// not know, names without a port, IPv6 addresses without brackets, and ports out of range. It accepts
// other schemes of gRPC, such as dns: and unix:.
func checkEndpoint(endpoint string) error {
	if scheme, rest, ok := strings.Cut(endpoint, "://"); ok {
		switch address, _, _ := strings.Cut(rest, "/"); {
		case strings.EqualFold(scheme, "http"):
			return completef("--endpoint %s: write HOST:PORT without a scheme: %s", endpoint, rest)
		case strings.EqualFold(scheme, "https"):
			return completef("--endpoint %s: write HOST:PORT without a scheme: --tls --endpoint %s", endpoint, rest)
		case resolver.Get(strings.ToLower(scheme)) == nil:
			return completef("--endpoint %s: gRPC does not know the scheme %s://: write HOST:PORT without a scheme: %s", endpoint, scheme, address)
		}
		return nil
	}
	scheme, _, colon := strings.Cut(endpoint, ":")
	if !colon {
		return completef("--endpoint %s: the port is missing, as in %s:4317", endpoint, cmp.Or(endpoint, "localhost"))
	}
	if resolver.Get(strings.ToLower(scheme)) != nil { // dns:HOST:PORT or unix:PATH
		return nil
	}
	if example := confkeys.IPv6Example(endpoint, "4317"); example != "" {
		return completef("--endpoint %s: write [ADDRESS]:PORT, with an IPv6 address in brackets, such as %s", endpoint, example)
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || port == "" {
		return completef("--endpoint %s: write HOST:PORT, such as localhost:4317", endpoint)
	}
	if number, _, path := strings.Cut(port, "/"); path {
		return completef("--endpoint %s: write HOST:PORT without a path: %s", endpoint, net.JoinHostPort(host, number))
	}
	if n, err := strconv.Atoi(port); err == nil && (n < 1 || n > 65535) {
		return completef("--endpoint: port %s is not between 1 and 65535", port)
	}
	return nil
}

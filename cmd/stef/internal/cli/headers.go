// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// headers, such as a token, are sent with each stream and request. They implement
// credentials.PerRPCCredentials and flag.Value.
type headers map[string]string

// headerKey matches the keys that gRPC sends unchanged. Set refuses keys that begin with grpc-,
// because gRPC reserves these keys.
var headerKey = regexp.MustCompile(`^[0-9a-z_.-]+$`)

// reservedKeys are further keys that gRPC reserves: it does not send the values that callers set for
// them. Servers refuse streams and requests with the header connection.
var reservedKeys = []string{"connection", "content-type", "host", "te", "user-agent"}

// Set adds KEY=VALUE.
func (h headers) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		return errors.New("must be KEY=VALUE, such as 'authorization=Bearer TOKEN'")
	}
	key = strings.ToLower(key)
	if !headerKey.MatchString(key) || strings.HasPrefix(key, "grpc-") {
		return errors.New("use only letters, digits, '-', '_' and '.' in the key, and do not begin it with grpc-")
	}
	if slices.Contains(reservedKeys, key) {
		return errors.New("gRPC reserves this key")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) && !strings.HasSuffix(key, "-bin") {
		return errors.New("the value must be printable ASCII, or the key must end in -bin")
	}
	h[key] = value
	return nil
}

// String returns nothing: values may be secret.
func (h headers) String() string { return "" }

// GetRequestMetadata returns the headers of a stream or request.
func (h headers) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return maps.Clone(h), nil
}

// RequireTransportSecurity returns false: headers are also sent without TLS, as in tests.
func (h headers) RequireTransportSecurity() bool { return false }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/otelstef/stef/internal/grpcheader"
)

// headers, such as a token, are sent with each stream and request. They implement
// credentials.PerRPCCredentials and flag.Value.
type headers map[string]string

// Set adds KEY=VALUE.
func (h headers) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		return errors.New("must be KEY=VALUE, such as 'authorization=Bearer TOKEN'")
	}
	key = strings.ToLower(key)
	if err := grpcheader.Check(key, value); err != nil {
		return err
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package grpcheader checks which headers a program can send over gRPC.
package grpcheader

import (
	"fmt"
	"strings"
)

// Check returns an error for a header that does not arrive over gRPC. The value may be a secret,
// so the error does not contain it.
func Check(name, value string) error {
	switch {
	case !ValidName(name):
		return fmt.Errorf("the header %q is not valid: use letters, digits, '-', '_' and '.'", name)
	case strings.HasPrefix(strings.ToLower(name), "grpc-"):
		return fmt.Errorf("the header %q is not valid: gRPC reserves names that begin with grpc-", name)
	case Reserved(name):
		return fmt.Errorf("the header %q is not valid: gRPC reserves it", name)
	case !ValidValue(name, value):
		return fmt.Errorf("the value of the header %q is not valid: use printable ASCII, or a header whose name ends in -bin", name)
	}
	return nil
}

// Reserved reports whether gRPC reserves a name, in any letter case. gRPC does not send the values of
// callers, or replaces them. A server refuses streams and requests that have the header connection.
func Reserved(name string) bool {
	switch name = strings.ToLower(name); name {
	case "connection", "content-type", "host", "te", "user-agent":
		return true
	}
	return strings.HasPrefix(name, "grpc-") || strings.HasPrefix(name, ":")
}

// ValidName reports whether gRPC can send a header of this name. gRPC sends names in lower case.
func ValidName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// ValidValue reports whether gRPC can send a value of a header. gRPC encodes the values of headers whose
// names end in -bin, so these values may have any bytes.
func ValidValue(name, value string) bool {
	return strings.HasSuffix(strings.ToLower(name), "-bin") ||
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package stefreceiver

import "net"

// peek returns 0, because this platform cannot read bytes without consuming them. So clients
// that use TLS or HTTP/1.1 are not logged.
func peek(net.Conn, []byte) int { return 0 }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not have on all architectures.
const tcpUserTimeout = 18

// setUserTimeout makes the system close a connection whose peer does not acknowledge bytes for
// this time. gRPC does this, too, but only for a *net.TCPConn. Unix sockets do not have the option.
func setUserTimeout(conn syscall.Conn, timeout time.Duration) {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(timeout/time.Millisecond))
		})
	}
}

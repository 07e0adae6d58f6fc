// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package stefreceiver

import (
	"net"
	"syscall"
)

// peek waits for data, copies its first bytes to p without consuming them, and returns
// their number. Wrapping the connection instead would make gRPC read through a buffer.
func peek(conn net.Conn, p []byte) (n int) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Read(func(fd uintptr) bool {
		var err error
		for {
			if n, _, err = syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK); err != syscall.EINTR {
				return err != syscall.EAGAIN
			}
		}
	})
	return max(n, 0)
}

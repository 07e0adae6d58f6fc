// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package stefreceiver

import (
	"net"
	"syscall"
)

// peek waits for data, and returns how many bytes of it are in p. They remain to be
// read: wrapping the connection instead would cost gRPC its reads without a buffer.
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

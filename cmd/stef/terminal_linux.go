// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// terminal reports whether a file is a terminal. Other devices, such as /dev/full, are
// not terminals.
func terminal(f *os.File) bool {
	var state syscall.Termios
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&state)))
	return failed == 0
}

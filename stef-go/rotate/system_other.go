// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package rotate

import (
	"os"
	"syscall"
)

const renamesOpenFiles = false

// fullDisk knows ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL of Windows, and ENOSPC of other systems.
func fullDisk(e syscall.Errno) bool { return e == 39 || e == 112 || e == syscall.ENOSPC }
func readOnly(e syscall.Errno) bool { return e == syscall.EROFS }

// lock is not available: the age of a file tells whether it is in use.
func lock(*os.File) (locked, known bool) { return false, false }

// removed is not needed: Windows does not remove open files.
func removed(*os.File) bool { return false }

func syncDir(string) {}

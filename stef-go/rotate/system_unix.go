// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rotate

import (
	"errors"
	"os"
	"syscall"
)

const renamesOpenFiles = true

func fullDisk(e syscall.Errno) bool { return e == syscall.ENOSPC || e == syscall.EDQUOT }
func readOnly(e syscall.Errno) bool { return e == syscall.EROFS }

// lock locks a file until it is closed, against other processes and against other open files of
// this process. known is false if the file system has no locks.
func lock(f *os.File) (locked, known bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, false
	}
	var result error
	err = raw.Control(func(fd uintptr) {
		for {
			if result = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(result, syscall.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return false, false
	}
	return result == nil, result == nil || errors.Is(result, syscall.EWOULDBLOCK)
}

// removed reports whether the last name of an open file was removed.
func removed(f *os.File) bool {
	var stat syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &stat) == nil && stat.Nlink == 0
}

// syncDir forces the names in a folder to the disk.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // some file systems cannot sync folders
		_ = d.Close()
	}
}

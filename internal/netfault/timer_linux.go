// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// kernelTimer is a kernel timer. The runtime waits for it as for a socket. The runtime's own timers are
// rounded up to a millisecond while the process is idle.
type kernelTimer struct {
	file    *os.File
	raw     syscall.RawConn
	arm     func(fd uintptr)
	setting struct{ interval, value syscall.Timespec }
	c       chan time.Time
}

func newPreciseTimer() timer {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return newRuntimeTimer()
	}
	a := &kernelTimer{file: os.NewFile(fd, "timerfd"), c: make(chan time.Time, 1)}
	raw, err := a.file.SyscallConn()
	if err != nil {
		a.file.Close()
		return newRuntimeTimer()
	}
	a.raw = raw
	a.arm = func(fd uintptr) {
		syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&a.setting)), 0, 0, 0)
	}
	go a.forward()
	return a
}

// forward sends a value to the channel whenever the timer is readable, until
// the timer is closed.
func (a *kernelTimer) forward() {
	var count [8]byte
	for {
		if _, err := a.file.Read(count[:]); err != nil {
			return
		}
		select {
		case a.c <- time.Time{}:
		default:
		}
	}
}

// set arms the timer. On a stopped timer it does nothing: its file descriptor
// may already belong to another file.
func (a *kernelTimer) set(d time.Duration) {
	a.setting.value = syscall.NsecToTimespec(max(1, d.Nanoseconds()))
	_ = a.raw.Control(a.arm)
}

func (a *kernelTimer) fired() <-chan time.Time { return a.c }

func (a *kernelTimer) stop() { a.file.Close() }

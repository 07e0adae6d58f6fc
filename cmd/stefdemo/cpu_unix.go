// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"syscall"
	"time"
)

func cpuTime() (time.Duration, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}

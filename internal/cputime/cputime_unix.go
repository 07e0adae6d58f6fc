// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package cputime measures processor time.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time that this process has used so far, or 0 if it is unavailable.
func Used() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

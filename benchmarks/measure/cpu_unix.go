// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package measure

import (
	"syscall"
	"time"
)

// CPU returns the processor time that this process has used so far.
func CPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "time"

// cpuTime returns the processor time used by this process, which is unavailable
// on this system.
func cpuTime() (time.Duration, bool) { return 0, false }

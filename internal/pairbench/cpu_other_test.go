// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package pairbench

import "time"

var begin = time.Now()

// cpuTime returns wall time: this system does not tell the other.
func cpuTime() time.Duration { return time.Since(begin) }

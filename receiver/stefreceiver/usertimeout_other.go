// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package stefreceiver

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing, like gRPC on this platform.
func setUserTimeout(syscall.Conn, time.Duration) {}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os"

// terminal reports whether a file is a terminal. It also returns true for other character devices,
// except for the null device.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(null, info)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package diskfault

import "testing"

// Small skips the test, because it can mount a file system only on Linux.
func Small(t *testing.T, _ int) string {
	t.Helper()
	t.Skip("mounts a file system of Linux; package rotate tests full disks with a stub")
	return ""
}

// MakeReadOnly does nothing.
func MakeReadOnly(*testing.T, string) {}

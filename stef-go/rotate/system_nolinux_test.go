// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package rotate

import "testing"

func smallDisk(t *testing.T, _ int) string {
	t.Helper()
	t.Skip("mounts a file system of Linux; TestDiskFull has a stub")
	return ""
}

func readOnlyDisk(*testing.T, string) {}

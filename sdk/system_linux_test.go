// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutPermission returns functions that remove and restore the permission to use a folder.
// Root always has the permission. So for root, the functions change the user id with which the
// calling thread accesses the file system.
func withoutPermission(t *testing.T, dir string) (restrict, allow func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() { require.NoError(t, os.Chmod(dir, 0)) }, func() { require.NoError(t, os.Chmod(dir, 0o700)) }
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return func() { require.NoError(t, syscall.Setfsuid(65534)) }, func() { require.NoError(t, syscall.Setfsuid(0)) }
}

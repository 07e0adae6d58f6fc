// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk_test

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// smallDisk mounts a file system of a few pages.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system; package rotate tests full disks with a stub")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Skipf("no file system can be mounted: %v; package rotate tests full disks with a stub", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// withoutPermission returns functions that remove and give back the permission to use
// a folder. Root has it always, so for root the calling thread becomes another user
// to the file system.
func withoutPermission(t *testing.T, dir string) (restrict, allow func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() { require.NoError(t, os.Chmod(dir, 0)) }, func() { require.NoError(t, os.Chmod(dir, 0o700)) }
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return func() { require.NoError(t, syscall.Setfsuid(65534)) }, func() { require.NoError(t, syscall.Setfsuid(0)) }
}

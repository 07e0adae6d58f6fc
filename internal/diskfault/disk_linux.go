// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package diskfault

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

// Small mounts a file system of size bytes until the test ends, and returns its folder.
// Only root can mount it.
func Small(t *testing.T, size int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system; package rotate tests full disks with a stub")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Skipf("no file system can be mounted: %v; package rotate tests full disks with a stub", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// MakeReadOnly makes the file system of Small read-only.
func MakeReadOnly(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

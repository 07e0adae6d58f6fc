// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package diskfault mounts small file systems for tests of full and read-only disks.
// If a file system cannot be mounted, it skips the test; package rotate tests the same
// faults with a stub.
package diskfault

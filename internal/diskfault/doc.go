// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package diskfault mounts small file systems for tests of full and read-only disks. If a file
// system cannot be mounted, the test is skipped. The tests of package rotate cause the same faults
// with a stub.
package diskfault

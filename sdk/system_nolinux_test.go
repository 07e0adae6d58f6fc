// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package stefsdk_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func withoutPermission(t *testing.T, dir string) (restrict, allow func()) {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("this user can write to each folder; package rotate tests missing permissions with a stub")
	}
	return func() { require.NoError(t, os.Chmod(dir, 0)) }, func() { require.NoError(t, os.Chmod(dir, 0o700)) }
}

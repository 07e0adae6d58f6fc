// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cputime

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sink []byte

func TestUsed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system does not report CPU times")
	}
	begin := Used()
	for Used() == begin {
		sink = make([]byte, 1<<20)
	}
	require.Greater(t, Used(), begin)
}

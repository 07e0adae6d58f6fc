// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchdata

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		require.Equal(t, want != "", name(&out, args, "synthetic"))
		require.Equal(t, want, out.String())
	}
	f("data: synthetic\n", "a.test", "-test.v", "-test.bench=.")
	f("data: synthetic\n", "a.test", "--test.bench=Encode")
	f("data: synthetic\n", "a.test", "-test.bench", ".")
	f("", "a.test", "-test.run=.", "-test.bench=")
	f("", "a.test", "-test.benchtime=3x")
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The functions that the page of the architecture names run on the walks.
func TestWalks(t *testing.T) {
	out, err := exec.Command("make", "-s", "-C", "../..", "walks").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "A push to its acknowledgement: ")
}

func TestMissing(t *testing.T) {
	ran := []*function{{folder: "stef-go/x", name: "*T.M"}, {folder: "stef-go/x", name: "F"}, {folder: "stef-go/x", name: "generic"}}
	f := func(want int, gone []string, text string) {
		t.Helper()
		total, have := missing(text, ran)
		require.Equal(t, want, total)
		require.Equal(t, gone, have)
	}
	f(3, nil, "`stef-go/x.T.M` and `stef-go/x.F`, `stef-go/x.F`, `stef-go/x.G.generic`; `stef-go/x` and `make x` are no functions")
	f(2, []string{"stef-go/x.T.N", "stef-go/y.F"}, "`stef-go/x.T.N` `stef-go/y.F`")
}

func TestSectionOf(t *testing.T) {
	text := "# Page\n\n## One\n\na\n\n## Two\n\nb\n"
	section, ok := sectionOf(text, "One")
	require.True(t, ok)
	require.Equal(t, "\na\n", section)
	section, _ = sectionOf(text, "Two")
	require.Equal(t, "\nb\n", section)
	_, ok = sectionOf(text, "Three")
	require.False(t, ok)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
)

// The script for bash completes what a user types.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	script := filepath.Join(t.TempDir(), "stef.bash")
	out, _ := mustRun(t, nil, "completion", "bash")
	require.NoError(t, os.WriteFile(script, []byte(out), 0o666))
	f := func(want string, words ...string) {
		t.Helper()
		line := "source " + script + "; COMP_WORDS=(" + strings.Join(words, " ") + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _stef; echo ${COMPREPLY[*]}"
		got, err := exec.Command(bash, "-c", line).CombinedOutput()
		require.NoError(t, err, "%s", got)
		require.Equal(t, want, strings.TrimSpace(string(got)))
	}
	f("repair record replay", "stef", "re")
	f("ordered sorted", "stef", "convert", "--mode", "''")
	f("--quiet", "stef", "convert", "x", "--q")
	f("--all --base --depth --frames --json --memory-mib --root --schema --signal", "stef", "stat", "--")
	f("", "stef", "stat", "x")
	f("stef otlp-parts otlp otlp-json stef-parts parquet arrow", "stef", "convert", "--from", "''")
	f("stef otlp-parts otlp otlp-json parquet arrow", "stef", "convert", "--to", "''")
	f("original max", "stef", "replay", "--rate", "''")
	f("bash zsh fish", "stef", "completion", "''")
	f("repair record replay", "stef", "help", "re")
}

func TestCompletion(t *testing.T) {
	out, _ := mustRun(t, nil, "completion", "fish")
	require.Contains(t, out, "complete -c stef -n __fish_use_subcommand -a repair -d 'copy the whole frames of a cut or damaged stream'\n")
	require.Contains(t, out, "complete -c stef -n '__fish_seen_subcommand_from convert' -l mode -x -a 'ordered sorted' -d ")
	out, _ = mustRun(t, nil, "completion", "zsh")
	require.True(t, strings.HasPrefix(out, "autoload -U +X bashcompinit"))
	code, _, stderr := run(nil, "completion", "tcsh")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, `"tcsh" is none of bash, zsh and fish`)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/teltest"
)

// The output of cat for streams of the reference implementation is correct byte for byte.
// Without --root, cat finds the root unless several roots fit the data.
func TestCatEdgeVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		path := v.Path()
		code, out, stderr := run(nil, "cat", "--canonical", "--root", v.Root, path)
		if v.ReferenceError != "" {
			require.Equal(t, cli.ExitData, code, v.Name)
			require.Contains(t, stderr, "limit exceeded", v.Name)
			continue
		}
		require.Zero(t, code, v.Name)
		require.Empty(t, stderr)
		require.Equal(t, string(v.JSON(t)), out, v.Name)

		code, found, stderr := run(nil, "cat", "--canonical", path)
		if code != 0 {
			require.Contains(t, stderr, "cannot determine which records the stream holds", v.Name)
			continue
		}
		require.Equal(t, out, found, v.Name)

		plain, _ := mustRun(t, nil, "cat", path)
		require.Equal(t, strings.Count(out, "\n"), strings.Count(plain, "\n"))
		for line := range strings.Lines(plain) {
			require.True(t, json.Valid([]byte(line)), "%s: %s", v.Name, line)
		}
	}
}

// sum hashes what is written, counts its lines, and keeps the first 200 lines.
type sum struct {
	hash.Hash
	lines int
	first bytes.Buffer
}

func (s *sum) Write(b []byte) (int, error) {
	rest := b
	for s.lines < 200 && len(rest) > 0 {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
			s.lines++
		}
		s.first.Write(line)
		rest = rest[len(line):]
	}
	s.lines += bytes.Count(rest, []byte("\n"))
	return s.Hash.Write(b)
}

func TestCatDataVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	for _, v := range teltest.Vectors(t, "data") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			out := &sum{Hash: sha256.New()}
			var stderr bytes.Buffer
			code := cli.Run([]string{"cat", "--canonical", v.Path()}, cli.Env{Stdout: out, Stderr: &stderr})
			require.Zero(t, code, stderr.String())
			require.EqualValues(t, v.Canonical.Records, out.lines)
			require.Equal(t, string(v.JSON(t)), out.first.String())
			require.Equal(t, v.Canonical.SHA256, hex.EncodeToString(out.Sum(nil)))
		})
	}
}

// Every command ends with the right kind of error for malformed input.
func TestMalformedVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "malformed") {
		path := v.Path()
		for _, args := range [][]string{{"cat"}, {"stat"}, {"cat", "--root", v.Root}, {"convert", "--quiet", "--to", "stef"}} {
			args = append(args, path)
			if args[0] == "convert" {
				args = append(args, "-")
			}
			code, _, stderr := run(nil, args...)
			// Some vectors fail only with a wrong root. Without --root, the command may find the
			// right root and succeed.
			if v.Expect == "error" && args[1] == "--root" {
				require.NotZero(t, code, "%v", args)
			}
			if code != 0 {
				want := cli.ExitData
				if strings.HasSuffix(stderr, ": leave --root out\n") {
					want = cli.ExitUsage
				}
				require.Equal(t, want, code, "%v", args)
				require.True(t, strings.HasPrefix(stderr, "stef "+args[0]+": "+path+": "), stderr)
			}
		}
	}
}

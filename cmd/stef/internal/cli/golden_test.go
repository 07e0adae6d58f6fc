// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/cli"
	"github.com/otelstef/stef/internal/teltest"
)

type vector struct {
	Name, File, Root, Sidecar, First200 string
	ReferenceError                      string `json:"reference_error"`
	Canonical                           struct {
		Root    string
		Records int
		SHA256  string
	}
}

func vectors(t *testing.T, folder string) []vector {
	t.Helper()
	f, err := os.Open(teltest.Golden(t, folder, "MANIFEST.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var list []vector
	for dec := json.NewDecoder(f); ; {
		var v vector
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			require.NotEmpty(t, list)
			return list
		} else {
			require.NoError(t, err)
		}
		list = append(list, v)
	}
}

func sidecar(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		require.NoError(t, err)
		b, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	return string(b)
}

// Cat prints the records of the reference's streams byte for byte, and finds
// their roots if the data decide.
func TestCatEdgeVectors(t *testing.T) {
	for _, v := range vectors(t, "edge") {
		path := teltest.Golden(t, "edge", v.File)
		code, out, stderr := run(nil, "cat", "--canonical", "--root", v.Root, path)
		if v.ReferenceError != "" {
			require.Equal(t, cli.ExitData, code, v.Name)
			require.Contains(t, stderr, "limit exceeded", v.Name)
			continue
		}
		require.Zero(t, code, v.Name)
		require.Empty(t, stderr)
		require.Equal(t, sidecar(t, teltest.Golden(t, "edge", v.Sidecar)), out, v.Name)

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

// sum hashes and counts the written bytes, and keeps the beginning.
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
	for _, v := range vectors(t, "data") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			out := &sum{Hash: sha256.New()}
			var stderr bytes.Buffer
			code := cli.Run([]string{"cat", "--canonical", teltest.Golden(t, "data", v.File)}, cli.Env{Stdout: out, Stderr: &stderr})
			require.Zero(t, code, stderr.String())
			require.Equal(t, v.Canonical.Records, out.lines)
			require.Equal(t, sidecar(t, teltest.Golden(t, "data", v.First200)), out.first.String())
			require.Equal(t, v.Canonical.SHA256, hex.EncodeToString(out.Sum(nil)))
		})
	}
}

// Every command ends with the right kind of error for malformed input.
func TestMalformedVectors(t *testing.T) {
	f, err := os.Open(teltest.Golden(t, "malformed", "MANIFEST.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var v struct{ Name, File, Root, Expect string }
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
		path := teltest.Golden(t, "malformed", v.File)
		for _, args := range [][]string{{"cat"}, {"stat"}, {"cat", "--root", v.Root}, {"convert", "--quiet", "--to", "stef"}} {
			args = append(args, path)
			if args[0] == "convert" {
				args = append(args, "-")
			}
			code, _, stderr := run(nil, args...)
			// Without --root, the right root may be found where the vector
			// expects a wrong one.
			if v.Expect == "error" && args[1] == "--root" {
				require.Equal(t, cli.ExitData, code, "%v", args)
			}
			if code != 0 {
				require.Equal(t, cli.ExitData, code, "%v", args)
				require.True(t, strings.HasPrefix(stderr, "stef "+args[0]+": "+path+": "), stderr)
			}
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package teltest finds and reads the telemetry for tests and benchmarks: the
// large real sets outside the repository, and the fixtures inside it.
package teltest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/benchdata"
)

// RequireEnv is an environment variable. If it is not empty, a missing set is a
// failure instead of a skip.
const RequireEnv = "STEF_REQUIRE_SETS"

// LogEnv is an environment variable with the name of a file. Each test that requests a set appends
// a line to this file: the folder of the test, a tab, and the name of the test. Only these tests
// depend on the sets, so it is sufficient to run these tests again where the sets exist.
const LogEnv = "STEF_SETS_LOG"

const rootModule = "module github.com/otelstef/stef"

// Data returns the path of an element of the real OTLP sets. They are in the folder STEF_DATA. If
// this is not set, they are in shared/data next to the folder of the root module. Without the
// sets, Data skips the test with a message, or fails the test if RequireEnv is set.
func Data(tb testing.TB, elem ...string) string {
	tb.Helper()
	return find(tb, "STEF_DATA", "data", elem)
}

// Golden is like Data for the reference vectors: STEF_GOLDEN or shared/golden.
func Golden(tb testing.TB, elem ...string) string {
	tb.Helper()
	return find(tb, "STEF_GOLDEN", "golden", elem)
}

func find(tb testing.TB, env, folder string, elem []string) string {
	tb.Helper()
	if file := os.Getenv(LogEnv); file != "" {
		if err := note(file, tb.Name()); err != nil {
			tb.Fatal(err)
		}
	}
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join(filepath.Dir(Root(tb)), "shared", folder)
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		const format = "needs %s, which is not here (set %s to its folder)"
		name := filepath.Join(append([]string{"shared", folder}, elem...)...)
		if os.Getenv(RequireEnv) != "" {
			tb.Fatalf(format, name, env)
		}
		tb.Skipf(format, name, env)
	}
	return path
}

// start is the working directory at the start of the program: the folder of the package under
// test. A test may change the working directory later.
var start, _ = os.Getwd()

func note(file, test string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(test, "/")
	_, err = f.WriteString(start + "\t" + name + "\n")
	return errors.Join(err, f.Close())
}

// Root returns the folder of the root module.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			first, _, _ := strings.Cut(string(mod), "\n")
			if strings.TrimSpace(first) == rootModule {
				return dir, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the folder of the root module is not above the working directory")
		}
		dir = parent
	}
}

// BenchSets makes a test program print, as its first line of output, whether its benchmarks use
// the large real sets; see package benchdata. The name of a benchmark contains the name of its set.
// others describes the other data of the benchmarks.
func BenchSets(others string) bool {
	dir := os.Getenv("STEF_DATA")
	if dir == "" {
		top, err := root()
		if err != nil {
			return false
		}
		dir = filepath.Join(filepath.Dir(top), "shared", "data")
	}
	if _, err := os.Stat(filepath.Join(dir, "metrics")); err != nil {
		return benchdata.Name(others + "; the large real sets are not here (STEF_DATA names their folder)")
	}
	return benchdata.Name(others + "; the large real sets")
}

// wantParts says how to get a file that Parts reads.
const wantParts = "the file must hold whole OTLP messages, each after its length, compressed with zstd: stef convert writes it from other formats as NAME.parts.zst"

// Parts reads a file of length-prefixed parts, compressed with zstd: each part is a
// big-endian uint32 length and that many bytes of one OTLP message.
func Parts(tb testing.TB, path string) [][]byte {
	tb.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	parts, err := fixtures.Parts(file)
	if err == nil && len(parts) == 0 {
		err = errors.New("the file has no part")
	}
	if err != nil {
		tb.Fatalf("%s: %v; %s", path, err, wantParts)
	}
	return parts
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"path"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	benchmarkLine = regexp.MustCompile(`(?m)^func Benchmark[A-Z]`)
	namesData     = regexp.MustCompile(`benchdata\.Name\(|teltest\.BenchSets\(|dataset\.Main\(`)
)

// nameless reports folders whose benchmarks do not print the name of their data.
func nameless(files []file) (problems []string) {
	with, named := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if !f.goTest() || f.testdata() {
			continue
		}
		dir := path.Dir(f.path)
		with[dir] = with[dir] || benchmarkLine.Match(f.data)
		named[dir] = named[dir] || namesData.Match(f.data)
	}
	for dir, yes := range with {
		if yes && !named[dir] {
			problems = append(problems, dir+": its benchmarks do not say which data they use: call benchdata.Name or teltest.BenchSets")
		}
	}
	return problems
}

func TestBenchmarksNameTheirData(t *testing.T) { none(t, nameless(repo(t))) }

func TestNamelessBites(t *testing.T) {
	require.Len(t, nameless(sample(t, "a/a_test.go", "package a\n\nfunc BenchmarkX(b *testing.B) {}\n")), 1)
	require.Empty(t, nameless(sample(t, "a/a_test.go", "package a\n\nvar _ = benchdata.Name(\"x\")\n\nfunc BenchmarkX(b *testing.B) {}\n")))
	require.Empty(t, nameless(sample(t, "a/a_test.go", "package a\n\nfunc TestX(t *testing.T) {}\n")))
}

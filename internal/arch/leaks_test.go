// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// unchecked are the packages that start goroutines and need no check for leaks. They have no
// tests of their own, or are programs that end after a measurement.
var unchecked = map[string]bool{
	"benchmarks/sampling":           true,
	"benchmarks/study":              true,
	"internal/fixtures/record":      true,
	"internal/fixtures/record/shop": true,
	"sdk/internal/endpoint":         true, // the tests of sdk check it
	"sdk/internal/files":            true, // the tests of sdk check it
	"sdk/internal/sdktest":          true, // the tests of sdk check it
	"sdk/internal/study":            true,
}

// startsGoroutines reports whether a file has a go statement, a call of WaitGroup.Go
// or a call of time.AfterFunc.
func startsGoroutines(t *testing.T, f file) (found bool) {
	src, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(src, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Go" || s.Sel.Name == "AfterFunc") {
				found = true
			}
		}
		return !found
	})
	return found
}

// TestLeaksAreChecked checks that each package that starts goroutines has a TestMain
// that fails if a goroutine outlives the tests.
func TestLeaksAreChecked(t *testing.T) {
	starts, checks := map[string]bool{}, map[string]bool{}
	for _, f := range repo(t) {
		switch {
		case !f.goSource() || f.testdata():
		case !f.goTest():
			starts[f.dir()] = starts[f.dir()] || startsGoroutines(t, f)
		case bytes.Contains(f.data, []byte("func TestMain(")):
			checks[f.dir()] = bytes.Contains(f.data, []byte("goleak.VerifyTestMain(m)")) || bytes.Contains(f.data, []byte("goleak.Find()"))
		}
	}
	var missing []string
	for _, dir := range slices.Sorted(maps.Keys(starts)) {
		switch {
		case starts[dir] && !checks[dir] && !unchecked[dir]:
			missing = append(missing, dir+" starts goroutines: call goleak.VerifyTestMain(m) in its TestMain")
		case unchecked[dir] && (checks[dir] || !starts[dir]):
			missing = append(missing, dir+" needs no exception")
		}
	}
	none(t, missing)
	require.True(t, starts["stef-gogrpc"] && checks["stef-gogrpc"])
}

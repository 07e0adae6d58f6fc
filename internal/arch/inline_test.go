// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaves lists functions that run once per value. The compiler must inline every call of leaf in the
// package in, because each call that is not inlined costs time for every value. An alias, or one more
// line in a leaf, can silently prevent inlining. stef-go/otelstef stands for any generated package.
var leaves = []struct{ in, leaf string }{
	{"stef-go/codec", "stef-go/bitio.(*BitWriter).Write"},
	{"stef-go/codec", "stef-go/bitio.(*BitReader).Read"},
	{records, "stef-go/bitio.(*BitWriter).Write"},
	{records, "stef-go/bitio.(*BitReader).Read"},
	{records, "stef-go/stefrt.(*Node).Mark"},
}

// object is the compiler output for a package: notes and symbols.
type object struct {
	notes   string // output of the compiler with the flag -m
	symbols string // output of go tool nm
}

func compile(t *testing.T, dir string) object {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "package.a")
	notes := goCommand(t, "build", "-gcflags=-m", "-o", archive, "./"+dir)
	cmd := exec.Command("go", "tool", "nm", archive)
	symbols, err := cmd.Output()
	require.NoError(t, err)
	return object{notes, string(symbols)}
}

// inlined returns "" if the compiler inlined every call of a leaf. Otherwise it says what the
// compiler did not inline. The name of the leaf begins with its folder, as in
// "stef-go/bitio.(*BitWriter).Write".
func (o object) inlined(leaf string) string {
	note := regexp.MustCompile(`(?m): inlining call to ` + regexp.QuoteMeta(path.Base(leaf)) + `$`)
	call := regexp.MustCompile(`(?m)^\s+U ` + regexp.QuoteMeta(module+"/"+leaf) + `$`)
	switch {
	case !note.MatchString(o.notes):
		return "inlined nowhere"
	case call.MatchString(o.symbols):
		return "inlined in some places, called in others"
	}
	return ""
}

func TestLeavesAreInlined(t *testing.T) {
	repo(t)
	objects := map[string]object{}
	var problems []string
	for _, row := range leaves {
		if _, ok := objects[row.in]; !ok {
			objects[row.in] = compile(t, row.in)
		}
		if p := objects[row.in].inlined(row.leaf); p != "" {
			problems = append(problems, fmt.Sprintf("%s: %s is %s", row.in, row.leaf, p))
		}
	}
	none(t, problems)
}

func TestInlinedBites(t *testing.T) {
	f := func(want, notes, symbols string) {
		t.Helper()
		o := object{strings.TrimPrefix(notes, "\n"), strings.TrimPrefix(symbols, "\n")}
		require.Equal(t, want, o.inlined("stef-go/bitio.(*BitWriter).Write"))
	}
	const (
		here  = "\nx/x.go:3:33: inlining call to bitio.(*BitWriter).Write\n"
		call  = "\n         U github.com/otelstef/stef/stef-go/bitio.(*BitWriter).Write\n"
		other = "\n         U github.com/otelstef/stef/stef-go/bitio.(*BitWriter).WriteSlow\n"
	)
	f("", here, other)
	f("", here+here, "")
	f("inlined nowhere", "", call)
	f("inlined nowhere", "\nx/x.go:3:33: inlining call to bitio.(*BitWriter).WriteSlow\n", "")
	f("inlined in some places, called in others", here, other+call)
}

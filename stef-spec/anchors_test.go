// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	spec "github.com/otelstef/stef/stef-spec"
)

// promised are the anchors that sources may cite; their names never change.
// Other anchors may be added.
const promised = `notation uvarint varint uvarint-compact fixed-header frame frame-flags compression var-header
wire-schema data-frame column-order column-omission struct struct-dict oneof array multimap bool integers float64
string string-dict state restart evolution compatibility schema-language grpc otlp-mapping limits`

var (
	anchorTag = regexp.MustCompile(`<a id="([^"]*)"></a>`)
	linkTo    = regexp.MustCompile(`\]\(#([^)]*)\)`)
	// A citation is a whole comment, on a line of its own or at the end of a line: spec: #a #b.
	citation = regexp.MustCompile(`(?://|#|<!--|--)\s*spec:((?:\s+#[a-z0-9-]+)+)`)
)

func anchors(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range anchorTag.FindAllStringSubmatch(spec.Specification, -1) {
		require.False(t, found[m[1]], "anchor %s is there twice", m[1])
		found[m[1]] = true
	}
	return found
}

func TestAnchors(t *testing.T) {
	found := anchors(t)
	for _, name := range strings.Fields(promised) {
		require.True(t, found[name], "anchor %s is missing", name)
	}
	links := linkTo.FindAllStringSubmatch(spec.Specification, -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		require.True(t, found[m[1]], "a link goes to #%s, which is not there", m[1])
	}
}

// TestCitations finds the anchors that sources anywhere in the repository cite.
func TestCitations(t *testing.T) {
	found := anchors(t)
	cited := 0
	for _, path := range sources(t) {
		for line, names := range citations(t, path) {
			for _, name := range names {
				cited++
				require.True(t, found[name], "%s:%d cites #%s, which is not in specification.md", path, line, name)
			}
		}
	}
	require.NotZero(t, cited, "nothing cites the specification")
}

// sources lists the files whose comments may cite the specification.
func sources(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(teltest.Root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".git" || name == ".tmp" || name == "bin") {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".tmpl", ".stef", ".proto":
			if d.Type().IsRegular() {
				paths = append(paths, path)
			}
		}
		return nil
	})
	require.NoError(t, err)
	return paths
}

func citations(t *testing.T, path string) map[int][]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	found := map[int][]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if names := citedIn(lines.Text()); names != nil {
			found[n] = names
		}
	}
	require.NoError(t, lines.Err(), path)
	return found
}

func citedIn(line string) []string {
	m := citation.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return strings.Fields(strings.ReplaceAll(m[1], "#", " "))
}

func TestCitedIn(t *testing.T) {
	f := func(line string, want ...string) {
		t.Helper()
		require.Equal(t, want, citedIn(line))
	}
	f("// sp"+"ec: #struct", "struct")
	f("\tx := 1 // sp"+"ec: #struct-dict #string-dict", "struct-dict", "string-dict")
	f("{{/* // sp"+"ec: #uvarint */}}", "uvarint")
	f("// the specification: #struct")
	f("// sp" + "ec: struct")
	f("package spec")
}

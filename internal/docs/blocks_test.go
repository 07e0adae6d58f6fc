// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
)

// block is a fenced block of a page.
type block struct {
	page string // slash-separated, from the root of the repository
	line int    // number of the line with the opening fence
	lang string
	mark string // "run", "check", ...; "" without a mark
	arg  string // what follows the mark
	text string
	// setup has commands that the runner executes before the commands of the block.
	setup []string
	// with has the texts that the runner replaces in the commands, old and new.
	with [][2]string
}

func (b *block) where() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

var (
	markLine = regexp.MustCompile(`^<!-- docs: ([a-z]+)[, ]*(.*?) *-->$`)
	// indented finds commands outside a fenced block.
	indented = regexp.MustCompile(`^(?:    |\t)(?:\$ )?(?:make|go|stef|stefc|bin/[a-z-]+|git|curl|docker) [a-z-]`)
)

// parse returns the fenced blocks of a page, and the problems: commands that are not in a fenced
// block, wrong marks, marks without a block, and fences without an end.
func parse(page, text string) (blocks []*block, problems []string) {
	var open *block
	next := &block{} // collects the marks of the next block
	fence := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case open != nil && trimmed == fence:
			blocks, open = append(blocks, open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			lang := strings.TrimLeft(trimmed, "`")
			fence = strings.Repeat("`", len(trimmed)-len(lang))
			open, next = next, &block{}
			open.page, open.line, open.lang = page, n, lang
		case markLine.MatchString(trimmed):
			mark := markLine.FindStringSubmatch(trimmed)
			if !next.addMark(mark[1], mark[2]) {
				problems = append(problems, fmt.Sprintf("%s:%d: this mark is wrong, or the second one of the block", page, n))
			}
		case indented.MatchString(line):
			problems = append(problems, fmt.Sprintf("%s:%d: commands belong into a fenced block: %s", page, n, trimmed))
		case trimmed != "" && next.marked():
			problems = append(problems, fmt.Sprintf("%s:%d: a mark without a block", page, n))
			next = &block{}
		}
	}
	if open != nil {
		problems = append(problems, open.where()+": the block does not end")
	}
	return blocks, problems
}

// addMark adds a mark to the block, and reports whether the mark is valid.
func (b *block) addMark(mark, arg string) bool {
	switch mark {
	case "setup":
		b.setup = append(b.setup, arg)
		return arg != ""
	case "with":
		before, after, ok := strings.Cut(arg, " becomes ")
		b.with = append(b.with, [2]string{before, after})
		return ok && before != ""
	}
	first := b.mark == ""
	b.mark, b.arg = mark, arg
	return first
}

func (b *block) marked() bool { return b.mark != "" || len(b.setup) > 0 || len(b.with) > 0 }

// pages returns the paths of all pages: the Markdown files of the repository.
func pages(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == ".git" || name == ".tmp" || name == "bin" || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ".md":
			rel, err := filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(list)
	return list
}

func read(t *testing.T, root, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	return string(text)
}

func TestParse(t *testing.T) {
	f := func(text string, want []block, problems int) {
		t.Helper()
		got, bad := parse("p", text)
		require.Len(t, bad, problems)
		require.Len(t, got, len(want))
		for i := range want {
			want[i].page = "p"
			require.Equal(t, want[i], *got[i])
		}
	}
	f("text\n\n```sh\nmake x\n```\n", []block{{line: 3, lang: "sh", text: "make x\n"}}, 0)
	f("<!-- docs: run -->\n```sh\nx\n```\n", []block{{line: 2, lang: "sh", mark: "run", text: "x\n"}}, 0)
	f("<!-- docs: check, takes long -->\n\n```sh\n```\n", []block{{line: 3, lang: "sh", mark: "check", arg: "takes long"}}, 0)
	f("<!-- docs: file a.stef -->\n```stef\nx\n```\n```\ny\n```\n", []block{
		{line: 2, lang: "stef", mark: "file", arg: "a.stef", text: "x\n"}, {line: 5, text: "y\n"}}, 0)
	f("<!-- docs: setup, a b -->\n<!-- docs: run -->\n<!-- docs: with, 1h becomes 1s -->\n```sh\n```\n", []block{
		{line: 4, lang: "sh", mark: "run", setup: []string{"a b"}, with: [][2]string{{"1h", "1s"}}}}, 0)
	f("<!-- docs: run -->\n<!-- docs: check, x -->\n```sh\n```\n", []block{{line: 3, lang: "sh", mark: "check", arg: "x"}}, 1)
	f("<!-- docs: setup, a -->\ntext\n", nil, 1)
	f("1. one\n   ```sh\n   x\n   ```\n", []block{{line: 2, lang: "sh", text: "   x\n"}}, 0)
	f("````\n```\n````\n", []block{{line: 1, text: "```\n"}}, 0)
	f("    make test\n", nil, 1)
	f("\tstef convert a b\n", nil, 1)
	f("    a := make([]int, 1)\n", nil, 0)
	f("```sh\nx\n", nil, 1)
	f("<!-- docs: run -->\ntext\n", nil, 1)
}

// linkTarget finds the targets of links in Markdown.
var linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks finds broken links within the repository. An anchor must be an id
// on the page or the slug of a heading.
func TestLinks(t *testing.T) {
	root := teltest.Root(t)
	var problems []string
	n := 0
	for _, page := range pages(t, root) {
		for _, m := range linkTarget.FindAllStringSubmatch(read(t, root, page), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			n++
			path := page
			if target != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %s is not there", page, m[1]))
			} else if anchor != "" && !slices.Contains(anchors(read(t, root, path)), anchor) {
				problems = append(problems, fmt.Sprintf("%s: %s has no anchor %s", page, path, anchor))
			}
		}
	}
	require.NotZero(t, n)
	require.Empty(t, strings.Join(problems, "\n"))
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noSlug  = regexp.MustCompile(`[^a-z0-9 _-]`)
	pageID  = regexp.MustCompile(`<a id="([^"]+)">`)
)

// anchors are the ids of a page and the slugs of its headings.
func anchors(text string) (list []string) {
	for _, m := range pageID.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

func TestAnchors(t *testing.T) {
	require.Equal(t, []string{"x", "where-things-are", "the-stef-tool"}, anchors("# Where things are\n<a id=\"x\"></a>\n## The `stef` tool\n"))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/idl"
)

// commandTime bounds the run time of the commands of one block. Some commands compile programs, and
// this takes minutes on a slow computer without a build cache.
const commandTime = 20 * time.Minute

// withoutSymbols omits debug information, because linking takes most of the time.
const withoutSymbols = "-ldflags=-s -w"

// tester tests the blocks of one page.
type tester struct {
	t        *testing.T
	root     string
	programs string // the folder with the programs of this repository
	dir      string // where the blocks of the page run; "" before the first block
	clone    string // where the long blocks of the page run; "" before the first long block
	output   string // output of the previous block
	ports    map[string]string
	facts    *facts
}

// TestPages tests every block of every page.
func TestPages(t *testing.T) {
	root := teltest.Root(t)
	programs := t.TempDir()
	for dir, packages := range map[string]string{".": "./cmd/...", "cmd/stef": "."} {
		build := exec.Command("go", "build", withoutSymbols, "-o", programs+"/", packages)
		build.Dir = filepath.Join(root, dir)
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	known := learn(t, root)
	covered := map[string]int{}
	var checked []string
	for _, page := range pages(t, root) {
		t.Run(page, func(t *testing.T) {
			blocks, problems := parse(page, read(t, root, page))
			x := &tester{t: t, root: root, programs: programs, facts: known}
			for _, b := range blocks {
				how, err := x.test(b)
				if err != nil {
					problems = append(problems, fmt.Sprintf("%s: a block of %q: %v", b.where(), b.lang, err))
					continue
				}
				t.Logf("%s: %s: %s", b.where(), b.lang, how)
				word, _, _ := strings.Cut(how, " ")
				covered[strings.TrimSuffix(word, ",")]++
				if b.mark == "check" {
					checked = append(checked, b.where()+": "+b.arg)
				}
			}
			require.Empty(t, strings.Join(problems, "\n"))
		})
	}
	t.Logf("blocks by how they are covered: %v", covered)
	require.NotEmpty(t, covered)
	t.Logf("no test and no target runs these %d:\n%s", len(checked), strings.Join(checked, "\n"))
	require.LessOrEqual(t, len(checked), maxChecked)
}

// test tests a block and returns how it is covered.
func (x *tester) test(b *block) (how string, err error) {
	switch {
	case b.mark == "output":
		return "compared with the output of the block before", x.compare(b.text)
	case b.mark == "elsewhere":
		if !x.facts.tests[b.arg] {
			return "", fmt.Errorf("there is no test %q", b.arg)
		}
		return "elsewhere, by " + b.arg, nil
	case b.mark == "file":
		if b.lang == "stef" {
			if _, err := idl.Parse(b.arg, []byte(b.text)); err != nil {
				return "", err
			}
		}
		return "file of the blocks that follow", os.WriteFile(filepath.Join(x.folder(), filepath.Base(b.arg)), []byte(b.text), 0o600)
	case strings.HasPrefix(b.lang, "stef-") && b.page == "stef-spec/specification.md":
		return "elsewhere, by the tests of stef-spec", nil
	case b.lang == "stef":
		_, err := idl.Parse(b.where(), []byte(b.text))
		return "parsed as a schema", err
	case b.lang == "yaml":
		return checkYAML(x.root, b.text)
	case b.lang == "go":
		return "run as a program", x.program(b)
	case b.mark == "run" && b.arg == "":
		return "run with bash" + b.changes(), x.script(x.folder(), commandTime, b, b.text)
	case b.mark == "run" && b.arg == "in the repository":
		return "run with bash in the repository" + b.changes(), x.script(x.root, commandTime, b, eachLine(b.text))
	case b.mark == "session":
		return "run as a session, its output compared", x.session(b)
	case b.mark == "long" && b.arg != "":
		return x.long(b)
	case b.mark == "ci":
		return "ci runs these commands", x.facts.inCI(b.text)
	case b.mark == "check" && b.arg != "":
		return "checked, not run: " + b.arg, x.facts.check(b.text)
	case b.mark == "check", b.mark == "long":
		return "", fmt.Errorf("the mark %s needs a reason", b.mark)
	}
	return "", fmt.Errorf("nothing covers this block; add a mark, such as <!-- docs: run -->, as go doc ./internal/docs says")
}

// folder is the folder in which the blocks of the page run; it has recordings.
func (x *tester) folder() string {
	if x.dir != "" {
		return x.dir
	}
	x.dir = x.t.TempDir()
	for _, name := range []string{"metrics", "traces", "logs"} {
		data, err := os.ReadFile(filepath.Join(x.root, "internal", "fixtures", name+".otlp.zst"))
		require.NoError(x.t, err)
		require.NoError(x.t, os.WriteFile(filepath.Join(x.dir, name+".otlp.zst"), data, 0o600))
	}
	writeOrders(x.t, x.dir)
	return x.dir
}

// program runs a block as a program of the root module.
func (x *tester) program(b *block) error {
	if !strings.Contains("\n"+b.text, "\npackage main\n") {
		return fmt.Errorf("this is no complete program")
	}
	file := filepath.Join(x.t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("gofmt would change it: %w", err)
	}
	binary := filepath.Join(filepath.Dir(file), "main")
	if err := x.command(x.root, "go", "build", withoutSymbols, "-o", binary, file); err != nil {
		return err
	}
	return x.command(x.folder(), binary)
}

func (x *tester) command(dir, name string, args ...string) error {
	return x.commandFor(commandTime, dir, name, args...)
}

func (x *tester) commandFor(most time.Duration, dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(x.t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second // background processes of a command may keep its output open
	cmd.Env = append(os.Environ(), "PATH="+x.programs+string(os.PathListSeparator)+os.Getenv("PATH"), "STEF="+x.root, "DIR="+x.folder())
	cmd.Env = append(cmd.Env, goEnv()...)
	out, err := cmd.CombinedOutput()
	x.output = string(out)
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, out[max(0, len(out)-maxOutput):])
	}
	return nil
}

// compare compares the output on the page with the output of the previous block.
func (x *tester) compare(shown string) error {
	if matches(shown, x.output) {
		return nil
	}
	return fmt.Errorf("the output is\n%s", x.output)
}

// duration finds durations: they differ from run to run.
var duration = regexp.MustCompile(`[0-9.]+ (?:ms|s)\b`)

// matches reports whether output matches shown, where "..." matches any number of lines, and a
// duration matches any duration.
func matches(shown, output string) bool {
	var pattern strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(shown), "\n") {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		parts := duration.Split(strings.TrimRight(line, " "), -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, duration.String()) + ` *\n`)
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(strings.TrimSpace(output) + "\n")
}

func TestMatches(t *testing.T) {
	require.True(t, matches("a\nb\n", "a\nb\n"))
	require.True(t, matches("a\n...\nd\n", "a\nb\nc\nd\n"))
	require.True(t, matches("a\n...\n", "a\n"))
	require.False(t, matches("a\n", "a\nb\n"))
	require.False(t, matches("a\n...\nd\n", "a\nb\n"))
	require.True(t, matches("5 items in 0.05 s\n", "5 items in 12 ms\n"))
	require.False(t, matches("5 items in 0.05 s\n", "6 items in 0.05 s\n"))
}

func TestBlocksBite(t *testing.T) {
	root := teltest.Root(t)
	known := learn(t, root)
	f := func(want string, b block) {
		t.Helper()
		x := &tester{t: t, root: root, facts: known}
		_, err := x.test(&b)
		require.ErrorContains(t, err, want)
	}
	f("nothing covers this block", block{lang: "sh", text: "make test\n"})
	f("nothing covers this block", block{lang: "text", text: "x\n"})
	f("needs a reason", block{lang: "sh", mark: "check", text: "make test\n"})
	f("make nothing-such", block{lang: "sh", mark: "check", arg: "long", text: "make nothing-such\n"})
	f("./nowhere", block{lang: "sh", mark: "check", arg: "long", text: "cd benchmarks && go run ./nowhere\n"})
	f("needs a reason", block{lang: "sh", mark: "long", text: "make test\n"})
	f("neither .ci/run nor a workflow runs make rivals", block{lang: "sh", mark: "ci", text: "make test\nmake rivals # minutes\n"})
	f("neither .ci/run nor a workflow runs make test V=1", block{lang: "sh", mark: "ci", text: "make test V=1\n"})
	f("exit status", block{lang: "sh", mark: "run", arg: "in the repository", text: "test -d cmd\nfalse\n"})
	f("exit status", block{lang: "sh", mark: "run", setup: []string{"false"}, text: "true\n"})
	f("the output is", block{lang: "console", mark: "session", text: "$ echo a\nb\n"})
	f("does not contain", block{lang: "sh", mark: "run", with: [][2]string{{"b", "c"}}, text: "true a\n"})
	f("stef knows no frobnicate", block{lang: "sh", mark: "check", arg: "long", text: "stef frobnicate x\n"})
	f("TestNothing", block{lang: "sh", mark: "elsewhere", arg: "TestNothing"})
	f("exit status", block{lang: "sh", mark: "run", text: "false\n"})
	f("no complete program", block{lang: "go", text: "x := 1\n"})
	f("undefined: x", block{lang: "go", text: "package main\n\nfunc main() { x() }\n"})
	f("endpoint", block{lang: "yaml", text: "exporters:\n  stef:\n    endpoint: \"\"\n"})
	f("nothing of this repository", block{lang: "yaml", text: "exporters:\n  debug:\n"})
	f("no package", block{lang: "yaml", text: "exporters:\n  - gomod: github.com/otelstef/stef v0.0.0\n    import: github.com/otelstef/stef/nothing\n"})
	f("no replacement", block{lang: "yaml", text: "replaces:\n  - example.com/a ../a\n"})
	f("package name", block{lang: "stef", text: "package\n"})
	x := &tester{t: t, output: "a\n"}
	_, err := x.test(&block{lang: "text", mark: "output", text: "b\n"})
	require.ErrorContains(t, err, "the output is")
	require.True(t, slices.ContainsFunc(pages(t, root), func(p string) bool { return p == "README.md" }))
}

// TestReadme checks that the folders in the table of the README exist.
func TestReadme(t *testing.T) {
	root := teltest.Root(t)
	rows := regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(read(t, root, "README.md"), -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		for _, name := range regexp.MustCompile("`([a-z/-]+)`").FindAllStringSubmatch(row[1], -1) {
			require.DirExists(t, filepath.Join(root, name[1]))
		}
	}
}

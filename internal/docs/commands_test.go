// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/freeport"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
)

const (
	// longEnv makes the runner execute the long blocks, too.
	longEnv = "STEF_DOCS_LONG"
	// longTarget is the target of the Makefile that sets longEnv.
	longTarget = "docs-long"
	// longTime bounds the run time of one long block.
	longTime = 100 * time.Minute
	// maxChecked is the maximum number of blocks that no test and no target runs.
	maxChecked = 7
	// maxOutput is how much of the output of a command that fails is printed, in bytes.
	maxOutput = 8000
)

// goEnv returns the variables that name the cache folders of the go command. The runner sets them for
// the commands of each block of code in the documentation. Without them, a block that sets HOME would
// begin with empty caches, because the default folders are below HOME.
var goEnv = sync.OnceValue(func() []string {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return nil
	}
	values := strings.Split(strings.TrimSpace(string(out)), "\n")
	return []string{"GOCACHE=" + values[0], "GOMODCACHE=" + values[1], "GOPATH=" + values[2]}
})

// writeOrders writes a schema and a stream of its records.
func writeOrders(t *testing.T, dir string) {
	t.Helper()
	const schema = "package shop\n\nstruct Order root {\n  ID uint64\n  Customer string dict(Customer)\n}\n"
	s, err := idl.Parse("shop.stef", []byte(schema))
	require.NoError(t, err)
	var stream bytes.Buffer
	w, err := dynamic.NewWriter(&stream, s.Root("Order"))
	require.NoError(t, err)
	for i := range 3 {
		rec := dynamic.NewStruct(s.Root("Order"))
		rec.Fields[0], rec.Fields[1] = uint64(i+1), "Ada"
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.stef"), []byte(schema), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.stef"), stream.Bytes(), 0o600))
}

// changes says what the runner replaces in the commands of a block.
func (b *block) changes() (list string) {
	for _, w := range b.with {
		list += fmt.Sprintf(", with %q instead of %q", w[1], w[0])
	}
	return list
}

// commandLines returns the commands of a text. Each line is one command.
func commandLines(text string) (list []string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// eachLine makes every line begin in the same folder.
func eachLine(text string) string {
	lines := commandLines(text)
	for i, line := range lines {
		lines[i] = "(\n" + line + "\n)"
	}
	return strings.Join(lines, "\n")
}

// script runs the commands of a block after the commands of its setup. Processes in the background
// end with the block.
func (x *tester) script(dir string, most time.Duration, b *block, text string) error {
	for _, w := range b.with {
		if !strings.Contains(text, w[0]) {
			return fmt.Errorf("the block does not contain %q", w[0])
		}
		text = strings.ReplaceAll(text, w[0], w[1])
	}
	if len(b.setup) > 0 {
		text = "{\n" + strings.Join(b.setup, "\n") + "\n} >/dev/null\n" + text
	}
	text = "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n" + text
	return x.commandFor(most, dir, "bash", "-euo", "pipefail", "-c", x.withPorts(text))
}

// loopback finds addresses of the page's programs.
var loopback = regexp.MustCompile(`localhost:[0-9]+`)

// withPorts replaces each port of the page with a port that is free on this machine.
func (x *tester) withPorts(text string) string {
	return loopback.ReplaceAllStringFunc(text, func(address string) string {
		if x.ports == nil {
			x.ports = map[string]string{}
		}
		if x.ports[address] == "" {
			x.ports[address] = strings.Replace(freeport.Address(x.t), "127.0.0.1", "localhost", 1)
		}
		return x.ports[address]
	})
}

// session runs the commands after "$ " and compares the output of each command with the
// lines below it. A command may fail if its output is as shown.
func (x *tester) session(b *block) error {
	if !strings.HasPrefix(b.text, "$ ") {
		return fmt.Errorf("a session starts with a command after %q", "$ ")
	}
	setup := b.setup
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(part, "\n")
		err := x.script(x.folder(), commandTime, &block{setup: setup, with: b.with}, command)
		setup = nil
		if matchErr := x.compare(shown); matchErr != nil {
			return fmt.Errorf("%s: %w (%v)", command, matchErr, err)
		}
	}
	return nil
}

// long checks a long block. If longEnv is set, it also runs the block in a clone of the
// repository.
func (x *tester) long(b *block) (how string, err error) {
	if err := x.facts.check(b.text); err != nil {
		return "", err
	}
	for _, w := range b.with {
		if !strings.Contains(b.text, w[0]) {
			return "", fmt.Errorf("the block does not contain %q", w[0])
		}
	}
	how = "long, make " + longTarget + " runs it" + b.changes() + ": " + b.arg
	if os.Getenv(longEnv) == "" {
		return how, nil
	}
	if x.clone == "" {
		x.clone = filepath.Join(x.t.TempDir(), "stef")
		if err := x.command(x.root, "git", "clone", "-q", "--local", x.root, x.clone); err != nil {
			return "", err
		}
	}
	start := time.Now()
	err = x.script(x.clone, longTime, b, "export GOFLAGS=\"${GOFLAGS:+$GOFLAGS }-trimpath\"\n"+eachLine(b.text))
	return fmt.Sprintf("long, run in %v%s", time.Since(start).Round(time.Second), b.changes()), err
}

var (
	stepLine  = regexp.MustCompile(`(?m)^.*\bstep ((?:env |make |go ).*?)\)?$`)
	runLine   = regexp.MustCompile(`(?m)^ *- run: (.*)$`)
	variables = regexp.MustCompile(`^[A-Z_]+=`)
)

// ciCommands returns the commands of .ci/run and of the workflows.
func (f *facts) ciCommands() (list []string, err error) {
	text, err := os.ReadFile(filepath.Join(f.root, ".ci", "run"))
	if err != nil {
		return nil, err
	}
	for _, m := range stepLine.FindAllStringSubmatch(string(text), -1) {
		list = append(list, strings.TrimPrefix(m[1], "env "))
	}
	files, err := filepath.Glob(filepath.Join(f.root, ".github", "workflows", "*.yml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range runLine.FindAllStringSubmatch(string(text), -1) {
			list = append(list, m[1])
		}
	}
	return list, err
}

// splitVariables splits a command into its words and the names of the variables that it sets.
func splitVariables(command string) (words string, names map[string]bool) {
	names = map[string]bool{}
	var rest []string
	for _, word := range strings.Fields(command) {
		if name := variables.FindString(word); name != "" {
			names[name] = true
		} else {
			rest = append(rest, word)
		}
	}
	return strings.Join(rest, " "), names
}

// inCI checks that CI runs each command. The command of CI may set more variables, and may
// set them to other values.
func (f *facts) inCI(text string) error {
	steps, err := f.ciCommands()
	if err != nil {
		return err
	}
	for _, line := range commandLines(text) {
		line, _, _ = strings.Cut(line, " #")
		words, names := splitVariables(line)
		found := false
		for _, step := range steps {
			have, more := splitVariables(step)
			same := have == words
			for name := range names {
				same = same && more[name]
			}
			found = found || same
		}
		if !found {
			return fmt.Errorf("neither .ci/run nor a workflow runs %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// TestLongBlocksRun checks that a workflow runs the target longTarget, and that this
// target executes the long blocks.
func TestLongBlocksRun(t *testing.T) {
	root := teltest.Root(t)
	known := learn(t, root)
	require.NoError(t, known.inCI("make "+longTarget))
	out, err := exec.Command("make", "-n", "-C", root, longTarget).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `\b`+longEnv+`=1 .*go test .*TestPages`, string(out))
}

func TestInCI(t *testing.T) {
	known := learn(t, teltest.Root(t))
	steps, err := known.ciCommands()
	require.NoError(t, err)
	require.Greater(t, len(steps), 15)
	require.NoError(t, known.inCI("make test\nmake demo # starts Collectors\n\nmake fuzz FUZZTIME=1s\n"))
}

func TestEachLine(t *testing.T) {
	require.Equal(t, "(\ncd a && b\n)\n(\nc   d # e\n)", eachLine("cd a && b\n\n# text\nc \\\n d # e\n"))
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/receiver/steffilereceiver"
	"github.com/otelstef/stef/receiver/stefreceiver"
)

// facts are the names that commands may use.
type facts struct {
	root    string
	targets map[string]bool            // targets of the Makefile
	tests   map[string]bool            // test functions of the repository
	words   map[string]map[string]bool // subcommands by program
}

var (
	targetLine = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	testLine   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]*)\(`)
	// sessionLine finds the commands in a terminal session.
	sessionLine = regexp.MustCompile(`(?m)^\$ .*$`)
	caseLine    = regexp.MustCompile(`(?m)"([a-z]+)"`)
)

func learn(t *testing.T, root string) *facts {
	t.Helper()
	f := &facts{root: root, targets: map[string]bool{}, tests: map[string]bool{}, words: map[string]map[string]bool{"stef": {}}}
	for _, m := range targetLine.FindAllStringSubmatch(read(t, root, "Makefile"), -1) {
		f.targets[m[1]] = true
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".tmp"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range testLine.FindAllStringSubmatch(string(text), -1) {
				f.tests[m[1]] = true
			}
		case strings.HasPrefix(path, filepath.Join(root, "cmd", "stef")+string(filepath.Separator)) && filepath.Ext(path) == ".go":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range caseLine.FindAllStringSubmatch(string(text), -1) {
				f.words["stef"][m[1]] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return f
}

// check checks that the names used in commands exist. It knows the commands
// that the pages use; any other command is an error.
func (f *facts) check(text string) error {
	text = strings.ReplaceAll(text, "\\\n", " ")
	if strings.HasPrefix(text, "$ ") { // a session: lines that do not begin with $ are output
		text = strings.Join(sessionLine.FindAllString(text, -1), "\n")
		text = strings.ReplaceAll(text, "$ ", "")
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if inner, ok := strings.CutPrefix(strings.TrimSpace(line), "("); ok { // a subshell: the next line begins in the folder of this line
			line, ok = strings.CutSuffix(inner, ")")
			if !ok {
				return fmt.Errorf("%s: not all of the line is in the brackets", strings.TrimSpace(inner))
			}
		}
		dir := f.root
		for _, command := range regexp.MustCompile(`&&|;|\|`).Split(line, -1) {
			words := strings.Fields(command)
			for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
				words = words[1:]
			}
			if len(words) == 0 || strings.HasPrefix(words[0], "#") {
				continue
			}
			if words[0] == "cd" && len(words) == 2 {
				dir = filepath.Join(dir, words[1])
				continue
			}
			if err := f.command(dir, words); err != nil {
				return fmt.Errorf("%s: %w", strings.TrimSpace(command), err)
			}
		}
	}
	return nil
}

func (f *facts) command(dir string, words []string) error {
	switch program := filepath.Base(words[0]); program {
	case "make":
		for _, word := range words[1:] {
			if !strings.Contains(word, "=") && !f.targets[word] {
				return fmt.Errorf("the Makefile has no such target")
			}
		}
	case "go":
		for _, word := range words[1:] {
			if path := strings.TrimSuffix(word, "/..."); strings.HasPrefix(path, "./") {
				if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
					return err
				}
			}
		}
	case "stef":
		if len(words) > 1 && !f.words[program][words[1]] {
			return fmt.Errorf("stef knows no %s", words[1])
		}
	case "git", "curl", "docker", "rm", "kill", "mkdir", "openssl", "for", "do", "done", "cp", "tee":
	default:
		if _, err := os.Stat(filepath.Join(f.root, "cmd", program)); err == nil || program == "builder" {
			return nil
		}
		if _, err := os.Stat(filepath.Join(dir, words[0])); err != nil {
			return fmt.Errorf("the check does not know this command")
		}
	}
	return nil
}

// checkYAML checks a block of YAML: a Collector configuration, or entries of a
// builder manifest.
func checkYAML(root, text string) (how string, err error) {
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	if err != nil {
		return "", err
	}
	raw, err := retrieved.AsRaw()
	if err != nil {
		return "", err
	}
	all, ok := raw.(map[string]any)
	if !ok {
		return "", fmt.Errorf("no map of sections")
	}
	for _, section := range []string{"exporters", "extensions", "replaces"} {
		if _, list := all[section].([]any); list {
			return "checked as a builder manifest", checkManifest(root, all)
		}
	}
	loaded := 0
	for _, c := range []struct {
		section string
		factory component.Factory
	}{{"exporters", stefexporter.NewFactory()}, {"receivers", stefreceiver.NewFactory()}, {"receivers", steffilereceiver.NewFactory()}} {
		section, factory := c.section, c.factory
		entries, _ := all[section].(map[string]any)
		for id, entry := range entries {
			if typ, _, _ := strings.Cut(id, "/"); typ != factory.Type().String() {
				continue
			}
			loaded++
			values, _ := entry.(map[string]any)
			config := factory.CreateDefaultConfig()
			if err := confmap.NewFromStringMap(values).Unmarshal(config); err != nil {
				return "", fmt.Errorf("%s %s: %w", section, id, err)
			}
			if err := confmap.Validate(config); err != nil {
				return "", fmt.Errorf("%s %s: %w", section, id, err)
			}
		}
	}
	if loaded == 0 {
		return "", fmt.Errorf("nothing of this repository is in this configuration")
	}
	return "loaded as a configuration", nil
}

// replaced matches an entry of replaces: a module, and a folder or a module with a version.
var replaced = regexp.MustCompile(`^\S+ => ([./]\S+|\S+ v[0-9.]+)$`)

// checkManifest checks that the modules and packages of a manifest exist, and the form of its
// replacements.
func checkManifest(root string, all map[string]any) error {
	const module = "github.com/otelstef/stef"
	for section, entries := range all {
		list, _ := entries.([]any)
		for _, entry := range list {
			if text, ok := entry.(string); ok && !replaced.MatchString(text) {
				return fmt.Errorf("%s: no replacement: %s", section, text)
			}
			e, _ := entry.(map[string]any)
			path, _ := e["import"].(string)
			if path == "" {
				path, _, _ = strings.Cut(fmt.Sprint(e["gomod"]), " ")
			}
			dir, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
				return fmt.Errorf("%s: no package %s", section, path)
			}
		}
	}
	return nil
}

// TestWorkflows checks the commands of the workflow files.
func TestWorkflows(t *testing.T) {
	root := teltest.Root(t)
	known := learn(t, root)
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = confmap.NewRetrievedFromYAML(text)
		require.NoError(t, err, file)
		plain := regexp.MustCompile(`\$\{\{[^}]*\}\}`).ReplaceAllString(string(text), "1")
		for _, m := range regexp.MustCompile(`(?m)^ *- run: (.*)$`).FindAllStringSubmatch(plain, -1) {
			n++
			require.NoError(t, known.check(m[1]), file)
		}
	}
	require.Greater(t, n, 5)
}

// TestFactsOfMetrics checks that the metrics that the pages name exist. The changelog
// also contains old names of metrics.
func TestFactsOfMetrics(t *testing.T) {
	root := teltest.Root(t)
	metric := regexp.MustCompile(`(?:exporter|receiver|extension)_stef(?:file|_encoding)?_[a-z][a-z_]*`) // not files of a queue: exporter_stef__traces
	known := map[string]bool{}
	all := pages(t, root)
	for _, page := range all {
		if filepath.Base(page) == "documentation.md" {
			for _, m := range regexp.MustCompile(`(?m)^### otelcol_([a-z_]+)$`).FindAllStringSubmatch(read(t, root, page), -1) {
				known[m[1]] = true
			}
		}
	}
	require.Greater(t, len(known), 40)
	n := 0
	for _, page := range all {
		if page == "CHANGELOG.md" || page == filepath.Join("docs", "trial-changes.md") { // they name metrics that are gone
			continue
		}
		for _, name := range metric.FindAllString(read(t, root, page), -1) {
			n++
			require.True(t, known[strings.TrimSuffix(name, "_bucket")], "%s: no metric %s", page, name)
		}
	}
	require.Greater(t, n, len(known))
}

// TestCommandsInBrackets checks that commands in a subshell are checked like other commands.
func TestCommandsInBrackets(t *testing.T) {
	known := learn(t, filepath.Join("..", ".."))
	require.NoError(t, known.check("(cd benchmarks && go test ./pair) # a comment\nmake test"))
	require.ErrorContains(t, known.check("(cd benchmarks && go test ./nothing)"), "nothing")
	require.ErrorContains(t, known.check("(make nothing)"), "no such target")
	require.ErrorContains(t, known.check("(cd benchmarks) && make test"), "in the brackets")
}

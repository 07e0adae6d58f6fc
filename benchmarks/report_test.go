// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/study"
)

var (
	reportDir = flag.String("report", "", "write the report into this `folder`")
	fullFlag  = flag.Bool("full", false, "measure all sets, more and longer")
	setFlag   = flag.String("set", "", "measure in the report only sets whose title, such as \"mine logs\", matches this `pattern`")
)

const (
	readme = "README.md"
	// published is the folder of the report in the repository.
	published = "results"
)

// texts returns the pages of this folder by name.
func texts(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, name := range pageNames(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		pages[name] = string(text)
	}
	return pages
}

// pageNames returns the sorted names of the pages of this folder.
func pageNames(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.Contains(t, names, readme)
	return names
}

// writePages writes the pages whose text differs from that of their file.
func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	for name, old := range texts(t) {
		if pages[name] != old {
			require.NoError(t, os.WriteFile(name, []byte(pages[name]), 0o666))
		}
	}
}

// TestReport writes the report: make report. Each study is a subtest, so that
// one table can be reproduced alone.
func TestReport(t *testing.T) {
	if *reportDir == "" {
		t.Skip("to write the report, use make report, or choose a folder: -report FOLDER")
	}
	run := flag.Lookup("test.run").Value.String()
	require.NoError(t, checkPart(run))
	inPublished := isPublished(*reportDir)
	if inPublished && (isPart(run, flag.Lookup("test.skip").Value.String()) || *setFlag != "") {
		t.Fatalf("a part of the report would replace the published one: choose another folder than -report %s", *reportDir)
	}
	refs, err := chosenSets(dataset.Refs(t), *setFlag)
	require.NoError(t, err)
	c := &study.Context{TB: t, Full: *fullFlag, Refs: refs, Sets: *setFlag}
	command := "make report"
	if *fullFlag {
		command = "make report-full"
	}
	r, blocks, whole := makeReport(t, c, *reportDir, command)
	require.True(t, whole || !inPublished, "studies are missing, so the published report stays as it is")
	require.NoError(t, r.Write())
	if len(r.Written) == 0 {
		t.Fatal("nothing was written: no part was measured")
	}
	t.Logf("written: %s", strings.Join(r.Written, ", "))
	dir, err := filepath.Abs(*reportDir)
	require.NoError(t, err)
	t.Logf("in the folder %s", dir)
	if !whole {
		t.Logf("only a part was measured, so the pages here stay as they are; open %s", filepath.Join(dir, firstPage(r.Written)))
		fmt.Print(tablesOf(t, blocks))
		return
	}
	if !inPublished {
		t.Logf("%s is not the published folder, so the pages here stay as they are", *reportDir)
		return
	}
	pages := texts(t)
	require.NoError(t, report.Fill(pages, blocks))
	writePages(t, pages)
}

// firstPage returns the first HTML page of the written files, or "" if no file is an HTML page.
func firstPage(written []string) string {
	for _, name := range written {
		if filepath.Ext(name) == ".html" {
			return name
		}
	}
	return ""
}

// tablesOf returns the tables of blocks of the pages, without charts and notes. A user who measures other
// sets can compare the new values with these published values.
func tablesOf(t *testing.T, blocks map[string]string) string {
	t.Helper()
	pages := texts(t)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		var rows []string
		for line := range strings.Lines(blocks[name]) {
			if strings.HasPrefix(line, "|") {
				rows = append(rows, line)
			}
		}
		if len(rows) == 0 {
			continue
		}
		page, err := report.PageOf(pages, name)
		require.NoError(t, err)
		fmt.Fprintf(&b, "\nThe table %s of %s, of these sets", name, page)
		if strings.Contains(rows[0], "| OTLP, ") {
			b.WriteString("; all columns after OTLP are relative to OTLP, below 1 is less")
		}
		fmt.Fprintf(&b, ":\n\n%s", strings.Join(rows, ""))
	}
	return b.String()
}

// TestTablesOf checks that a part of the report prints the tables of the pages, with a note that says
// whether small values are better. It also checks that firstPage finds the HTML page.
func TestTablesOf(t *testing.T) {
	require.Equal(t, "\nThe table size-parts of formats.md, of these sets; all columns after OTLP are relative to OTLP, below 1 is less:\n\n"+
		"| set | OTLP, B/item | STEF sorted |\n|---|--:|--:|\n| mine logs | 92.4 | 0.718 |\n"+
		"\nThe table transport of transport.md, of these sets:\n\n| way |\n|---|\n",
		tablesOf(t, map[string]string{"transport": "| way |\n|---|\n\n2026", "heap": "![Heap](results/heap.png)\n",
			"size-parts": "| set | OTLP, B/item | STEF sorted |\n|---|--:|--:|\n| mine logs | 92.4 | 0.718 |\n\n![Bytes](results/size-parts.png)\n"}))
	_, blocks := tinyReport(t)
	require.Contains(t, tablesOf(t, blocks), "The table size-parts of formats.md, of these sets; all columns after OTLP are relative to OTLP")
	require.Equal(t, "size.html", firstPage([]string{"size.txt", "size.html", "speed.html"}))
}

// chosenSets returns the sets whose titles match a pattern.
func chosenSets(refs []dataset.Ref, pattern string) ([]dataset.Ref, error) {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-set: %w", err)
	}
	var titles []string
	var found []dataset.Ref
	for _, ref := range refs {
		titles = append(titles, ref.Title())
		if chosen.MatchString(ref.Title()) {
			found = append(found, ref)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("-set %s matches no set; sets: %s", pattern, strings.Join(titles, ", "))
	}
	return found, nil
}

func dataLine(c *study.Context) string {
	if c.Sets == "" {
		return dataset.Line(c.Refs)
	}
	var titles []string
	for _, ref := range c.Refs {
		titles = append(titles, ref.Title())
	}
	return fmt.Sprintf("the sets that -set '%s' chooses: %s", c.Sets, strings.Join(titles, ", "))
}

// TestChosenSets checks that the pattern of -set selects the right sets, and that a pattern that
// matches no set is an error.
func TestChosenSets(t *testing.T) {
	all := dataset.Recorded()
	f := func(want int, pattern string) {
		t.Helper()
		found, err := chosenSets(all, pattern)
		require.NoError(t, err)
		require.Len(t, found, want)
	}
	f(len(all), "")
	f(3, "^node ")
	f(1, "^node logs$")
	logs, err := chosenSets(all, "^node logs$")
	require.NoError(t, err)
	require.Equal(t, "the sets that -set '^node logs$' chooses: node logs", dataLine(&study.Context{Refs: logs, Sets: "^node logs$"}))
	_, err = chosenSets(all, "^mine ")
	require.ErrorContains(t, err, "-set ^mine  matches no set; sets: collector metrics, ")
	_, err = chosenSets(all, "(")
	require.ErrorContains(t, err, "-set: ")
}

// isPart reports whether the flags -run and -skip of go test select some of the studies.
func isPart(run, skip string) bool { return strings.Contains(run, "/") || skip != "" }

// checkPart reports a part of -run TestReport/PART that does not exist.
func checkPart(run string) error {
	_, part, ok := strings.Cut(run, "/")
	if !ok {
		return nil
	}
	pattern, err := regexp.Compile(part)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	var names []string
	for _, s := range study.All() {
		if pattern.MatchString(s.Name) {
			return nil
		}
		names = append(names, s.Name)
	}
	return fmt.Errorf("no part %q; parts: %s", strings.Trim(part, "^$"), strings.Join(names, ", "))
}

func TestCheckPart(t *testing.T) {
	for _, run := range []string{"^TestReport$", "^TestReport$/^formats$", "TestReport/(ages|speed)"} {
		require.NoError(t, checkPart(run))
	}
	require.ErrorContains(t, checkPart("^TestReport$/^frmats$"), `no part "frmats"; parts: frontier, formats, size-big, `)
}

func isPublished(dir string) bool {
	a, err := os.Stat(dir)
	b, err2 := os.Stat(published)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// TestPublishedIsKept checks what protects the published folder: a run of only some studies must
// not write to it. isPublished recognises the folder by each of its names, and isPart recognises
// such a run.
func TestPublishedIsKept(t *testing.T) {
	absolute, err := filepath.Abs(published)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(absolute, link))
	for _, dir := range []string{published, "./" + published + "/", "../benchmarks/" + published, absolute, link} {
		require.True(t, isPublished(dir), dir)
	}
	for _, dir := range []string{"again", "..", t.TempDir()} {
		require.False(t, isPublished(dir), dir)
	}
	require.True(t, isPart("^TestReport$/^ages$", ""))
	require.True(t, isPart("^TestReport$", "speed"))
	require.False(t, isPart("^TestReport$", ""))
}

// makeReport runs the studies and adds their results to pages. It reports
// whether all studies ran.
func makeReport(t *testing.T, c *study.Context, dir, command string) (r *report.Report, blocks map[string]string, whole bool) {
	t.Helper()
	c.TB = t
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	pages := map[string]*report.Page{}
	r, blocks, whole = &report.Report{Dir: dir}, map[string]string{}, true
	for _, p := range study.Pages {
		env, err := c.Env(p)
		require.NoError(t, err)
		pages[p.Name] = &report.Page{Name: p.Name, Title: p.Title, Data: p.Data, Env: env}
	}
	data := map[string]string{}
	var ran []string
	for _, s := range study.All() {
		done := false
		ok := t.Run(s.Name, func(t *testing.T) {
			c.TB = t
			c.Start(s)
			outcome, err := s.Run(c)
			require.NoError(t, err)
			pages[s.Page].Add(outcome.Parts...)
			for name, text := range outcome.Blocks {
				blocks[name] = text
				if data[name] = pages[s.Page].Data; data[name] == "" {
					data[name] = dataset.Counts(c.Refs) + ", see [the data](method.md#the-data)"
				}
			}
			done = true
		})
		if ok && !done {
			whole = false
		} else {
			ran = append(ran, s.Name)
		}
	}
	if !whole {
		command = c.CommandOf(ran...)
	}
	r.Env = report.NewEnv(mod, command, dataLine(c))
	for _, p := range study.Pages {
		if len(pages[p.Name].Parts) > 0 {
			r.Pages = append(r.Pages, pages[p.Name])
		}
	}
	for name, text := range blocks {
		blocks[name] = fmt.Sprintf("%s\n\n%s, %s, %s; %s; `%s`.", strings.TrimRight(text, "\n"), r.Env.Date, r.Env.Machine, r.Env.Go, data[name], command)
	}
	return r, blocks, whole && !t.Failed()
}

// TestBlocks checks that the pages have a block for everything that the report
// writes to them.
func TestBlocks(t *testing.T) {
	pages := texts(t)
	n := 0
	for _, text := range pages {
		n += strings.Count(text, "(written by make report) -->")
	}
	_, blocks := tinyReport(t)
	require.NoError(t, report.Fill(pages, blocks))
	again := maps.Clone(pages)
	require.NoError(t, report.Fill(again, blocks))
	require.Equal(t, pages, again)
	require.Equal(t, len(blocks), n, "a block that nobody writes")
}

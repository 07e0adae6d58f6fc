// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package dataset loads the telemetry for benchmarks: the recordings of the
// repository, the large real sets if they are found, and synthetic batches
// (Spans, Logs, Shape).
//
//	for _, ref := range dataset.Refs(tb) {
//		set := ref.Load(tb)
//		... set.Parts, set.Whole(), set.Batches(1024)
//	}
package dataset

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest"
)

// Ref identifies a set that is not read yet.
type Ref struct {
	Name   string
	Signal otlpfile.Signal
	// Bundled is true for sets that are files of the repository.
	Bundled bool
	parts   func(tb testing.TB) [][]byte
}

// Set is telemetry in the batches in which a Collector received it.
type Set struct {
	Ref
	Parts []otlpfile.Batch
	// Items are data points, spans or log records.
	Items int
	// Bytes is the size of the parts as OTLP protobuf.
	Bytes int64
}

var signals = []struct {
	signal  otlpfile.Signal
	bundled func() []byte
}{
	{otlpfile.Metrics, fixtures.Metrics},
	{otlpfile.Traces, fixtures.Traces},
	{otlpfile.Logs, fixtures.Logs},
}

// Refs returns all sets: metrics, then traces, then logs. For each signal, the
// large real sets, if found, precede the recordings of the repository.
func Refs(tb testing.TB) []Ref {
	tb.Helper()
	large, recorded := Large(tb), Recorded()
	var refs []Ref
	for _, s := range signals {
		for _, ref := range slices.Concat(large, recorded) {
			if ref.Signal == s.signal {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// Large returns the large real sets, or none if they are not found.
func Large(tb testing.TB) []Ref {
	tb.Helper()
	dir := folder(tb)
	if dir == "" {
		return nil
	}
	var refs []Ref
	for _, s := range signals {
		paths, err := filepath.Glob(filepath.Join(dir, s.signal.String(), "*.zst"))
		require.NoError(tb, err)
		slices.Sort(paths)
		for _, path := range paths {
			refs = append(refs, Ref{setName(path), s.signal, false, func(tb testing.TB) [][]byte { return teltest.Parts(tb, path) }})
		}
	}
	return refs
}

// setName returns the name of the set in a file: shop for shop-otelmetrics.zst, mine for
// mine.parts.zst.
func setName(path string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".zst"), "-otel")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".parts"), ".otlp")
}

// Recorded returns the recordings of the repository that are long enough to measure streams in the
// steady state.
func Recorded() []Ref {
	var refs []Ref
	for _, s := range signals {
		for _, r := range recordings.All() {
			if r.Signal == s.signal.String() {
				refs = append(refs, Ref{r.Program, s.signal, true, loader(r.Parts)})
			}
		}
	}
	return refs
}

// Bundled returns the short recordings of the repository for tests, one per
// signal.
func Bundled() []Ref {
	var refs []Ref
	for _, s := range signals {
		refs = append(refs, Ref{"shop", s.signal, true, loader(func() ([][]byte, error) { return fixtures.Parts(s.bundled()) })})
	}
	return refs
}

func loader(parts func() ([][]byte, error)) func(testing.TB) [][]byte {
	return func(tb testing.TB) [][]byte {
		tb.Helper()
		all, err := parts()
		require.NoError(tb, err)
		return all
	}
}

// Reporting returns true if the set is only measured, and not used to tune the
// product. A hash of the title selects about half of the sets of the tables.
// Reporting is always false for sets that the user provides.
func (r Ref) Reporting() bool {
	if r.Own() {
		return false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Title())) // writing to a hash never returns an error
	return h.Sum32()>>7&1 == 1
}

// FirstOf returns the first set of each signal.
func FirstOf(refs []Ref) []Ref {
	var first []Ref
	for _, ref := range refs {
		if !slices.ContainsFunc(first, func(r Ref) bool { return r.Signal == ref.Signal }) {
			first = append(first, ref)
		}
	}
	return first
}

// First returns the same set with only its first n parts.
func (r Ref) First(n int) Ref {
	all := r.parts
	r.parts = func(tb testing.TB) [][]byte {
		tb.Helper()
		parts := all(tb)
		return parts[:min(n, len(parts))]
	}
	return r
}

// Title returns the name and the signal of the set.
func (r Ref) Title() string { return fmt.Sprintf("%s %s", r.Name, r.Signal) }

// Label returns the title, with the mark (R) if Reporting is true.
func (r Ref) Label() string {
	if r.Reporting() {
		return r.Title() + " (R)"
	}
	return r.Title()
}

// Load reads the set.
func (r Ref) Load(tb testing.TB) *Set {
	tb.Helper()
	set := &Set{Ref: r}
	for _, part := range r.parts(tb) {
		b, err := Unmarshal(r.Signal, part)
		if err != nil {
			tb.Fatalf("%s: the file does not hold OTLP messages of %s, each after its length: %v", r.Title(), r.Signal, err)
		}
		set.Parts = append(set.Parts, b)
		set.Items += b.Items()
		set.Bytes += int64(len(part))
	}
	return set
}

// Whole returns all parts as one batch. If there is only one part, it does not copy this part.
func (s *Set) Whole() otlpfile.Batch {
	if len(s.Parts) == 1 {
		return s.Parts[0]
	}
	return Join(s.Parts...)
}

// Line says which data a report uses, and which sets are missing.
func Line(refs []Ref) string {
	line := named(refs)
	if !slices.ContainsFunc(refs, func(r Ref) bool { return !r.Bundled }) {
		missing := "the large real sets are not here (STEF_DATA names their folder)"
		if dir := os.Getenv("STEF_DATA"); dir != "" {
			missing = "STEF_DATA is " + dir + ", in which no metrics/*.zst, traces/*.zst or logs/*.zst were found"
		}
		before, reporting, ok := strings.Cut(line, "; for reporting only: ")
		line = before + "; " + missing
		if ok {
			line += "; for reporting only: " + reporting
		}
	}
	return line
}

// named lists the titles of sets by their source.
func named(refs []Ref) string {
	titles := func(has func(Ref) bool) string {
		var all []string
		for _, r := range refs {
			if has(r) {
				all = append(all, r.Title())
			}
		}
		return strings.Join(all, ", ")
	}
	var parts []string
	for _, part := range []struct {
		name string
		has  func(Ref) bool
	}{
		{"recordings of the repository", func(r Ref) bool { return r.Bundled }},
		{"large real sets, which are not in the repository", func(r Ref) bool { return !r.Bundled && !r.Own() }},
		{"sets of STEF_DATA", Ref.Own},
		{"for reporting only", Ref.Reporting},
	} {
		if all := titles(part.has); all != "" {
			parts = append(parts, part.name+": "+all)
		}
	}
	return strings.Join(parts, "; ")
}

// Counts returns the numbers of sets by source, without their titles. Use it instead of Line near a
// table that lists the sets.
func Counts(refs []Ref) string {
	recorded, own := 0, 0
	for _, r := range refs {
		switch {
		case r.Bundled:
			recorded++
		case r.Own():
			own++
		}
	}
	text := fmt.Sprintf("%d recordings of the repository", recorded)
	if large := len(refs) - recorded - own; large > 0 {
		text += fmt.Sprintf(" and %d large real sets", large)
	}
	if own > 0 {
		text += fmt.Sprintf(" and %d sets of STEF_DATA", own)
	}
	return text
}

// noted is a testing.TB that records the reason for a skip.
type noted struct {
	testing.TB
	why string
}

func (n *noted) Skipf(format string, args ...any) { n.why = fmt.Sprintf(format, args...) }
func (n *noted) Helper()                          {}
func (n *noted) Name() string {
	if n.TB == nil {
		return "Main"
	}
	return n.TB.Name()
}

// folder returns the folder of the large sets, or "" if they are not found.
func folder(tb testing.TB) string {
	n := &noted{TB: tb}
	dir := teltest.Data(n)
	if n.why != "" {
		return ""
	}
	return dir
}

// Main runs the tests of a package. If benchmarks run, it first prints the sets that -bench
// selects. It fails if no set matches, or if -bench misspells the name of a benchmark. It
// ignores other unknown names, because other packages may have benchmarks with these names.
func Main(m *testing.M) int {
	if !flag.Parsed() {
		flag.Parse()
	}
	f := flag.Lookup("test.bench")
	if f == nil || f.Value.String() == "" {
		return m.Run()
	}
	bench, refs := f.Value.String(), Refs(&noted{})
	chosen := choiceOf(bench)
	fmt.Println("data: " + chosen.line(refs))
	problem := chosen.problem(bench, refs, benchmarksOf(m))
	if problem != "" {
		fmt.Fprintln(os.Stderr, problem)
	}
	if strings.Contains(problem, "no set") || strings.Contains(problem, "did you mean") {
		return 1
	}
	return m.Run()
}

// line returns the first line of the output of every benchmark: the sets that -bench selects.
// If -bench selects all sets or no set, the result is that of Line.
func (c choice) line(refs []Ref) string {
	chosen := c.of(refs)
	if len(chosen) == 0 || len(chosen) == len(refs) {
		return Line(refs)
	}
	return named(chosen) + "; chosen by -bench"
}

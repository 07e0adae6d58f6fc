// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package dataset has the telemetry that benchmarks run on: the large real sets
// where they are found, else the recordings that come with the repository, and
// made-up batches of the shapes that published measurements used.
//
//	for _, ref := range dataset.Refs(tb) {
//		set := ref.Load(tb)
//		... set.Parts, set.Whole(), set.Batches(1024)
//	}
package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest"
)

// Ref names a set without having read it: sets are large, and few are needed at
// a time.
type Ref struct {
	Name    string
	Signal  otlpfile.Signal
	Bundled bool
	parts   func(tb testing.TB) [][]byte
}

// Set is telemetry in the batches in which it reached a Collector.
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
	folder  string
	bundled func() []byte
}{
	{otlpfile.Metrics, "metrics", fixtures.Metrics},
	{otlpfile.Traces, "traces", fixtures.Traces},
	{otlpfile.Logs, "logs", fixtures.Logs},
}

// Refs returns the sets there are, metrics before traces before logs.
func Refs(tb testing.TB) []Ref {
	tb.Helper()
	dir := folder(tb)
	var refs []Ref
	for _, s := range signals {
		if dir == "" {
			refs = append(refs, bundled(s.signal, s.bundled))
			continue
		}
		paths, err := filepath.Glob(filepath.Join(dir, s.folder, "*.zst"))
		require.NoError(tb, err)
		slices.Sort(paths)
		for _, path := range paths {
			name, _, _ := strings.Cut(filepath.Base(path), "-otel")
			refs = append(refs, Ref{name, s.signal, false, func(tb testing.TB) [][]byte { return teltest.Parts(tb, path) }})
		}
	}
	return refs
}

// Bundled returns the recordings that come with the repository.
func Bundled() []Ref {
	var refs []Ref
	for _, s := range signals {
		refs = append(refs, bundled(s.signal, s.bundled))
	}
	return refs
}

func bundled(signal otlpfile.Signal, file func() []byte) Ref {
	return Ref{"recorded", signal, true, func(tb testing.TB) [][]byte {
		tb.Helper()
		parts, err := fixtures.Parts(file())
		require.NoError(tb, err)
		return parts
	}}
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

// First returns the same set with its first n parts only.
func (r Ref) First(n int) Ref {
	all := r.parts
	r.parts = func(tb testing.TB) [][]byte {
		tb.Helper()
		parts := all(tb)
		return parts[:min(n, len(parts))]
	}
	return r
}

// Title names the set and its signal.
func (r Ref) Title() string { return fmt.Sprintf("%s %s", r.Name, r.Signal) }

// Load reads the set.
func (r Ref) Load(tb testing.TB) *Set {
	tb.Helper()
	set := &Set{Ref: r}
	for _, part := range r.parts(tb) {
		b, err := Unmarshal(r.Signal, part)
		require.NoError(tb, err)
		set.Parts = append(set.Parts, b)
		set.Items += b.Items()
		set.Bytes += int64(len(part))
	}
	return set
}

// Whole returns all parts as one batch: the part itself where there is one only.
func (s *Set) Whole() otlpfile.Batch {
	if len(s.Parts) == 1 {
		return s.Parts[0]
	}
	return Join(s.Parts...)
}

// noted is a testing.TB that takes down why a test would be skipped.
type noted struct {
	testing.TB
	why string
}

func (n *noted) Skipf(format string, args ...any) { n.why = fmt.Sprintf(format, args...) }

// folder returns where the large sets are, or "" where they are not.
func folder(tb testing.TB) string {
	tb.Helper()
	n := &noted{TB: tb}
	dir := teltest.Data(n)
	if n.why != "" {
		tb.Logf("%s; these are the bundled recordings", n.why)
		return ""
	}
	return dir
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package pairbench

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest"
)

// batchItems is how many points, spans or log records a batch has.
const batchItems = 8192

// set names telemetry, and reads it when it is needed.
type set struct {
	signal otlpfile.Signal
	name   string
	parts  func(tb testing.TB) [][]byte
}

func (s set) String() string { return s.signal.String() + "/" + s.name }

// batches returns the set in batches of batchItems; the last one may be smaller.
func (s set) batches(tb testing.TB) []otlpfile.Batch {
	tb.Helper()
	c := &cutter{signal: s.signal, most: batchItems}
	for _, part := range s.parts(tb) {
		require.NoError(tb, c.add(part))
	}
	return c.batches
}

var signals = []struct {
	signal  otlpfile.Signal
	bundled func() []byte
}{
	{otlpfile.Metrics, fixtures.Metrics},
	{otlpfile.Traces, fixtures.Traces},
	{otlpfile.Logs, fixtures.Logs},
}

// sets returns the large real sets, or the bundled ones where those are not.
func sets(tb testing.TB) []set {
	tb.Helper()
	missing := &skipNoted{TB: tb}
	dir := teltest.Data(missing)
	if missing.skipped {
		return bundled()
	}
	var list []set
	for _, s := range signals {
		paths, err := filepath.Glob(filepath.Join(dir, s.signal.String(), "*.zst"))
		require.NoError(tb, err)
		slices.Sort(paths)
		for _, path := range paths {
			name, _, _ := strings.Cut(filepath.Base(path), "-otel")
			list = append(list, set{s.signal, name, func(tb testing.TB) [][]byte { return teltest.Parts(tb, path) }})
		}
	}
	return list
}

// bundled returns the recordings that come with the repository.
func bundled() []set {
	var list []set
	for _, s := range signals {
		list = append(list, set{s.signal, "recorded", func(tb testing.TB) [][]byte {
			tb.Helper()
			parts, err := fixtures.Parts(s.bundled())
			require.NoError(tb, err)
			return parts
		}})
	}
	return list
}

// skipNoted is a testing.TB that takes down that a test would be skipped.
type skipNoted struct {
	testing.TB
	skipped bool
}

func (n *skipNoted) Skipf(string, ...any) { n.skipped = true }

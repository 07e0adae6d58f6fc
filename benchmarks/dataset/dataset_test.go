// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/teltest/canon"
)

func TestBatches(t *testing.T) {
	for _, ref := range Bundled() {
		set := ref.Load(t)
		require.Equal(t, set.Items, set.Whole().Items())
		want := Items(set.Signal, set.Parts)
		for _, n := range []int{1, 100, 1 << 20} {
			batches := set.Batches(n)
			for i, b := range batches {
				if i < len(batches)-1 {
					require.Equal(t, n, Units(b))
				}
			}
			require.Empty(t, canon.Diff(want, Items(set.Signal, batches)))
		}
	}
}

func TestRefs(t *testing.T) {
	refs := Refs(t)
	require.GreaterOrEqual(t, len(refs), 3)
	require.Len(t, FirstOf(refs), 3)
}

func TestAbsent(t *testing.T) {
	t.Setenv("STEF_DATA", t.TempDir()+"/absent")
	t.Setenv("STEF_REQUIRE_SETS", "")
	for _, ref := range Refs(t) {
		require.True(t, ref.Bundled)
	}
}

func TestSpans(t *testing.T) {
	b := Spans(100, 4, 1)
	require.Equal(t, 100, b.Items())
	again, err := Marshal(Spans(100, 4, 1))
	require.NoError(t, err)
	message, err := Marshal(b)
	require.NoError(t, err)
	require.Equal(t, message, again, "made-up batches are the same in every run")
	other, err := Marshal(Spans(100, 4, 2))
	require.NoError(t, err)
	require.NotEqual(t, message, other)
}

func TestJoin(t *testing.T) {
	set := Bundled()[2].Load(t)
	joined := Join(set.Parts...)
	require.Equal(t, set.Items, joined.Items())
	moved := New(otlpfile.Logs)
	MoveAll(moved, joined)
	require.Equal(t, set.Items, moved.Items())
	require.Zero(t, joined.Items())
}

func TestHead(t *testing.T) {
	set := Bundled()[1].Load(t)
	for _, n := range []int{1, 10, 1000, 1 << 20} {
		head := set.Head(n)
		units := 0
		for _, part := range head.Parts {
			units += Units(part)
		}
		require.Equal(t, min(n, set.Items), units)
		require.Equal(t, units, head.Items)
	}
	require.Equal(t, set.Parts[0], set.Head(1000).Parts[0])
}

func TestOwnSets(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STEF_DATA", dir)
	require.Contains(t, Line(Refs(t)), "STEF_DATA is "+dir+", in which no metrics/*.zst")
	for _, name := range []string{"mine.parts.zst", "mine.zst", "yours-otelmetrics.zst", "shop.otlp.zst", "ignored.stef"} {
		path := filepath.Join(dir, "metrics", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	var names []string
	for _, ref := range Large(t) {
		names = append(names, ref.Title())
	}
	require.Equal(t, []string{"mine metrics", "mine metrics", "shop metrics", "yours metrics"}, names)
	require.NotContains(t, Line(Refs(t)), "STEF_DATA is")
}

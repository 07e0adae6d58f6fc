// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/fixtures/recordings"
	"github.com/otelstef/stef/internal/otlpfile"
	"github.com/otelstef/stef/internal/replay"
)

// recorded returns all recordings of a signal as one source.
func recorded(t *testing.T, s otlpfile.Signal) replay.Source {
	var files [][]byte
	for _, r := range recordings.All() {
		if r.Signal == s.String() {
			files = append(files, r.File())
		}
	}
	require.NotEmpty(t, files)
	return func() iter.Seq2[otlpfile.Batch, error] {
		return func(yield func(otlpfile.Batch, error) bool) {
			for _, file := range files {
				r, err := otlpfile.Open(bytes.NewReader(file), otlpfile.Parts, s)
				if err != nil {
					yield(otlpfile.Batch{}, err)
					return
				}
				defer r.Close()
				for {
					b, err := r.Next()
					if err == io.EOF {
						break
					}
					if !yield(b, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// large is an input that repeats the recordings of a signal. Each round has new ids and later
// times than the previous round. few is the size in bytes of the first quarter of the rounds.
type large struct {
	path  string
	few   int64
	items uint64
}

func newLarge(t *testing.T, s otlpfile.Signal, rounds int) (l large) {
	t.Helper()
	l.path = filepath.Join(t.TempDir(), "large.parts")
	f, err := os.Create(l.path)
	require.NoError(t, err)
	w, err := otlpfile.NewWriter(f, otlpfile.Parts, s)
	require.NoError(t, err)
	source := recorded(t, s)
	batches := 0
	for _, err := range source() {
		require.NoError(t, err)
		batches++
	}
	written := 0
	p := replay.Player{InFlight: 1, Rounds: rounds, Change: replay.Change{IDs: 1}, Send: func(_ context.Context, b otlpfile.Batch) error {
		err := w.Write(b)
		if written++; err == nil && written == rounds/4*batches {
			if err = w.Flush(); err == nil {
				l.few, err = f.Seek(0, io.SeekCurrent)
			}
		}
		return err
	}}
	counts, err := p.Play(t.Context(), source)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	l.items = counts.Items
	return l
}

// peak returns the maximum memory, in MiB, that the tool used while it converted an input.
func peak(t *testing.T, input io.Reader, to string) float64 {
	t.Helper()
	dir := t.TempDir()
	cmd := program(t, "convert", "--from", "otlp-parts", "--to", to, "-", filepath.Join(dir, "out"))
	cmd.Env = append(cmd.Env, peakFile+"="+filepath.Join(dir, "peak"), "GOGC=100") // the default, as for users
	cmd.Stdin = input
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(filepath.Join(dir, "peak"))
	require.NoError(t, err)
	kib, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	return float64(kib) / 1024
}

// most bounds the memory of a conversion, in MiB. growth bounds the additional memory for four
// times the input. docs/data-lake.md has both bounds, and the measured values.
var most = map[string]float64{"parquet": 256, "arrow": 128, "stef": 128}

const growth = 1.5

// The memory of the tool does not grow with its input. STEF_LONG=1 converts larger inputs, of all
// signals.
func TestMemoryOfConvert(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	signals, rounds := []otlpfile.Signal{otlpfile.Traces}, 12
	if os.Getenv("STEF_LONG") != "" {
		signals, rounds = append(signals, otlpfile.Metrics, otlpfile.Logs), 20
	}
	for _, s := range signals {
		rounds := rounds
		if s == otlpfile.Logs {
			rounds *= 2 // so that a quarter of the rounds also fills a row group of Parquet
		}
		l := newLarge(t, s, rounds)
		for to, bound := range most {
			f, err := os.Open(l.path)
			require.NoError(t, err)
			few := peak(t, io.LimitReader(f, l.few), to)
			_, err = f.Seek(0, io.SeekStart)
			require.NoError(t, err)
			all := peak(t, f, to)
			require.NoError(t, f.Close())
			t.Logf("%d items of %s to %s: %.0f MiB, a quarter of them: %.0f MiB", l.items, s, to, all, few)
			require.Less(t, all, bound, "%s to %s", s, to)
			require.Less(t, all, growth*few, "%s to %s", s, to)
		}
	}
}

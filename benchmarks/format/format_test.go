// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/exporter/stefexporter"
	"github.com/otelstef/stef/internal/otlpfile"
	stef "github.com/otelstef/stef/stef-go"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// TestFormats proves on the bundled recordings that every format carries all
// data, with and without its own compression, in several batches of a stream.
func TestFormats(t *testing.T) {
	for _, ref := range dataset.Bundled() {
		set := ref.Load(t)
		batches := set.Batches(1000)
		want := dataset.Items(set.Signal, set.Parts)
		for _, f := range All() {
			for _, c := range []Compression{None, Own} {
				t.Run(ref.Title()+"/"+f.Name()+"/"+string(c), func(t *testing.T) {
					require.NoError(t, Check(f, c, batches, want))
					require.NoError(t, CheckNative(f, c, batches))
				})
			}
		}
	}
}

// TestShipped checks that format STEF produces the same bytes as an exporter with default
// settings. The format has the order that the exporter selects for the signal.
func TestShipped(t *testing.T) {
	sent := func(f Format, set *dataset.Set) (all [][]byte) {
		t.Helper()
		e, err := f.NewEncoder(set.Signal, true)
		require.NoError(t, err)
		defer e.Close()
		for _, batch := range set.Parts {
			message, err := e.Encode(batch)
			require.NoError(t, err)
			all = append(all, bytes.Clone(message))
		}
		return all
	}
	for _, ref := range dataset.FirstOf(dataset.Recorded()) {
		set := ref.Load(t).HeadItems(4096)
		shipped, err := STEFOptimized(set.Signal, stefexporter.OptimizeBalanced)
		require.NoError(t, err)
		order, other := Sorted, Ordered
		if set.Signal == otlpfile.Logs {
			order, other = Ordered, Sorted
		}
		want := sent(shipped, set)
		require.Equal(t, want, sent(STEF(order), set), ref.Title())
		require.NotEqual(t, want, sent(STEF(other), set), ref.Title())
		require.NotEqual(t, want, sent(STEFFull(order), set), ref.Title())
		require.NotEqual(t, want, sent(STEFAt(order, stef.LevelBest, stefpdata.TemplatesAuto), set), ref.Title())
	}
}

func TestCompressions(t *testing.T) {
	set := dataset.Bundled()[0].Load(t)
	want := dataset.Items(set.Signal, set.Parts)
	for _, f := range []Format{OTLP(), STEF(Sorted), Arrow()} {
		for _, c := range Compressions(f) {
			t.Run(f.Name()+"/"+string(c), func(t *testing.T) {
				require.NoError(t, Check(f, c, set.Parts, want))
			})
		}
	}
}

// TestBegin checks that a stream after Begin does not depend on the stream before it.
func TestBegin(t *testing.T) {
	random := make([]byte, 10_000)
	rand.NewChaCha8([32]byte{}).Read(random)
	f := func(c Compression, again int) {
		t.Helper()
		pack, err := c.NewCompressor()
		require.NoError(t, err)
		sizes := make([]int, 3)
		for i := range sizes {
			if i == 2 {
				pack.Begin()
			}
			out, err := pack.Compress(random)
			require.NoError(t, err)
			sizes[i] = len(out)
		}
		require.Equal(t, sizes[0], sizes[2], c)
		require.InDelta(t, again, sizes[1], 50, c)
	}
	f(None, 10_000)
	f(Gzip, 10_000)
	f(Zstd, 10_000)
	f(ZstdStream, 20)
}

// TestCheckFindsDifference proves that the check finds a difference.
func TestCheckFindsDifference(t *testing.T) {
	for _, ref := range dataset.Bundled() {
		set := ref.Load(t)
		want := dataset.Items(set.Signal, set.Parts)
		require.Error(t, Check(OTLP(), None, set.Parts[:len(set.Parts)-1], want))
		require.ErrorContains(t, Check(lossy{OTLP()}, None, set.Parts, want), "differs")
	}
}

// lossy is a format that loses the seventh batch.
type lossy struct{ Format }

func (f lossy) NewDecoder(signal otlpfile.Signal, own bool) (Decoder, error) {
	d, err := f.Format.NewDecoder(signal, own)
	return &lossyDecoder{Decoder: d}, err
}

type lossyDecoder struct {
	Decoder
	n int
}

func (d *lossyDecoder) Decode(message []byte) (otlpfile.Batch, error) {
	b, err := d.Decoder.Decode(message)
	if d.n++; d.n == 7 {
		b = dataset.New(b.Signal)
	}
	return b, err
}

func TestFind(t *testing.T) {
	for _, f := range All() {
		require.Equal(t, f, Find(f.Name()))
	}
	require.Nil(t, Find("COBOL"))
}

// TestReferenceVersion checks that reports name the version of the reference implementation in go.mod.
func TestReferenceVersion(t *testing.T) {
	modules, err := os.ReadFile(filepath.Join("..", "go.mod"))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^\tgithub\.com/splunk/stef/go/\w+ (\S+)`).FindAllStringSubmatch(string(modules), -1)
	require.Len(t, found, 3)
	for _, module := range found {
		require.Equal(t, ReferenceVersion, module[1], module[0])
	}
}

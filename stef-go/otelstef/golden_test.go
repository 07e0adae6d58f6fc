// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// vector is a line of a manifest of the reference vectors.
type vector struct {
	Name            string
	File            string
	Root            string
	Sidecar         string
	Records         uint64
	CanonicalSHA256 string `json:"canonical_sha256"`
	DataFrames      int    `json:"data_frames"`
	Compression     string
	HasSchema       bool   `json:"has_schema"`
	ReferenceError  string `json:"reference_error"`
	Expect          string
	First200        string
	Canonical       struct {
		Root    string
		Records uint64
		SHA256  string
	}
}

func vectors(t *testing.T, folder string) []vector {
	t.Helper()
	f, err := os.Open(teltest.Golden(t, folder, "MANIFEST.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var list []vector
	for dec := json.NewDecoder(f); ; {
		var v vector
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			require.NotEmpty(t, list)
			return list
		} else {
			require.NoError(t, err)
		}
		list = append(list, v)
	}
}

func vectorBytes(t *testing.T, folder string, v vector) []byte {
	t.Helper()
	stream, err := os.ReadFile(teltest.Golden(t, folder, v.File))
	require.NoError(t, err)
	return stream
}

func sidecar(t *testing.T, folder, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(teltest.Golden(t, folder, name))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		require.NoError(t, err)
		b, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	return b
}

// published returns the root that a vector names and what the published schema
// keeps of it.
func published(tb testing.TB, name string) (*steftest.Root, schema.Kept) {
	tb.Helper()
	r := map[string]func(testing.TB) *steftest.Root{"metrics": metricsRoot, "spans": spansRoot}[name](tb)
	kept, err := schema.Keep(r.Schema, r.Base)
	require.NoError(tb, err)
	return r, kept
}

func TestEdgeVectors(t *testing.T) {
	for _, v := range vectors(t, "edge") {
		t.Run(v.Name, func(t *testing.T) {
			root, kept := published(t, v.Root)
			r, err := root.NewReader(bytes.NewReader(vectorBytes(t, "edge", v)))
			if v.Name == "m_userdata_long" {
				// User data over the limit of 256 bytes.
				require.ErrorIs(t, err, stef.ErrLimit)
				return
			}
			require.NoError(t, err)
			require.Equal(t, v.Compression, r.Stats().Compression.String())
			var out []byte
			for r.Next() {
				out, err = dynamic.AppendJSON(out, root.Schema, kept, steftest.Value(r.Record(), root.Schema, kept))
				require.NoError(t, err)
				out = append(out, '\n')
			}
			if v.Name == "m_attr_1024" {
				// A multimap over the limit of 1023 pairs.
				require.ErrorIs(t, r.Err(), stef.ErrLimit)
				return
			}
			require.Empty(t, v.ReferenceError)
			require.NoError(t, r.Err())
			require.Equal(t, v.Records, r.Stats().Records)
			require.Equal(t, v.DataFrames, r.Stats().Frames)
			want := sidecar(t, "edge", v.Sidecar)
			require.True(t, bytes.Equal(want, out), "records differ: %s", firstDifference(want, out))
			sum := sha256.Sum256(out)
			require.Equal(t, v.CanonicalSHA256, hex.EncodeToString(sum[:]))
		})
	}
}

func firstDifference(want, have []byte) string {
	w, h := bytes.Split(want, []byte("\n")), bytes.Split(have, []byte("\n"))
	for i := range w {
		if i >= len(h) || !bytes.Equal(w[i], h[i]) {
			return "want\n" + string(w[i]) + "\nhave\n" + string(bytes.Join(h[min(i, len(h)):min(i+1, len(h))], nil))
		}
	}
	return "more records than wanted"
}

// TestDataVectors reads the large streams by what Modified says: reading every
// field of every record takes ten times as long.
func TestDataVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	for _, v := range vectors(t, "data") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			root, kept := published(t, v.Canonical.Root)
			f, err := os.Open(teltest.Golden(t, "data", v.File))
			require.NoError(t, err)
			defer f.Close()
			r, err := root.NewReader(f)
			require.NoError(t, err)
			sum := sha256.New()
			out := bufio.NewWriter(sum)
			var line, first []byte
			follower := steftest.NewFollower(root.Schema, kept)
			for r.Next() {
				line, err = dynamic.AppendJSON(line[:0], root.Schema, kept, follower.Next(r.Record()))
				require.NoError(t, err)
				line = append(line, '\n')
				_, _ = out.Write(line)
				if r.Stats().Records <= 200 {
					first = append(first, line...)
				}
			}
			require.NoError(t, r.Err())
			require.NoError(t, out.Flush())
			require.Equal(t, v.DataFrames, r.Stats().Frames)
			require.Equal(t, v.Canonical.Records, r.Stats().Records)
			want := sidecar(t, "data", v.First200)
			require.True(t, bytes.Equal(want, first), "records differ: %s", firstDifference(want, first))
			require.Equal(t, v.Canonical.SHA256, hex.EncodeToString(sum.Sum(nil)))
		})
	}
}

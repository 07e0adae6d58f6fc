// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

// published returns the root with the given name, and the fields that this root has in the
// published schema. Test vectors name their root.
func published(tb testing.TB, name string) (*steftest.Root, schema.Kept) {
	tb.Helper()
	r := map[string]func(testing.TB) *steftest.Root{"metrics": metricsRoot, "spans": spansRoot}[name](tb)
	kept, err := schema.Keep(r.Schema, r.Base)
	require.NoError(tb, err)
	return r, kept
}

func TestEdgeVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		t.Run(v.Name, func(t *testing.T) {
			root, kept := published(t, v.Root)
			r, err := root.NewReader(bytes.NewReader(v.Stream(t)))
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
			want := v.JSON(t)
			require.True(t, bytes.Equal(want, out), "records differ: %s", teltest.FirstDifference(want, out))
			sum := sha256.Sum256(out)
			require.Equal(t, v.CanonicalSHA256, hex.EncodeToString(sum[:]))
		})
	}
}

// TestDataVectors reads the large streams. It reads only the fields that Modified
// reports: reading every field of every record takes ten times as long.
func TestDataVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	for _, v := range teltest.Vectors(t, "data") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			root, kept := published(t, v.Canonical.Root)
			f, err := os.Open(v.Path())
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
			want := v.JSON(t)
			require.True(t, bytes.Equal(want, first), "records differ: %s", teltest.FirstDifference(want, first))
			require.Equal(t, v.Canonical.SHA256, hex.EncodeToString(sum.Sum(nil)))
		})
	}
}

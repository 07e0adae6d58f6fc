// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// published has the wire schemas of the published schema. The keys are the names of roots in the test
// vectors of the reference implementation.
var published = map[string]schema.WireSchema{
	"metrics": {6, 1, 8, 7, 3, 5, 4, 5, 5, 9, 2, 3, 2, 5, 2},
	"spans":   {4, 1, 3, 7, 5, 14, 4, 6, 2},
}

func otelRoot(tb testing.TB, name string) *schema.Struct {
	tb.Helper()
	src, err := os.ReadFile(filepath.Join(teltest.Root(tb), "stef-spec", "otel.stef"))
	require.NoError(tb, err)
	s, err := idl.Parse("otel.stef", src)
	require.NoError(tb, err)
	root := s.Root(strings.ToUpper(name[:1]) + name[1:])
	require.NotNil(tb, root)
	return root
}

// openVector opens a stream of the reference implementation. It reads the records with the schema of this
// repository, which extends the published schema.
func openVector(src io.Reader, root *schema.Struct, name string, opts ...dynamic.ReaderOption) (*dynamic.Reader, error) {
	return dynamic.NewReader(src, root, append(opts, dynamic.WithAssumedSchema(published[name]))...)
}

func TestEdgeVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		t.Run(v.Name, func(t *testing.T) {
			root := otelRoot(t, v.Root)
			kept, err := schema.Keep(root, published[v.Root])
			require.NoError(t, err)
			stream := v.Stream(t)

			frames := 0
			r, err := openVector(bytes.NewReader(stream), root, v.Root, dynamic.WithFrameFunc(func(f *dynamic.Frame) {
				frames++
				require.Equal(t, frames, f.Index)
			}))
			if v.Name == "m_userdata_long" {
				require.ErrorIs(t, err, dynamic.ErrLimit)
				return
			}
			require.NoError(t, err)
			require.Equal(t, v.Compression, r.Header().Compression.String())
			require.Equal(t, v.HasSchema, r.Header().Wire != nil)
			var out []byte
			for r.Next() {
				out, err = dynamic.AppendJSON(out, root, kept, r.Record())
				require.NoError(t, err)
				out = append(out, '\n')
			}
			if v.Name == "m_attr_1024" {
				require.ErrorIs(t, r.Err(), dynamic.ErrLimit)
				return
			}
			require.Empty(t, v.ReferenceError)
			require.NoError(t, r.Err())
			require.Equal(t, v.Records, r.Records())
			require.Equal(t, v.DataFrames, frames)
			want := v.JSON(t)
			require.True(t, bytes.Equal(want, out), "records differ: %s", teltest.FirstDifference(want, out))
			sum := sha256.Sum256(out)
			require.Equal(t, v.CanonicalSHA256, hex.EncodeToString(sum[:]))
		})
	}
}

func TestDataVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("large")
	}
	for _, v := range teltest.Vectors(t, "data") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			name := v.Canonical.Root
			root := otelRoot(t, name)
			kept, err := schema.Keep(root, published[name])
			require.NoError(t, err)
			f, err := os.Open(v.Path())
			require.NoError(t, err)
			defer f.Close()
			r, err := openVector(f, root, name)
			require.NoError(t, err)
			sum := sha256.New()
			out := bufio.NewWriter(sum)
			var line, first []byte
			for r.Next() {
				line, err = dynamic.AppendJSON(line[:0], root, kept, r.Record())
				require.NoError(t, err)
				line = append(line, '\n')
				_, _ = out.Write(line)
				if r.Records() <= 200 {
					first = append(first, line...)
				}
			}
			require.NoError(t, r.Err())
			require.NoError(t, out.Flush())
			require.Equal(t, v.DataFrames, r.Frame().Index)
			require.Equal(t, v.Canonical.Records, r.Records())
			want := v.JSON(t)
			require.True(t, bytes.Equal(want, first), "records differ: %s", teltest.FirstDifference(want, first))
			require.Equal(t, v.Canonical.SHA256, hex.EncodeToString(sum.Sum(nil)))
		})
	}
}

func TestMalformedVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "malformed") {
		t.Run(v.Name, func(t *testing.T) {
			root := otelRoot(t, v.Root)
			f, err := os.Open(v.Path())
			require.NoError(t, err)
			defer f.Close()

			start := time.Now()
			peak := teltest.WatchHeap(t)
			r, err := openVector(f, root, v.Root)
			var records uint64
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
				records = r.Records()
			}
			t.Logf("%d records, heap %d MiB, %v: %v", records, peak()>>20, time.Since(start).Round(time.Millisecond), err)
			require.Less(t, peak(), uint64(256<<20))
			require.Less(t, time.Since(start), 20*time.Second)
			switch v.Expect {
			case "error":
				require.Error(t, err)
			case "accept":
				require.NoError(t, err)
			default:
				require.Equal(t, "any", v.Expect)
			}
			if err != nil {
				requireTyped(t, err)
			}
		})
	}
}

func requireTyped(tb testing.TB, err error) {
	tb.Helper()
	var e *dynamic.Error
	require.ErrorAs(tb, err, &e)
	for _, kind := range []error{dynamic.ErrCorrupt, dynamic.ErrLimit, dynamic.ErrSchema, dynamic.ErrVersion, dynamic.ErrZstdDict} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.Fail(tb, "no kind of error", "%v", err)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/dynamic/plain"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
)

// schemas returns the full schema and the compact schema.
var schemas = sync.OnceValues(func() (full, compact *schema.Schema) {
	parse := func(text []byte, err error) *schema.Schema {
		if err != nil {
			panic(err)
		}
		s, err := idl.Parse("otel.stef", text)
		if err != nil {
			panic(err)
		}
		return s
	}
	folder := filepath.Join("..", "..", "..", "stef-spec")
	full = parse(os.ReadFile(filepath.Join(folder, "otel.stef")))
	more := parse(os.ReadFile(filepath.Join(folder, "compact.stef")))
	return full, schema.Extend(full, more)
})

// compactRoot returns a root of the compact schema, and fullRoot a root of the full schema.
func compactRoot(name string) *schema.Struct {
	_, compact := schemas()
	return compact.Root(name)
}

func fullRoot(name string) *schema.Struct {
	full, _ := schemas()
	return full.Root(name)
}

// open returns the plain reader of a stream.
func open(src io.Reader, root string, options ...dynamic.ReaderOption) (*plain.Reader, error) {
	in, err := dynamic.NewReader(src, compactRoot(root), options...)
	if err != nil {
		return nil, err
	}
	return plain.NewReader(in), nil
}

// lines reads all records as canonical JSON.
func lines(r *plain.Reader) ([]string, error) {
	var all []string
	for r.Next() {
		line, err := dynamic.AppendJSON(nil, r.Root(), nil, r.Record())
		if err != nil {
			return nil, err
		}
		all = append(all, string(line))
	}
	return all, r.Err()
}

// TestVectors reads the vectors in the compact form and in other forms.
func TestVectors(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(teltest.Root(t), "stef-spec", "vectors", "*.stef"))
	require.NoError(t, err)
	compact := 0
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".stef")
		t.Run(base, func(t *testing.T) {
			stream, err := os.ReadFile(name)
			require.NoError(t, err)
			want, err := os.ReadFile(strings.TrimSuffix(name, ".stef") + ".json")
			require.NoError(t, err)
			first, _, _ := strings.Cut(base, "_")
			root := strings.ToUpper(first[:1]) + first[1:]
			var options []dynamic.ReaderOption
			if wire := assumed[root]; wire != nil {
				options = append(options, dynamic.WithAssumedSchema(wire))
			}
			r, err := open(bytes.NewReader(stream), root, options...)
			require.NoError(t, err)
			require.Equal(t, strings.Contains(base, "_compact_"), r.Compact())
			if r.Compact() {
				compact++
			}
			have, err := lines(r)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSuffix(string(want), "\n"), strings.Join(have, "\n"))
		})
	}
	require.Greater(t, compact, 15)
}

// assumed has, for each root, the schema that readers assume if a stream announces none.
var assumed = map[string]schema.WireSchema{
	"Metrics": {6, 1, 8, 7, 3, 5, 4, 5, 5, 9, 2, 3, 2, 5, 2},
	"Spans":   {4, 1, 3, 7, 5, 14, 4, 6, 2},
	"Logs":    {4, 1, 4, 7, 4, 5, 12, 3, 7, 2},
}

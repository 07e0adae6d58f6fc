// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/schema"
	spec "github.com/otelstef/stef/stef-spec"
)

// notPlain names the vectors that are not in the plain form, with the reason.
// The README of the vectors has the same list.
var notPlain = map[string]string{
	"metrics_entities":      "the structs that are new in an array send all their fields",
	"spans_compact_ids":     "ids of other lengths are modified in each record",
	"logs_compact_ids":      "ids of other lengths are modified in each record",
	"spans_compact_times":   "the structs that are new in an array send all their fields",
	"spans_compact_restart": "fields that the form replaces are not modified in self-contained frames",
}

// TestPlainForm writes the records of each uncompressed vector again, in the
// plain form and with the same frame ends.
func TestPlainForm(t *testing.T) {
	parsed, err := idl.Parse("otel.stef", []byte(spec.OTelSchema))
	require.NoError(t, err)
	for _, list := range [][]vector{metricsVectors(), spansVectors(), logsVectors(), compactVectors()} {
		for _, v := range list {
			stream, err := os.ReadFile(filepath.Join(vectorsDir, v.name+".stef"))
			require.NoError(t, err)
			if stream[6] != 0 {
				continue // a compressed vector adds nothing: compression does not change the form of payloads
			}
			t.Run(v.name, func(t *testing.T) {
				root := parsed.Root(v.root.name)
				if v.compact {
					root = v.root.compact()
				}
				again := writePlain(t, stream, root, v.root.base)
				reason, other := notPlain[v.name]
				require.Equal(t, !other, bytes.Equal(stream, again), reason)
			})
		}
	}
}

// writePlain writes the records of a stream with package dynamic.
func writePlain(t *testing.T, stream []byte, root *schema.Struct, base schema.WireSchema) []byte {
	t.Helper()
	var flags dynamic.FrameFlags
	r, err := dynamic.NewReader(bytes.NewReader(stream), root, dynamic.WithAssumedSchema(base),
		dynamic.WithFrameFunc(func(f *dynamic.Frame) { flags |= f.Flags }))
	require.NoError(t, err)
	var records []*dynamic.Struct
	var frames []int
	for r.Next() {
		records, frames = append(records, r.Record()), append(frames, r.Frame().Index)
	}
	require.NoError(t, r.Err())

	h := r.Header()
	options := []dynamic.WriterOption{dynamic.WithUserData(h.UserData), dynamic.WithRestart(flags), dynamic.WithSchema(base)}
	if h.Wire != nil {
		options = append(options, dynamic.WithSchema(h.Wire), dynamic.WithSchemaHeader())
	}
	var again bytes.Buffer
	w, err := dynamic.NewWriter(&again, root, options...)
	require.NoError(t, err)
	for i, rec := range records {
		if i > 0 && frames[i] != frames[i-1] {
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	return again.Bytes()
}

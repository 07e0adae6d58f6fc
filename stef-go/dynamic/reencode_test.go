// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	"github.com/otelstef/stef/stef-go/dynamic"
)

// A test reads the vectors of the reference implementation and writes their records again, with frames
// that end after the same records. otherBytes lists the vectors whose bytes then differ, and the reason.
// The list is complete for vectors without compression.
var otherBytes = map[string]string{
	// The reference implementation tracks which fields were set, not which fields changed. It
	// sends a field again if the field was set to an equal value, if the older schema lacks
	// the changed part of the field, and if the field is NaN. A Writer compares values.
	"m_attr_counts":            "set, not changed",
	"m_dict_structs":           "set, not changed",
	"m_dict_structs_reset":     "set, not changed",
	"m_floats":                 "set, not changed",
	"m_ints":                   "set, not changed",
	"m_point_types":            "set, not changed",
	"m_random_102":             "set, not changed",
	"m_schema_old_all":         "set, not changed",
	"m_schema_old_anyvalue4":   "set, not changed",
	"m_schema_old_point2":      "set, not changed",
	"m_schema_old_pointvalue3": "set, not changed",
	"s_events_links":           "set, not changed",
	// The reference implementation sends all fields of structs in frames that restart
	// codecs.
	"m_restart_4": "codecs",
	// In streams of other writers, the first record of a frame may omit unchanged fields, even if the
	// frame restarts everything. A Writer of this package makes such frames self-contained.
	"m_restart_5":            "self-contained",
	"s_random_302":           "self-contained",
	"m_restart_7_zstd":       "self-contained",
	"m_restart_7_flush_zstd": "self-contained",
	// The dictionaries reach a limit, so only some frames have the flag that restarts them. The test
	// writes all frames with equal flags.
	"m_random_opts_200": "flags",
	"m_random_opts_202": "flags",
}

func TestReencodedVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		if v.ReferenceError != "" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			stream, err := os.ReadFile(teltest.Golden(t, "edge", v.File))
			require.NoError(t, err)
			out := reencode(t, v, stream)
			_, other := otherBytes[v.Name]
			if v.Compression == "none" {
				require.Equal(t, !other, bytes.Equal(stream, out))
			}
			switch otherBytes[v.Name] {
			case "flags":
			case "self-contained":
				require.Greater(t, len(out), len(stream))
			default:
				require.LessOrEqual(t, len(out), len(stream))
			}
			root := otelRoot(t, v.Root)
			r, err := openVector(bytes.NewReader(out), root, v.Root)
			require.NoError(t, err)
			s, err := openVector(bytes.NewReader(stream), root, v.Root)
			require.NoError(t, err)
			for s.Next() {
				require.True(t, r.Next(), "%v", r.Err())
				require.True(t, dynamic.Equal(s.Record(), r.Record()), "record %d", s.Records())
			}
			require.False(t, r.Next())
			require.NoError(t, r.Err())
		})
	}
}

// reencode writes the records of a stream into a new stream. It ends frames after the
// same records.
func reencode(t *testing.T, v teltest.Vector, stream []byte) []byte {
	root := otelRoot(t, v.Root)
	var flags dynamic.FrameFlags
	src, err := openVector(bytes.NewReader(stream), root, v.Root,
		dynamic.WithFrameFunc(func(f *dynamic.Frame) { flags |= f.Flags }))
	require.NoError(t, err)
	var recs []*dynamic.Struct
	var frame []int
	for src.Next() {
		recs = append(recs, src.Record())
		frame = append(frame, src.Frame().Index)
	}
	require.NoError(t, src.Err())

	h := src.Header()
	opts := []dynamic.WriterOption{
		dynamic.WithCompression(h.Compression), dynamic.WithUserData(h.UserData), dynamic.WithRestart(flags),
		dynamic.WithFrameBytes(32 << 20), dynamic.WithDictBytes(32 << 20), dynamic.WithSchema(published[v.Root]),
	}
	if h.Wire != nil {
		opts = append(opts, dynamic.WithSchema(h.Wire), dynamic.WithSchemaHeader())
	}
	var out bytes.Buffer
	w, err := dynamic.NewWriter(&out, root, opts...)
	require.NoError(t, err)
	for i, rec := range recs {
		if i > 0 && frame[i] != frame[i-1] {
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Write(rec))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/teltest"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/steftest"
)

// The reasons why a writer produces other bytes than the reference implementation.
const (
	// The reference implementation tracks which fields were set, not which fields changed. It
	// sends a field again if the field was set to the value of the previous record or to NaN, or
	// if the older schema lacks all parts of the field that changed.
	setNotChanged = "set, not changed"
	// The reference implementation sends all fields of structs in frames that restart
	// codecs.
	restartedCodecs = "restarted codecs"
	// Frames that restart everything are self-contained only if a writer of this
	// package wrote them.
	selfContained = "self-contained"
	// In this test vector, only some frames have flags, because the dictionaries reached a limit.
	// The test writes all frames with the same flags.
	someFlags = "some flags"
)

// A test reads the vectors of the reference implementation and writes their records again, with frames that
// end after the same records. otherBytes lists the vectors whose bytes then differ, and the reason. The
// list is complete for vectors without compression.
var otherBytes = map[string]string{
	"m_attr_counts":            setNotChanged,
	"m_dict_structs":           setNotChanged,
	"m_dict_structs_reset":     setNotChanged,
	"m_floats":                 setNotChanged,
	"m_ints":                   setNotChanged,
	"m_point_types":            setNotChanged,
	"m_random_102":             setNotChanged,
	"m_schema_old_all":         setNotChanged,
	"m_schema_old_anyvalue4":   setNotChanged,
	"m_schema_old_point2":      setNotChanged,
	"m_schema_old_pointvalue3": setNotChanged,
	"s_events_links":           setNotChanged,
	"m_restart_4":              restartedCodecs,
	"m_restart_5":              selfContained,
	"s_random_302":             selfContained,
	"m_random_opts_200":        someFlags,
	"m_random_opts_202":        someFlags,
}

// TestReencodedVectors reads the test vectors of the reference implementation, and writes their
// records again, in the same schema and with the same records in each frame.
func TestReencodedVectors(t *testing.T) {
	for _, v := range teltest.Vectors(t, "edge") {
		if v.ReferenceError != "" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			root, _ := published(t, v.Root)
			stream := v.Stream(t)
			out := reencode(t, root, v, stream)
			if v.Compression == "none" {
				reason := otherBytes[v.Name]
				require.Equal(t, reason == "", bytes.Equal(stream, out), "%d bytes, the reference has %d", len(out), len(stream))
				if reason == setNotChanged || reason == restartedCodecs {
					require.Less(t, len(out), len(stream))
				}
			}
			want, err := root.Read(bytes.NewReader(stream))
			require.NoError(t, err)
			have, err := root.ReadDynamic(bytes.NewReader(out))
			require.NoError(t, err)
			require.Empty(t, steftest.DiffAll(root.Schema, want, have))
		})
	}
}

func reencode(t *testing.T, root *steftest.Root, v teltest.Vector, stream []byte) []byte {
	t.Helper()
	r, err := root.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	var flags stef.FrameFlags
	for r.Next() {
		flags |= r.Stats().FrameFlags
	}
	require.NoError(t, r.Err())
	options := []stef.WriterOption{
		stef.WithCompression(r.Stats().Compression), stef.WithUserData(r.UserData()), stef.WithSchema(r.Schema()),
		stef.WithRestart(flags), stef.WithFrameBytes(32 << 20), stef.WithDictBytes(32 << 20),
	}
	if v.HasSchema {
		options = append(options, stef.WithSchemaHeader())
	}
	var out bytes.Buffer
	w, err := root.NewWriter(&out, options...)
	require.NoError(t, err)
	r, err = root.NewReader(bytes.NewReader(stream))
	require.NoError(t, err)
	for frame := 1; r.Next(); {
		if n := r.Stats().Frames; n > frame {
			require.NoError(t, w.Flush())
			frame = n
		}
		steftest.Set(w.Record(), root.Schema, steftest.Value(r.Record(), root.Schema, nil))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	"github.com/otelstef/stef/internal/stefgen/testdata/shared"
	stef "github.com/otelstef/stef/stef-go"
)

// TestLargeTextsInLists sets lists whose texts are too large for a frame, with every setter. The
// writer refuses the record and remains usable.
func TestLargeTextsInLists(t *testing.T) {
	long := strings.Repeat("a", 40<<20)
	for name, set := range map[string]func(l *scalars.Lists){
		"Append":       func(l *scalars.Lists) { l.Texts().Append(long); l.Texts().Append(long) },
		"Set":          func(l *scalars.Lists) { l.Texts().SetLen(2); l.Texts().Set(0, long); l.Texts().Set(1, long) },
		"SetValues":    func(l *scalars.Lists) { l.Texts().SetValues([]string{long, long}) },
		"bytes Append": func(l *scalars.Lists) { l.Raws().Append([]byte(long)); l.Raws().Append([]byte(long)) },
		"bytes Set": func(l *scalars.Lists) {
			l.Raws().SetLen(2)
			l.Raws().Set(0, []byte(long))
			l.Raws().Set(1, []byte(long))
		},
		"CopyFrom": func(l *scalars.Lists) {
			other := scalars.NewLists()
			other.Texts().SetValues([]string{long})
			other.Raws().Append([]byte(long))
			l.CopyFrom(other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := scalars.NewPlainWriter(&out)
			require.NoError(t, err)
			require.NoError(t, w.Write())
			set(w.Record().Lists())
			require.ErrorIs(t, w.Write(), stef.ErrLimit)
			w.Record().Lists().Reset()
			require.NoError(t, w.Write())
			require.NoError(t, w.Close())
			r, err := scalars.NewPlainReader(&out)
			require.NoError(t, err)
			n := 0
			for ; r.Next(); n++ {
			}
			require.NoError(t, r.Err())
			require.Equal(t, 2, n)
		})
	}
}

// TestCopiesOfBytesCount reads a list of references to one value of bytes. Each element is a copy,
// so 10 KB of a stream would need 600 MB.
func TestCopiesOfBytesCount(t *testing.T) {
	var out bytes.Buffer
	w, err := scalars.NewPlainWriter(&out)
	require.NoError(t, err)
	value := make([]byte, 60<<10) // short enough for the checks of the writer
	w.Record().Lists().Blobs().Append(value)
	require.NoError(t, w.Write())
	for range 10_000 {
		w.Record().Lists().Blobs().Append(value)
	}
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	require.Less(t, out.Len(), 100<<10)
	r, err := scalars.NewPlainReader(&out)
	require.NoError(t, err)
	require.True(t, r.Next())
	require.False(t, r.Next())
	require.ErrorIs(t, r.Err(), stef.ErrLimit)
	require.ErrorContains(t, r.Err(), "Limits.RecordBytes")
	require.Less(t, r.Stats().AddedBytes, int64(128<<20))
}

// TestInitialValuesCount reads lists with many initial elements. The dictionary structs of
// each element are separate objects, and count against the memory of the record. If a list
// shrinks and grows again, its new elements count as added memory again.
func TestInitialValuesCount(t *testing.T) {
	const count = 200_000 // 15 MB without the dictionary structs
	for _, part := range []int{count, count / 10} {
		var out bytes.Buffer
		w, err := shared.NewRecordWriter(&out)
		require.NoError(t, err)
		for range count / part {
			w.Record().Holders().SetLen(part)
			require.NoError(t, w.Write())
			w.Record().Holders().Reset()
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		r, err := shared.NewRecordReader(&out)
		require.NoError(t, err)
		for r.Next() {
		}
		if part == count {
			require.ErrorIs(t, r.Err(), stef.ErrLimit)
			continue
		}
		require.NoError(t, r.Err())
		require.Greater(t, r.Stats().AddedBytes, int64(100<<20))
	}
}

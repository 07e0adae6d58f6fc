// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package property_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/optionals"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	stef "github.com/otelstef/stef/stef-go"
)

// TestNamesOfEnums prints enums with the names of their values, and a value without a name
// as a number, as stef cat does.
func TestNamesOfEnums(t *testing.T) {
	lists := scalars.NewLists()
	lists.Colors().SetValues([]uint64{uint64(scalars.ColorGreen), 99})
	require.Contains(t, lists.String(), `"Colors":["Green",99]`)
	maybe := scalars.NewMaybe()
	maybe.SetColor(scalars.ColorGreen)
	require.Contains(t, maybe.String(), `"Color":"Green"`)
	maybe.SetColor(250)
	require.Contains(t, maybe.String(), `"Color":250`)
}

// TestAbsent reads a record without the optional values of the record before it: their
// getters return zero. A value that is made present again begins as an initial value.
func TestAbsent(t *testing.T) {
	var buf bytes.Buffer
	w, err := optionals.NewRecordWriter(&buf)
	require.NoError(t, err)
	rec := w.Record()
	none := [4]any{"", int64(0), uint64(0), []byte(nil)}
	set := func() {
		inner, shared := rec.AddInner(), rec.EditShared()
		deeper, inner2 := inner.AddDeeper(), shared.AddInner()
		require.Equal(t, none, values(rec))
		inner.SetB("b")
		deeper.SetC(7)
		shared.SetN(3)
		inner2.SetY([]byte("y"))
	}
	unset := func() {
		rec.Inner().UnsetB()
		rec.Inner().Deeper().UnsetC()
		rec.EditShared().UnsetN()
		rec.EditShared().Inner().UnsetY()
	}
	var want [][4]any
	for _, change := range []func(){set, unset, func() { rec.UnsetInner(); rec.UnsetShared(); set() }} {
		change()
		want = append(want, values(rec))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	require.Equal(t, [4]any{"b", int64(7), uint64(3), []byte("y")}, want[0])
	require.Equal(t, none, want[1])
	require.Equal(t, want[0], want[2])

	r, err := optionals.NewRecordReader(&buf)
	require.NoError(t, err)
	for _, v := range want {
		require.True(t, r.Next())
		require.Equal(t, v, values(r.Record()))
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// values returns optional values of a record. The structs that contain them are present.
func values(rec *optionals.Record) [4]any {
	shared := rec.Shared()
	return [4]any{rec.Inner().B(), rec.Inner().Deeper().C(), shared.N(), shared.Inner().Y()}
}

// TestPresentKeepsContent: making a value present again, or choosing it again, keeps its content,
// as the comments of the methods say. Reset empties it.
func TestPresentKeepsContent(t *testing.T) {
	rec := optionals.NewRecord()
	for i := range 3 {
		rec.AddNumbers().Append(uint64(i))
		require.Equal(t, i+1, rec.Numbers().Len())
	}
	rec.AddNumbers().Reset()
	require.True(t, rec.HasNumbers())
	require.Zero(t, rec.Numbers().Len())
	rec.AddInner().SetB("b")
	require.Equal(t, "b", rec.AddInner().B())
	rec.AddInner().Reset()
	require.False(t, rec.Inner().HasB())
	choice := optionals.NewChoice()
	choice.SetInner().SetB("b")
	require.Equal(t, "b", choice.SetInner().B())
	choice.SetInner().Reset()
	require.False(t, choice.Inner().HasB())
}

// TestAbsentFieldsDoNotCount makes fields absent whose values made the record exceed a limit.
// The writer no longer writes these values.
func TestAbsentFieldsDoNotCount(t *testing.T) {
	var out bytes.Buffer
	w, err := optionals.NewRecordWriter(&out)
	require.NoError(t, err)
	long := strings.Repeat("a", 40<<20)
	w.Record().AddInner().SetB(long)
	require.NoError(t, w.Write())
	w.Record().Inner().UnsetB()
	w.Record().EditShared().SetS(long)
	require.NoError(t, w.Write(), "the record has one of the two texts")
	w.Record().EditShared().UnsetS()

	w.Record().EditShared().AddM().SetLen(stef.MaxPairs + 1)
	require.ErrorIs(t, w.Write(), stef.ErrLimit)
	w.Record().UnsetShared()
	require.NoError(t, w.Write())
	w.Record().SetShared(w.Record().Shared())
	require.ErrorIs(t, w.Write(), stef.ErrLimit, "the value is present again")
	require.NoError(t, w.Close())
	r, err := optionals.NewRecordReader(&out, stef.WithLimits(stef.Limits{DictBytes: 1 << 30}))
	require.NoError(t, err)
	n := 0
	for ; r.Next(); n++ {
		require.Equal(t, n == 0, r.Record().Inner().HasB())
		require.Equal(t, n == 1, r.Record().HasShared() && r.Record().Shared().HasS())
	}
	require.NoError(t, r.Err())
	require.Equal(t, 3, n)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/names"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/stefrt"
)

// The time for a long run of records is proportional to the number of its records, even if a program
// calls Run at every record. The test counts the records that Run examined, so it does not depend on the
// speed of the machine.
func TestRunIsLinear(t *testing.T) {
	const records, period = 50_000, 10_000
	var b bytes.Buffer
	w, err := scalars.NewPlainWriter(&b)
	require.NoError(t, err)
	for i := range records {
		if i%period == 0 {
			w.Record().SetCount(uint64(i + 1))
		}
		w.Record().SetSigned(int64(i / 3))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	r, err := scalars.NewPlainReader(&b)
	require.NoError(t, err)
	const fields = scalars.PlainFieldCount
	for i := range records {
		require.True(t, r.Next())
		next := min((i/period+1)*period, i+1+int(r.BufferedRecords())) // the record that ends the run
		require.Equal(t, next-i-1, r.Run(fields), "record %d", i)
		require.Equal(t, r.Run(fields), r.Run(fields))
		if i%2 == 0 { // calls for other fields do not replace the run
			r.Run(fields | scalars.PlainFieldSigned)
			r.Run(0)
		}
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.Zero(t, r.Run(fields))
	require.LessOrEqual(t, stefrt.Examined(&r.ReadStream), uint64(6*records))
}

// After an error in a frame, and after Close, no records follow.
func TestRunAtTheEnd(t *testing.T) {
	var b bytes.Buffer
	w, err := scalars.NewPlainWriter(&b)
	require.NoError(t, err)
	for i := range 5 {
		w.Record().SetCount(uint64(i))
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	const fields = scalars.PlainFieldSigned
	stream := b.Bytes()
	open := func() *scalars.PlainReader {
		r, err := scalars.NewPlainReader(bytes.NewReader(stream))
		require.NoError(t, err)
		require.True(t, r.Next())
		require.Equal(t, 4, r.Run(fields))
		return r
	}
	r := open()
	r.Close()
	require.Zero(t, r.Run(fields))

	stream[len(stream)-2] |= 0x80 // the last numbers of the column become one, so a record lacks its number
	r = open()
	for r.Next() {
		require.NotZero(t, r.Run(fields))
	}
	require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
	require.Zero(t, r.Run(fields))
}

// If an optional field becomes absent, the writer need not set its modified bit. Readers mark the field as
// modified nevertheless, and Run ends before this record.
//
// spec: #struct
func TestAbsentWithoutModifiedBit(t *testing.T) {
	var b bytes.Buffer
	w, err := names.NewRecordWriter(&b, stef.WithSchema(schema.WireSchema{2}))
	require.NoError(t, err)
	w.Record().SetPresent(1)
	require.NoError(t, w.Write())
	require.NoError(t, w.Write())
	w.Record().UnsetPresent()
	require.NoError(t, w.Write())
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	// Each record has two modified bits and a presence bit. The second stream lacks a modified
	// bit of the third record.
	root, unmarked := []byte{0b101_001_10, 0b0_000_0000}, []byte{0b101_001_00, 0b0_000_0000}
	require.Equal(t, 1, bytes.Count(b.Bytes(), root))
	for _, column := range [][]byte{root, unmarked} {
		r, err := names.NewRecordReader(bytes.NewReader(bytes.Replace(b.Bytes(), root, column, 1)))
		require.NoError(t, err)
		for i, want := range []struct {
			present  bool
			modified uint64
			run      int
		}{{true, names.RecordFieldPresent, 1}, {true, 0, 0}, {false, names.RecordFieldPresent, 1}, {false, 0, 0}} {
			require.True(t, r.Next(), r.Err())
			require.Equal(t, want.present, r.Record().HasPresent(), "%b, record %d", column, i)
			require.Equal(t, want.modified, r.Record().Modified(), "%b, record %d", column, i)
			require.Equal(t, want.run, r.Run(names.RecordFieldPresent), "%b, record %d", column, i)
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/internal/stefgen/testdata/maps"
	"github.com/otelstef/stef/internal/stefgen/testdata/scalars"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/schema"
)

// chunks is a destination that remembers every Write: two for the headers and
// one for each frame.
type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

// frames returns the frames with data.
func (c chunks) frames() [][]byte { return c[2:] }

func (c chunks) stream() []byte { return bytes.Join(c, nil) }

func flagsOf(frames [][]byte) string {
	var b []byte
	for _, f := range frames {
		b = append(b, f[0])
	}
	return hex.EncodeToString(b)
}

// sizeAndRecords returns two numbers of an uncompressed frame: the size of its content in bytes, and the
// number of its records.
func sizeAndRecords(frame []byte) (size, records int) {
	s, n := bitio.Uvarint(frame[1:])
	r, _ := bitio.Uvarint(frame[1+n:])
	return int(s), int(r)
}

// TestDictSize is the example of the specification: each name of 8 bytes has the size 24, so
// the second name reaches the limit and ends the frame.
func TestDictSize(t *testing.T) {
	var dst chunks
	w, err := scalars.NewPlainWriter(&dst, stef.WithDictBytes(48))
	require.NoError(t, err)
	for _, word := range []string{"aaaaaaaa", "bbbbbbbb", "aaaaaaaa", "cc", "cc"} {
		w.Record().SetWord(word)
		require.NoError(t, w.Write())
		require.Less(t, w.Stats().DictBytes, 48)
	}
	require.NoError(t, w.Close())
	require.Equal(t, "0001", flagsOf(dst.frames()))
	first, second := dst.frames()[0], dst.frames()[1]
	_, records := sizeAndRecords(first)
	require.Equal(t, 2, records)
	_, records = sizeAndRecords(second)
	require.Equal(t, 3, records)
	require.Contains(t, string(second), "\x10aaaaaaaa\x04cc", "in full again, since the dictionary is empty")
}

func TestRestartFlags(t *testing.T) {
	f := func(want string, flags stef.FrameFlags, options ...stef.WriterOption) {
		t.Helper()
		var dst chunks
		w, err := scalars.NewPlainWriter(&dst, append(options, stef.WithRestart(flags))...)
		require.NoError(t, err)
		for i := range uint64(3) {
			w.Record().SetCount(i)
			require.NoError(t, w.Write())
			require.NoError(t, w.Flush())
			require.NoError(t, w.Flush(), "without records, Flush does nothing")
		}
		require.NoError(t, w.Close())
		require.Equal(t, want, flagsOf(dst.frames()))
	}
	zstd := stef.WithCompression(stef.Zstd)
	f("000000", 0)
	f("000101", stef.RestartDictionaries)
	f("000404", stef.RestartCodecs)
	f("000505", stef.RestartAll)
	f("000000", stef.RestartCompression)
	f("020000", 0, zstd)
	f("020202", stef.RestartCompression, zstd)
	f("020707", stef.RestartAll, zstd)
}

// TestFrameSize: all frames except the last one reach WithFrameBytes, and exceed it by at most two records.
// This holds for fields of every type.
func TestFrameSize(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	fills := map[string]func(r *scalars.Plain, i int){
		"numbers": func(r *scalars.Plain, i int) {
			r.SetCount(rnd.Uint64())
			r.SetSigned(int64(rnd.Uint64()))
			r.SetRatio(rnd.Float64())
		},
		"text":   func(r *scalars.Plain, i int) { r.SetText(strings.Repeat("x", rnd.IntN(500))) },
		"words":  func(r *scalars.Plain, i int) { r.SetWord(fmt.Sprint("word ", rnd.IntN(50))) },
		"bits":   func(r *scalars.Plain, i int) { r.SetFlag(i%2 == 0) },
		"bytes":  func(r *scalars.Plain, i int) { r.SetRaw(make([]byte, rnd.IntN(300))) },
		"arrays": func(r *scalars.Plain, i int) { fillLists(rnd, r.Lists()) },
		"little": func(r *scalars.Plain, i int) {},
	}
	for name, fill := range fills {
		// Write each record into a frame of its own to measure the records.
		largest := 0
		sizes := func(limit, records int) (frames [][]byte) {
			var dst chunks
			w, err := scalars.NewPlainWriter(&dst, stef.WithFrameBytes(limit))
			require.NoError(t, err)
			for i := range records {
				fill(w.Record(), i)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Close())
			return dst.frames()
		}
		for _, f := range sizes(1, 300) {
			size, records := sizeAndRecords(f)
			require.Equal(t, 1, records, name)
			largest = max(largest, size)
		}
		const table = 7 * 45 // the maximum size of the size table and the counts
		for _, limit := range []int{10, 100, 1000, 10_000, 100_000} {
			frames := sizes(limit, 4000)
			for i, f := range frames {
				size, _ := sizeAndRecords(f)
				require.Less(t, size, limit+2*largest+table, "%s, frame %d of %d", name, i, len(frames))
				if i < len(frames)-1 {
					require.GreaterOrEqual(t, size, limit, "%s, frame %d of %d", name, i, len(frames))
				}
			}
		}
	}
}

func fillLists(rnd *rand.Rand, l *scalars.Lists) {
	l.Counts().SetLen(rnd.IntN(40))
	for i := range l.Counts().Len() {
		l.Counts().Set(i, rnd.Uint64())
	}
	l.Ratios().SetLen(rnd.IntN(40))
	for i := range l.Ratios().Len() {
		l.Ratios().Set(i, rnd.Float64())
	}
	l.Flags().SetLen(rnd.IntN(40))
	l.Texts().SetLen(rnd.IntN(10))
	for i := range l.Texts().Len() {
		l.Texts().Set(i, strings.Repeat("t", rnd.IntN(20)))
	}
}

// TestTinyLimits: with limits of 1 every record is a frame of its own.
func TestTinyLimits(t *testing.T) {
	for _, option := range []stef.WriterOption{stef.WithFrameBytes(1), stef.WithDictBytes(1)} {
		var dst chunks
		w, err := scalars.NewPlainWriter(&dst, option)
		require.NoError(t, err)
		for i := range 20 {
			w.Record().SetWord(fmt.Sprintf("word %02d", i))
			require.NoError(t, w.Write())
			require.Len(t, dst.frames(), i+1)
		}
		require.NoError(t, w.Close())
		require.Len(t, dst.frames(), 20)

		r, err := scalars.NewPlainReader(bytes.NewReader(dst.stream()))
		require.NoError(t, err)
		for i := range 20 {
			require.True(t, r.Next())
			require.Equal(t, fmt.Sprintf("word %02d", i), r.Record().Word())
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	}
}

func TestWriterStats(t *testing.T) {
	var dst chunks
	w, err := scalars.NewPlainWriter(&dst)
	require.NoError(t, err)
	f := func(records, flushed uint64, frames int) {
		t.Helper()
		require.Equal(t, stef.WriterStats{
			Records: records, Flushed: flushed, Frames: frames, Bytes: int64(len(dst.stream())), DictBytes: w.Stats().DictBytes,
		}, w.Stats())
	}
	f(0, 0, 0)
	w.Record().SetWord("word")
	require.NoError(t, w.Write())
	require.NoError(t, w.Write())
	f(2, 0, 0)
	require.Equal(t, 4+16, w.Stats().DictBytes)
	require.NoError(t, w.Flush())
	f(2, 2, 1)
	require.NoError(t, w.Write())
	f(3, 2, 1)
	require.NoError(t, w.Close())
	f(3, 3, 2)
}

func TestWriteAfterClose(t *testing.T) {
	w, err := scalars.NewPlainWriter(new(chunks))
	require.NoError(t, err)
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(), stef.ErrClosed)
	require.ErrorIs(t, w.Write(), stef.ErrClosed)
	require.ErrorIs(t, w.Flush(), stef.ErrClosed)
	require.Equal(t, uint64(1), w.Stats().Records)
}

// failing is a destination. left is the number of calls of Write that succeed; later calls
// fail with errFull.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errFull
	}
	f.left--
	return len(b), nil
}

func TestFailingDestination(t *testing.T) {
	for left := range 2 {
		_, err := scalars.NewPlainWriter(&failing{left})
		require.ErrorIs(t, err, errFull)
		require.ErrorContains(t, err, "stef: writing the headers: ")
	}
	w, err := scalars.NewPlainWriter(&failing{3})
	require.NoError(t, err)
	require.NoError(t, w.Write())
	require.NoError(t, w.Flush())
	require.NoError(t, w.Write())
	require.NoError(t, w.Write())
	err = w.Flush()
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "stef: frame 2, records 2 to 3: ")
	for range 40 {
		require.ErrorIs(t, w.Write(), errFull, "a failed stream cannot continue")
	}
	require.ErrorIs(t, w.Flush(), errFull)
	require.Equal(t, uint64(1), w.Stats().Flushed)
	require.ErrorIs(t, w.Close(), errFull)
	require.ErrorIs(t, w.Write(), stef.ErrClosed)
}

func TestOversizeRecords(t *testing.T) {
	var dst chunks
	w, err := maps.NewRecordWriter(&dst)
	require.NoError(t, err)
	ints := w.Record().Ints()
	ints.SetLen(stef.MaxPairs)
	require.NoError(t, w.Write())
	ints.SetLen(stef.MaxPairs + 1)
	for range 3 {
		err = w.Write()
		require.ErrorIs(t, err, stef.ErrLimit)
		require.ErrorContains(t, err, "record 2: ")
		require.ErrorContains(t, err, "a multimap Ints has 1024 pairs, at most 1023")
	}
	// No part of the record was written, and the writer continues.
	ints.SetLen(1)
	ints.Set(0, 4, 5)
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())

	r, err := maps.NewRecordReader(bytes.NewReader(dst.stream()))
	require.NoError(t, err)
	require.True(t, r.Next())
	require.Equal(t, stef.MaxPairs, r.Record().Ints().Len())
	require.True(t, r.Next())
	require.Equal(t, 1, r.Record().Ints().Len())
	require.Equal(t, int64(5), r.Record().Ints().Value(0))
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// TestOversizeSharedValues: every writer refuses a shared value over the limit.
func TestOversizeSharedValues(t *testing.T) {
	large := maps.NewShared()
	large.Words().SetLen(stef.MaxPairs + 1)
	newWriter := func() *maps.RecordWriter {
		w, err := maps.NewRecordWriter(new(chunks))
		require.NoError(t, err)
		return w
	}
	first, second, third := newWriter(), newWriter(), newWriter()
	first.Record().SetShared(large)
	second.Record().SetShared(large)
	third.Record().SetShared(first.Record().Shared())
	for _, w := range []*maps.RecordWriter{first, second, third} {
		require.ErrorIs(t, w.Write(), stef.ErrLimit)
		w.Record().EditShared().Words().SetLen(2)
		require.NoError(t, w.Write())
	}
}

func TestWithSchema(t *testing.T) {
	whole := scalars.SecondSchema()
	f := func(ok bool, wire schema.WireSchema) {
		t.Helper()
		var dst chunks
		w, err := scalars.NewSecondWriter(&dst, stef.WithSchema(wire))
		if !ok {
			require.ErrorIs(t, err, stef.ErrSchema)
			require.Empty(t, dst)
			return
		}
		require.NoError(t, err)
		require.Equal(t, wire, w.Schema())
	}
	require.Equal(t, schema.WireSchema{3, 9}, whole)
	f(true, whole)
	f(true, schema.WireSchema{3, 0})
	f(true, schema.WireSchema{1})
	f(true, schema.WireSchema{2, 4})
	f(false, schema.WireSchema{0})
	f(false, schema.WireSchema{4, 9})
	f(false, schema.WireSchema{3, 10})
	f(false, schema.WireSchema{3, -1})
	f(false, schema.WireSchema{3})
	f(false, schema.WireSchema{1, 9})
	f(false, schema.WireSchema{3, 9, 1})
}

// TestAnnouncedSchema: a writer announces its schema if it differs from the schema that readers assume, or
// with the option WithSchemaHeader.
func TestAnnouncedSchema(t *testing.T) {
	f := func(announced bool, options ...stef.WriterOption) {
		t.Helper()
		var dst chunks
		_, err := scalars.NewSecondWriter(&dst, options...)
		require.NoError(t, err)
		require.Equal(t, announced, dst[1][2] != 0)
	}
	base := stef.WithSchema(scalars.SecondBaseSchema())
	f(true)
	f(false, base)
	f(true, base, stef.WithSchemaHeader())
	f(true, stef.WithSchema(schema.WireSchema{1}))
}

// TestWriterReset writes the same stream twice with one writer.
func TestWriterReset(t *testing.T) {
	var first, second chunks
	w, err := scalars.NewPlainWriter(&first, stef.WithCompression(stef.Zstd), stef.WithDictBytes(200))
	require.NoError(t, err)
	write := func() {
		for i := range 50 {
			w.Record().SetWord(fmt.Sprintf("word %d", i%7))
			w.Record().SetRatio(float64(i))
			w.Record().SetCount(uint64(i))
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Flush())
	}
	write()
	require.NoError(t, w.Write()) // Reset discards this record
	require.NoError(t, w.Reset(&second))
	write()
	require.Equal(t, first.stream(), second.stream())
}

// recordSink is a destination that implements stef.RecordWriter.
type recordSink struct {
	chunks
	lasts []uint64
}

func (r *recordSink) WriteRecords(chunk []byte, last uint64) (int, error) {
	r.lasts = append(r.lasts, last)
	return r.Write(chunk)
}

// TestRecordWriter: a destination of type RecordWriter receives the number of the last record with every
// chunk, even for frames that end without a call of Flush. It receives the same bytes as other
// destinations.
func TestRecordWriter(t *testing.T) {
	write := func(dst io.Writer) {
		w, err := scalars.NewPlainWriter(dst, stef.WithDictBytes(48))
		require.NoError(t, err)
		for _, word := range []string{"aaaaaaaa", "bbbbbbbb", "aaaaaaaa", "cc", "cc"} {
			w.Record().SetWord(word)
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Flush())
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
	}
	var plain chunks
	write(&plain)
	var sink recordSink
	write(&sink)
	require.Equal(t, []uint64{0, 0, 2, 5, 6}, sink.lasts)
	require.Equal(t, plain, sink.chunks)
}

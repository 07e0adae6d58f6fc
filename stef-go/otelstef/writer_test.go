// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"
	"github.com/otelstef/stef/stef-go/steftest"
)

var errFull = errors.New("the disk is full")

type failing struct {
	bytes.Buffer
	writes int
	short  bool // fail by a short write without an error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		if f.short {
			return len(b) / 2, nil
		}
		return 0, errFull
	}
	return f.Buffer.Write(b)
}

// TestFailingDestination makes the destination fail after n writes, for several n. All later calls
// fail, and the bytes written before the failure are a valid stream.
func TestFailingDestination(t *testing.T) {
	f := func(writes int, short bool, want error, options ...stef.WriterOption) {
		t.Helper()
		dst := &failing{writes: writes, short: short}
		w, err := otelstef.NewMetricsWriter(dst, options...)
		if writes < 2 {
			require.ErrorIs(t, err, want)
			require.Nil(t, w)
			return
		}
		require.NoError(t, err)
		failed := false
		for i := range uint64(40) {
			number(w.Record(), i)
			err := w.Write()
			if i%4 == 3 && err == nil {
				err = w.Flush()
			}
			if failed {
				require.ErrorIs(t, err, want)
			}
			failed = failed || err != nil
		}
		require.True(t, failed)
		require.ErrorIs(t, w.Flush(), want)
		flushed := w.Stats().Flushed
		require.Equal(t, uint64(4*(writes-2)), flushed)
		require.Equal(t, writes-2, w.Stats().Frames)
		require.ErrorIs(t, w.Close(), want)
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Write(), stef.ErrClosed)
		require.Len(t, timestamps(t, dst.Bytes()), int(flushed))
	}
	for writes := range 8 {
		f(writes, false, errFull)
		f(writes, true, io.ErrShortWrite)
		f(writes, false, errFull, stef.WithCompression(stef.Zstd), stef.WithRestart(stef.RestartAll))
	}
}

// If a program ignores the error of a writer and calls Write again and again, the dictionaries stay below
// their limit.
func TestDictSizeAfterError(t *testing.T) {
	const limit = 5000
	for _, options := range [][]stef.WriterOption{nil, {otelstef.CompactMetrics()}} {
		dst := &failing{writes: 2}
		w, err := otelstef.NewMetricsWriter(dst, append(options, stef.WithDictBytes(limit))...)
		require.NoError(t, err)
		require.NoError(t, w.Write())
		require.ErrorIs(t, w.Flush(), errFull)
		write := func(want error) {
			for i := range uint64(200) {
				number(w.Record(), i)
				w.Record().EditMetric().SetName(fmt.Sprint("name ", i))
				require.ErrorIs(t, w.Write(), want)
				require.Less(t, w.Stats().DictBytes, limit)
			}
		}
		write(errFull)
		require.ErrorIs(t, w.Close(), errFull)
		write(stef.ErrClosed)

		dst.writes = 10
		require.NoError(t, w.Reset(dst))
		number(w.Record(), 1)
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		require.Len(t, timestamps(t, dst.Bytes()[dst.Len()-int(w.Stats().Bytes):]), 1)
	}
}

// TestClose closes writers. Close writes the pending records, and later calls write
// nothing.
func TestClose(t *testing.T) {
	for _, c := range []stef.Compression{stef.None, stef.Zstd} {
		var out chunks
		w, err := otelstef.NewSpansWriter(&out, stef.WithCompression(c))
		require.NoError(t, err)
		require.Len(t, out, 2, "the headers are written at once")
		require.NoError(t, w.Flush())
		require.Len(t, out, 2, "there is nothing to flush")
		require.NoError(t, w.Write())
		require.Len(t, out, 2)
		require.Equal(t, stef.WriterStats{Records: 1, Bytes: w.Stats().Bytes, Compression: c}, w.Stats())
		waiting := w.BufferedBytes()
		require.Positive(t, waiting)
		require.NoError(t, w.Close())
		require.Len(t, out, 3)
		require.Zero(t, w.BufferedBytes())
		require.Equal(t, uint64(1), w.Stats().Flushed)
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Write(), stef.ErrClosed)
		require.ErrorIs(t, w.Flush(), stef.ErrClosed)
		require.NoError(t, w.Close())
		require.Len(t, out, 3)
	}
}

func TestSameBytes(t *testing.T) {
	user := map[string]string{}
	for _, word := range hosts {
		user[word] = word
	}
	eachRoot(t, func(t *testing.T, root *steftest.Root) {
		recs := steftest.Records(7, root.Schema, 50, steftest.Shape{})
		var first []byte
		for i := range 5 {
			stream, err := root.Write(recs, stef.WithUserData(user), stef.WithCompression(stef.Zstd), stef.WithDictBytes(2000))
			require.NoError(t, err)
			if i == 0 {
				first = stream
			}
			require.True(t, bytes.Equal(first, stream))
		}
	})
}

// TestResetWriter resets a writer that has written another stream, completely or in part. Then it writes a
// stream with it.
func TestResetWriter(t *testing.T) {
	options := []stef.WriterOption{stef.WithCompression(stef.Zstd), stef.WithRestart(stef.RestartAll), stef.WithFrameBytes(500)}
	fill := metricsFill()
	write := func(w *otelstef.MetricsWriter, from int) {
		t.Helper()
		for i := range 60 {
			fill(w.Record(), from+i)
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
	}
	var want bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&want, options...)
	require.NoError(t, err)
	write(w, 100)

	f := func(before func(w *otelstef.MetricsWriter)) {
		t.Helper()
		w, err := otelstef.NewMetricsWriter(io.Discard, options...)
		require.NoError(t, err)
		before(w)
		var out bytes.Buffer
		require.NoError(t, w.Reset(&out))
		require.True(t, w.Record().Equal(otelstef.NewMetrics()))
		require.Zero(t, w.Record().Modified())
		write(w, 100)
		require.Equal(t, len(want.Bytes()), out.Len())
		require.True(t, bytes.Equal(want.Bytes(), out.Bytes()))
	}
	f(func(*otelstef.MetricsWriter) {})
	f(func(w *otelstef.MetricsWriter) { write(w, 0) })
	f(func(w *otelstef.MetricsWriter) {
		fill(w.Record(), 3)
		require.NoError(t, w.Write())
		fill(w.Record(), 4)
	})
	f(func(w *otelstef.MetricsWriter) {
		require.NoError(t, w.Write())
		require.NoError(t, w.Flush()) // the next record must be sent as a whole
	})
	f(func(w *otelstef.MetricsWriter) {
		fillWide(w.Record().Attributes(), stef.MaxPairs+1)
		require.ErrorIs(t, w.Write(), stef.ErrLimit)
	})
	f(func(w *otelstef.MetricsWriter) { require.ErrorIs(t, w.Reset(&failing{}), errFull) })
}

// TestFailedReset: if Reset fails because the destination fails, the writer writes nothing afterwards.
func TestFailedReset(t *testing.T) {
	w, err := otelstef.NewMetricsWriter(io.Discard)
	require.NoError(t, err)
	require.NoError(t, w.Write())
	require.ErrorIs(t, w.Reset(&failing{writes: 1}), errFull)
	require.ErrorIs(t, w.Write(), errFull)
	require.ErrorIs(t, w.Flush(), errFull)
	require.Equal(t, uint64(0), w.Stats().Flushed)
	require.ErrorIs(t, w.Close(), errFull)
	require.ErrorIs(t, w.Write(), stef.ErrClosed)
}

func TestFrameSize(t *testing.T) {
	for _, size := range []int{1, 1000, 10_000, 100_000} {
		for _, l := range lives {
			var out chunks
			w, fill, err := l.open(&out, stef.WithFrameBytes(size))
			require.NoError(t, err)
			for i := range 4000 {
				fill(i % cycle)
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Close())
			if size == 1 {
				require.Len(t, out, 2+4000)
				continue
			}
			require.True(t, len(out) > 4 || size > 10_000, "%s", l.name)
			for _, frame := range out[2 : len(out)-1] {
				require.GreaterOrEqual(t, len(frame), size, "%s", l.name)
				require.Less(t, len(frame), size+size/10+2000, "%s", l.name)
			}
		}
	}
}

func TestDictSize(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, stef.WithDictBytes(20_000))
	require.NoError(t, err)
	for i := range 2000 {
		w.Record().EditMetric().SetName(words("name %d")[i%vocabulary] + hosts[i/vocabulary%vocabulary])
		number(w.Record(), uint64(i))
		require.NoError(t, w.Write())
		require.Less(t, w.Stats().DictBytes, 20_000+2000)
	}
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out, stef.WithLimits(stef.Limits{DictBytes: 22_000}))
	require.NoError(t, err)
	restarts := 0
	for frame := 1; r.Next(); {
		if n := r.Stats().Frames; n > frame {
			frame = n
			require.Equal(t, stef.RestartDictionaries, r.Stats().FrameFlags)
			restarts++
		}
	}
	require.NoError(t, r.Err())
	require.Greater(t, restarts, 10)
}

func TestAnnouncedSchemas(t *testing.T) {
	announced := func(stream []byte) bool { return stream[9] != 0 } // byte 9 is the size of the schema
	f := func(root *steftest.Root, want schema.WireSchema, announces bool, options ...stef.WriterOption) {
		t.Helper()
		recs := steftest.Records(3, root.Schema, 20, steftest.Shape{})
		stream, err := root.Write(recs, options...)
		require.NoError(t, err)
		require.Equal(t, announces, announced(stream))
		r, err := root.NewReader(bytes.NewReader(stream))
		require.NoError(t, err)
		require.Equal(t, want, r.Schema())
		kept, err := schema.Keep(root.Schema, want)
		require.NoError(t, err)
		for _, rec := range recs {
			require.True(t, r.Next())
			require.Empty(t, steftest.Diff(root.Schema, steftest.Cut(root.Schema, kept, rec), steftest.Value(r.Record(), root.Schema, nil)))
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
	}
	f(metricsRoot(t), otelstef.MetricsSchema(), true)
	f(metricsRoot(t), otelstef.MetricsBaseSchema(), false, otelstef.PublishedMetrics())
	f(metricsRoot(t), otelstef.MetricsBaseSchema(), true, otelstef.PublishedMetrics(), stef.WithSchemaHeader())
	f(spansRoot(t), otelstef.SpansSchema(), true)
	f(spansRoot(t), otelstef.SpansBaseSchema(), false, otelstef.PublishedSpans())
	f(spansRoot(t), otelstef.SpansBaseSchema(), true, otelstef.PublishedSpans(), stef.WithSchemaHeader())
	base := stef.WithSchema(otelstef.LogsBaseSchema())
	f(logsRoot(t), otelstef.LogsBaseSchema(), false, base)
	f(logsRoot(t), otelstef.LogsBaseSchema(), true, base, stef.WithSchemaHeader())
	f(logsRoot(t), otelstef.LogsSchema(), true, stef.WithSchemaHeader())
}

// If a record with a large text does not fit in the current frame, it begins the next frame. With all
// restart flags, this frame, too, can be decoded without earlier frames.
func TestLargeRecordInOwnFrame(t *testing.T) {
	large := strings.Repeat("x", 63<<20-150)
	for name, form := range map[string]stef.WriterOption{"full": stef.WithSchemaHeader(), "compact": otelstef.CompactLogs()} {
		t.Run(name, func(t *testing.T) {
			var chunks writes
			w, err := otelstef.NewLogsWriter(&chunks, form, stef.WithRestart(stef.RestartAll))
			require.NoError(t, err)
			rec := w.Record().Record()
			rec.SetSeverityText("INFO")
			rec.SetTraceID(bytes.Repeat([]byte("t"), 16))
			rec.Attributes().SetLen(1)
			rec.Attributes().SetString(0, "key", "value")
			for i := range 202 {
				rec.SetTime(uint64(i))
				if i == 200 {
					rec.Body().SetString(large)
				}
				require.NoError(t, w.Write())
				rec.Body().SetString("short")
			}
			require.NoError(t, w.Close())
			require.Equal(t, 5, len(chunks), "the headers, and a frame before, with and after the large record")
			for i, want := range map[int]uint64{3: 200, 4: 201} {
				r, err := otelstef.NewLogsReader(bytes.NewReader(slices.Concat(chunks[0], chunks[1], chunks[i])))
				require.NoError(t, err)
				require.True(t, r.Next(), r.Err())
				got := r.Record().Record()
				require.Equal(t, want, got.Time())
				require.Equal(t, "INFO", got.SeverityText())
				require.Equal(t, bytes.Repeat([]byte("t"), 16), got.TraceID())
				require.Equal(t, "value", got.Attributes().Value(0).Str())
			}
		})
	}
}

type writes [][]byte

func (w *writes) Write(b []byte) (int, error) {
	*w = append(*w, bytes.Clone(b))
	return len(b), nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// number sets a timestamp that distinguishes a record from others.
func number(rec *otelstef.Metrics, i uint64) { rec.Point().SetTimestamp(i) }

// timestamps reads a stream of metrics and returns the timestamps, which the function
// number has set.
func timestamps(t *testing.T, stream []byte) []uint64 {
	t.Helper()
	r, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
	require.NoError(t, err)
	var list []uint64
	for r.Next() {
		list = append(list, r.Record().Point().Timestamp())
	}
	require.NoError(t, r.Err())
	return list
}

func fillWide(m *otelstef.Attributes, n int) {
	m.SetLen(n)
	for i := range n {
		m.SetInt64(i, "k", int64(i))
	}
}

// TestOversizeMultimaps writes records with too many pairs in a multimap, for each multimap of a record.
// The writer refuses these records, does not change the stream, and continues.
func TestOversizeMultimaps(t *testing.T) {
	wide := otelstef.NewResource()
	fillWide(wide.Attributes(), stef.MaxPairs+1)
	f := func(grow, shrink func(rec *otelstef.Metrics)) {
		t.Helper()
		var out, plain bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out)
		require.NoError(t, err)
		p, err := otelstef.NewMetricsWriter(&plain)
		require.NoError(t, err)
		for i := range uint64(4) {
			number(w.Record(), i)
			number(p.Record(), i)
			if i%2 == 1 {
				grow(w.Record())
				for range 2 {
					require.ErrorIs(t, w.Write(), stef.ErrLimit)
				}
				shrink(w.Record())
			}
			require.NoError(t, w.Write())
			require.NoError(t, p.Write())
		}
		require.Equal(t, uint64(4), w.Stats().Records)
		require.NoError(t, w.Close())
		require.NoError(t, p.Close())
		require.Equal(t, []uint64{0, 1, 2, 3}, timestamps(t, out.Bytes()))
		require.Less(t, out.Len(), plain.Len()+400, "no more than everything sent again")
	}
	attributes := func(n int) func(rec *otelstef.Metrics) {
		return func(rec *otelstef.Metrics) { fillWide(rec.Attributes(), n) }
	}
	f(attributes(stef.MaxPairs+1), attributes(0))
	f(attributes(5000), attributes(1))
	f(func(rec *otelstef.Metrics) { rec.Envelope().Attributes().SetLen(2000) },
		func(rec *otelstef.Metrics) { rec.Envelope().Attributes().Reset() })
	f(func(rec *otelstef.Metrics) { fillWide(rec.Point().Exemplars().Append().FilteredAttributes(), 1024) },
		func(rec *otelstef.Metrics) { rec.Point().Exemplars().Reset() })
	f(func(rec *otelstef.Metrics) {
		rec.Attributes().SetLen(1)
		rec.Attributes().Value(0).SetArray().Append().SetKVList().SetLen(1024)
	}, func(rec *otelstef.Metrics) { rec.Attributes().Value(0).SetBool(true) })
	f(func(rec *otelstef.Metrics) { fillWide(rec.EditMetric().Metadata(), 1024) },
		func(rec *otelstef.Metrics) { fillWide(rec.EditMetric().Metadata(), 3) })
	f(func(rec *otelstef.Metrics) { rec.SetResource(wide) },
		func(rec *otelstef.Metrics) { rec.SetResource(otelstef.NewResource()) })
	f(func(rec *otelstef.Metrics) { rec.SetResource(wide) },
		func(rec *otelstef.Metrics) { fillWide(rec.EditResource().Attributes(), 5) })
	f(func(rec *otelstef.Metrics) {
		other := otelstef.NewMetrics()
		other.SetResource(wide)
		number(other, rec.Point().Timestamp())
		rec.CopyFrom(other)
	}, func(rec *otelstef.Metrics) {
		stamp := rec.Point().Timestamp()
		rec.Reset()
		number(rec, stamp)
	})
}

func TestWidestMultimap(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	fillWide(w.Record().Attributes(), stef.MaxPairs)
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())
	r, err := otelstef.NewMetricsReader(&out)
	require.NoError(t, err)
	require.True(t, r.Next(), "%v", r.Err())
	require.True(t, r.Record().Attributes().Equal(w.Record().Attributes()))
}

// TestHugeRecord writes a record that no frame can hold: the writer refuses it, and the
// records before and after it are read.
func TestHugeRecord(t *testing.T) {
	huge := strings.Repeat("x", 70<<20)
	f := func(name string, set, fix func(r *otelstef.Metrics)) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w, err := otelstef.NewMetricsWriter(&out)
			require.NoError(t, err)
			var want []uint64
			write := func(n uint64) {
				t.Helper()
				number(w.Record(), n)
				require.NoError(t, w.Write())
				want = append(want, n)
			}
			for i := range 100 {
				write(uint64(i + 1))
			}
			set(w.Record())
			require.ErrorIs(t, w.Write(), stef.ErrLimit)
			require.ErrorIs(t, w.Write(), stef.ErrLimit, "it is still too large")
			require.Equal(t, uint64(100), w.Stats().Records)
			fix(w.Record())
			write(101)
			require.NoError(t, w.Flush())
			write(102)
			require.NoError(t, w.Close())
			require.Equal(t, want, timestamps(t, out.Bytes()))
		})
	}
	f("text", func(r *otelstef.Metrics) { r.EditMetric().SetDescription(huge) },
		func(r *otelstef.Metrics) { r.EditMetric().SetDescription("") })
	f("value", func(r *otelstef.Metrics) { r.Attributes().AppendString("k", huge) },
		func(r *otelstef.Metrics) { r.Attributes().Reset() })
	f("key", func(r *otelstef.Metrics) { r.Attributes().AppendString(huge, "v") },
		func(r *otelstef.Metrics) { r.Attributes().Reset() })
	f("bytes", func(r *otelstef.Metrics) { r.Point().Exemplars().Append().SetSpanID([]byte(huge)) },
		func(r *otelstef.Metrics) { r.Point().Exemplars().Reset() })
	f("many", func(r *otelstef.Metrics) {
		for i := range 100 {
			r.Attributes().AppendString("k", huge[:1<<20-i])
		}
	}, func(r *otelstef.Metrics) { r.Attributes().Reset() })
	f("shared", func(r *otelstef.Metrics) {
		resource := otelstef.NewResource()
		resource.Attributes().AppendString("k", huge)
		r.SetResource(resource)
	}, func(r *otelstef.Metrics) { r.SetResource(otelstef.NewResource()) })
}

// A record gets its own frame if it is too large to share a frame with other records.
func TestLargeRecords(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out, stef.WithFrameBytes(stef.MaxFrameBytes-1<<20))
	require.NoError(t, err)
	large := strings.Repeat("x", 40<<20)
	for i := range 3 {
		w.Record().Record().Body().SetString(large[i:])
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())
	require.Equal(t, 3, w.Stats().Frames)
	r, err := otelstef.NewLogsReader(&out)
	require.NoError(t, err)
	for i := range 3 {
		require.True(t, r.Next(), "%v", r.Err())
		require.Len(t, r.Record().Record().Body().Str(), len(large)-i)
	}
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// TestReaderLimits reads a stream with each limit just below what the stream needs.
func TestReaderLimits(t *testing.T) {
	var out bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&out, stef.WithCompression(stef.Zstd), stef.WithWindowBytes(64<<10),
		stef.WithUserData(map[string]string{"key": strings.Repeat("v", 200)}))
	require.NoError(t, err)
	rec := w.Record()
	rec.EditMetric().SetName(strings.Repeat("name", 100))
	fillWide(rec.Attributes(), 1000)
	v := rec.Attributes().Value(0)
	for range 20 {
		v = v.SetArray().Append()
	}
	require.NoError(t, w.Write())
	require.NoError(t, w.Close())

	f := func(limits stef.Limits, want error, header bool) {
		t.Helper()
		r, err := otelstef.NewMetricsReader(bytes.NewReader(out.Bytes()), stef.WithLimits(limits))
		if header {
			require.ErrorIs(t, err, want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want == nil, r.Next())
		require.ErrorIs(t, r.Err(), want)
		if want != nil {
			requireTyped(t, r.Err())
		}
	}
	f(stef.Limits{}, nil, false)
	f(stef.Limits{HeaderBytes: 4000, FrameBytes: 20_000, DictBytes: 4000, RecordBytes: 1 << 20, Depth: 100, WindowBytes: 64 << 10}, nil, false)
	f(stef.Limits{HeaderBytes: 100}, stef.ErrLimit, true)
	f(stef.Limits{FrameBytes: 1000}, stef.ErrLimit, false)
	f(stef.Limits{DictBytes: 400}, stef.ErrLimit, false)
	f(stef.Limits{RecordBytes: 1000}, stef.ErrLimit, false)
	f(stef.Limits{Depth: 30}, stef.ErrLimit, false)
	f(stef.Limits{WindowBytes: 32 << 10}, stef.ErrLimit, false)
}

// TestDeepValues writes values that are nested about as deep as the limit of readers
// allows.
func TestDeepValues(t *testing.T) {
	f := func(depth int) error {
		var out bytes.Buffer
		w, err := otelstef.NewLogsWriter(&out)
		require.NoError(t, err)
		v := w.Record().Record().Body().SetValue()
		for range depth {
			v = v.SetArray().Append()
		}
		v.SetInt64(42)
		require.NoError(t, w.Write())
		require.NoError(t, w.Close())
		r, err := otelstef.NewLogsReader(&out)
		require.NoError(t, err)
		if r.Next() {
			require.True(t, w.Record().Equal(r.Record()))
		}
		return r.Err()
	}
	require.NoError(t, f(100))
	require.NoError(t, f(500))
	require.ErrorIs(t, f(1000), stef.ErrLimit)
	require.ErrorIs(t, f(100_000), stef.ErrLimit)
}

// TestOptionErrors passes invalid options. Writers then write nothing.
func TestOptionErrors(t *testing.T) {
	f := func(option stef.WriterOption, want error) {
		t.Helper()
		var out bytes.Buffer
		w, err := otelstef.NewMetricsWriter(&out, option)
		require.Error(t, err)
		require.Nil(t, w)
		if want != nil {
			require.ErrorIs(t, err, want)
		}
		require.Zero(t, out.Len())
	}
	whole := otelstef.MetricsSchema()
	newer := otelstef.MetricsSchema()
	newer[2]++
	f(stef.WithCompression(2), nil)
	f(stef.WithCompressionLevel(0), nil)
	f(stef.WithCompressionLevel(stef.LevelAuto+1), nil)
	f(stef.WithWindowBytes(1000), nil)
	f(stef.WithWindowBytes(16<<20), nil)
	f(stef.WithFrameBytes(0), nil)
	f(stef.WithFrameBytes(64<<20), nil)
	f(stef.WithDictBytes(-1), nil)
	f(stef.WithRestart(8), nil)
	f(stef.WithUserData(map[string]string{strings.Repeat("k", 257): ""}), nil)
	f(stef.WithUserData(map[string]string{"": strings.Repeat("v", 257)}), nil)
	f(stef.WithSchema(newer), stef.ErrSchema)
	f(stef.WithSchema(whole[:3]), stef.ErrSchema)
	f(stef.WithSchema(append(whole, 1)), stef.ErrSchema)
	f(stef.WithSchema([]int{0}), stef.ErrSchema)
	f(stef.WithSchema([]int{-1}), stef.ErrSchema)
	f(stef.WithSchema(otelstef.SpansSchema()), stef.ErrSchema)

	_, err := otelstef.NewMetricsReader(io.LimitReader(nil, 0), stef.WithLimits(stef.Limits{FrameBytes: -1}))
	require.Error(t, err)
	_, err = otelstef.NewMetricsReader(io.LimitReader(nil, 0), stef.WithLimits(stef.Limits{FrameBytes: 65 << 20}))
	require.Error(t, err)
}

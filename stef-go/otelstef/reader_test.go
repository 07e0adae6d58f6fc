// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/steftest"
)

func TestErrorsSayWhere(t *testing.T) {
	var out chunks
	w, err := otelstef.NewMetricsWriter(&out)
	require.NoError(t, err)
	for i := range uint64(6) {
		number(w.Record(), i)
		w.Record().EditMetric().SetName("name")
		require.NoError(t, w.Write())
		if i%2 == 1 {
			require.NoError(t, w.Flush())
		}
	}
	f := func(chunk int, damage func(b []byte) []byte, want stef.FormatError, records uint64, kind error) {
		t.Helper()
		var stream []byte
		at := int64(0)
		for i, b := range out {
			if i < chunk {
				at += int64(len(b))
			}
			if i == chunk {
				b = damage(bytes.Clone(b))
			}
			stream = append(stream, b...)
		}
		n, err := drain(metricsRoot(t), stream)
		require.Equal(t, records, n, "%v", err)
		var have *stef.FormatError
		require.ErrorAs(t, err, &have)
		require.ErrorIs(t, have, kind)
		want.Offset, want.Err = at, have.Err
		require.Equal(t, want, *have, "%v", err)
		require.Contains(t, err.Error(), have.Err.Error())
	}
	flip := func(at int, with byte) func(b []byte) []byte {
		return func(b []byte) []byte {
			if at < 0 {
				at += len(b)
			}
			b[at] ^= with
			return b
		}
	}
	f(0, flip(0, 1), stef.FormatError{Frame: -1}, 0, stef.ErrCorrupt)
	f(0, flip(5, 1), stef.FormatError{Frame: -1}, 0, stef.ErrVersion)
	f(0, flip(6, 2), stef.FormatError{Frame: -1}, 0, stef.ErrVersion)
	f(1, flip(0, 0x80), stef.FormatError{Frame: 0}, 0, stef.ErrCorrupt)
	f(1, flip(4, 1), stef.FormatError{Frame: 0}, 0, stef.ErrSchema)
	f(3, flip(0, 0x80), stef.FormatError{Frame: 2}, 2, stef.ErrCorrupt)
	f(4, func(b []byte) []byte { return b[:len(b)-1] }, stef.FormatError{Frame: 3}, 4, stef.ErrCorrupt)
	// The frame announces one record more than it has data for.
	f(3, flip(2, 1), stef.FormatError{Frame: 2, Column: "Metrics"}, 2, stef.ErrCorrupt)
	// The last varint of the last column is cut off.
	f(3, flip(-1, 0x80), stef.FormatError{Frame: 2, Record: 4, Column: "Metrics.Point.Timestamp"}, 3, stef.ErrCorrupt)
}

// TestRefusedSchemas reads streams whose headers announce a schema that the reader does
// not have, or an empty schema.
func TestRefusedSchemas(t *testing.T) {
	f := func(counts ...byte) {
		t.Helper()
		header := append(append([]byte{byte(1 + len(counts)), byte(len(counts))}, counts...), 0)
		stream := append([]byte{'S', 'T', 'E', 'F', 2, 0, 0, 0, byte(len(header))}, header...)
		_, err := otelstef.NewMetricsReader(bytes.NewReader(stream))
		require.ErrorIs(t, err, stef.ErrSchema)
		requireTyped(t, err)
		r, err := otelstef.NewMetricsReader(bytes.NewReader(writeStream(t, metricsRoot(t), 1, 1).bytes))
		require.NoError(t, err)
		require.ErrorIs(t, r.Reset(bytes.NewReader(stream)), stef.ErrSchema)
		require.False(t, r.Next())
	}
	f()
	f(0)
	f(7, 1)
	f(6)
	f(1, 1, 1)
	f(1)
	f(6, 1, 8, 7, 4, 4, 5, 5, 5, 5, 9, 2, 3, 2, 5, 3)
	f(6, 1, 8, 7, 4, 4, 5, 5, 5, 5, 9, 2, 3, 2, 5, 2, 1)
}

// TestRunAndBuffered calls Run and BufferedRecords, which tell about the next records. Then it reads these
// records and compares.
func TestRunAndBuffered(t *testing.T) {
	eachRoot(t, func(t *testing.T, root *steftest.Root) {
		s := writeStream(t, root, 9, 20)
		ahead, err := root.NewReader(bytes.NewReader(s.bytes))
		require.NoError(t, err)
		mask := uint64(1)<<len(root.Schema.Fields) - 1
		for ahead.Next() {
			rest := ahead.BufferedRecords()
			for fields := range mask + 1 {
				run := uint64(ahead.Run(fields))
				require.LessOrEqual(t, run, rest)
				if fields == 0 {
					require.Equal(t, rest, run)
				}
			}
		}
		require.NoError(t, ahead.Err())

		// Run returns the number of following records in which none of these fields is marked.
		// Reading the records one by one must find the same number.
		for fields := range mask + 1 {
			r, err := root.NewReader(bytes.NewReader(s.bytes))
			require.NoError(t, err)
			run, buffered := 0, uint64(0)
			for r.Next() {
				marked := modified(r.Record())&fields != 0
				if buffered > 0 {
					require.Equal(t, buffered-1, r.BufferedRecords())
					require.Equal(t, run == 0, marked)
				}
				run, buffered = max(run-1, 0), r.BufferedRecords()
				if buffered > 0 {
					run = r.Run(fields)
				}
			}
			require.NoError(t, r.Err())
		}
	})
}

// TestRunInCompactForm compares Run with the marks of the following records. A record in the
// compact form can change the point, the span or the log record although the root has no modified
// bit for it.
func TestRunInCompactForm(t *testing.T) {
	eachForm(t, func(t *testing.T, c compactForm) {
		for seed := range seeds(20) {
			r := rand.New(rand.NewPCG(seed, 8))
			stream := c.write(t, r, c.records(seed, 40), stef.WithCompression(stef.None))
			for i, f := range c.Schema.Fields {
				fields := uint64(1) << i
				d, err := c.NewReader(bytes.NewReader(stream))
				require.NoError(t, err)
				run, longest := 0, 0
				for n := 1; d.Next(); n++ {
					if run > 0 {
						require.Zero(t, modified(d.Record())&fields, "seed %d, %s of record %d", seed, f.Name, n)
					}
					run = max(run-1, d.Run(fields))
					longest = max(longest, run)
				}
				require.NoError(t, d.Err())
				if i < len(c.Schema.Fields)-1 && seed == 0 {
					require.Positive(t, longest, "%s", f.Name)
				}
			}
		}
	})
}

func modified(rec any) uint64 { return rec.(interface{ Modified() uint64 }).Modified() }

// TestResetReader resets a reader that has read another stream, completely or in part. Then it reads a
// stream with it.
func TestResetReader(t *testing.T) {
	root := metricsRoot(t)
	one := writeStream(t, root, 1, 3, stef.WithCompression(stef.Zstd))
	two := writeStream(t, root, 2, 3, otelstef.PublishedMetrics())
	three := writeStream(t, root, 3, 3, stef.WithUserData(map[string]string{"key": "value"}))
	read := func(r *otelstef.MetricsReader, s stream) {
		t.Helper()
		require.NoError(t, r.Reset(bytes.NewReader(s.bytes)))
		require.Zero(t, r.Stats().Records)
		want, err := root.Read(bytes.NewReader(s.bytes))
		require.NoError(t, err)
		for _, rec := range want {
			require.True(t, r.Next(), "%v", r.Err())
			require.Empty(t, steftest.Diff(root.Schema, rec, steftest.Value(r.Record(), root.Schema, nil)))
		}
		require.False(t, r.Next())
		require.NoError(t, r.Err())
		require.Equal(t, uint64(len(want)), r.Stats().Records)
		require.Equal(t, int64(len(s.bytes)), r.Stats().Bytes)
	}
	r, err := otelstef.NewMetricsReader(bytes.NewReader(three.bytes))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"key": "value"}, r.UserData())
	for _, s := range []stream{one, two, three, three, two, one, one} {
		read(r, s)
	}
	require.Empty(t, r.UserData())

	// Reset in the middle of a frame, after an error, and after Close.
	require.NoError(t, r.Reset(bytes.NewReader(three.bytes)))
	require.True(t, r.Next())
	read(r, two)
	require.NoError(t, r.Reset(bytes.NewReader(one.bytes[:len(one.bytes)-1])))
	for r.Next() {
	}
	require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
	read(r, three)
	r.Close()
	read(r, one)

	// Reset to a stream without headers fails, and the reader returns no records.
	require.ErrorIs(t, r.Reset(bytes.NewReader(nil)), stef.ErrCorrupt)
	require.False(t, r.Next())
	require.ErrorIs(t, r.Err(), stef.ErrCorrupt)
	require.Zero(t, r.Stats().Records)
	require.Empty(t, r.UserData())
	require.Zero(t, r.BufferedRecords())
	read(r, two)

	// Reset also works after a stream of a newer schema.
	spans := writeStream(t, spansRoot(t), 1, 1)
	require.ErrorIs(t, r.Reset(bytes.NewReader(spans.bytes)), stef.ErrSchema)
	require.False(t, r.Next())
	read(r, three)
}

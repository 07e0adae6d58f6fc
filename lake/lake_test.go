// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/internal/fixtures"
	"github.com/otelstef/stef/internal/teltest/canon"
	"github.com/otelstef/stef/internal/teltest/randtel"
	"github.com/otelstef/stef/lake"
)

var formats = []lake.Format{lake.Parquet, lake.Arrow}

func write(t testing.TB, f lake.Format, s lake.Signal, o lake.WriterOptions, batches ...lake.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, f, s, o)
	require.NoError(t, err)
	for _, b := range batches {
		switch s {
		case lake.Metrics:
			require.NoError(t, w.WriteMetrics(b.Metrics))
		case lake.Traces:
			require.NoError(t, w.WriteTraces(b.Traces))
		case lake.Logs:
			require.NoError(t, w.WriteLogs(b.Logs))
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func open(f lake.Format, content []byte, l lake.Limits) (*lake.Reader, error) {
	if f == lake.Parquet {
		return lake.NewParquetReader(bytes.NewReader(content), l)
	}
	return lake.NewArrowReader(bytes.NewReader(content), l)
}

func read(f lake.Format, content []byte, l lake.Limits) (batches []lake.Batch, err error) {
	r, err := open(f, content, l)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return batches, nil
		}
		if err != nil {
			return batches, err
		}
		batches = append(batches, b)
	}
}

func each[T any](batches []lake.Batch, of func(lake.Batch) T) []T {
	all := make([]T, len(batches))
	for i, b := range batches {
		all[i] = of(b)
	}
	return all
}

func diff(s lake.Signal, want, got []lake.Batch) string {
	switch s {
	case lake.Metrics:
		of := func(b lake.Batch) pmetric.Metrics { return b.Metrics }
		return canon.Diff(canon.Metrics(each(want, of)...), canon.Metrics(each(got, of)...))
	case lake.Traces:
		of := func(b lake.Batch) ptrace.Traces { return b.Traces }
		return canon.Diff(canon.Traces(each(want, of)...), canon.Traces(each(got, of)...))
	}
	of := func(b lake.Batch) plog.Logs { return b.Logs }
	return canon.Diff(canon.Logs(each(want, of)...), canon.Logs(each(got, of)...))
}

func random(s lake.Signal, r randtel.Random) lake.Batch {
	switch s {
	case lake.Metrics:
		return lake.Batch{Signal: s, Metrics: r.Metrics()}
	case lake.Traces:
		return lake.Batch{Signal: s, Traces: r.Traces()}
	}
	return lake.Batch{Signal: s, Logs: r.Logs()}
}

func recorded(t testing.TB, s lake.Signal) (batches []lake.Batch) {
	t.Helper()
	files := [...][]byte{lake.Metrics: fixtures.Metrics(), lake.Traces: fixtures.Traces(), lake.Logs: fixtures.Logs()}
	parts, err := fixtures.Parts(files[s])
	require.NoError(t, err)
	for _, part := range parts {
		b := lake.Batch{Signal: s}
		switch s {
		case lake.Metrics:
			b.Metrics, err = (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(part)
		case lake.Traces:
			b.Traces, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(part)
		case lake.Logs:
			b.Logs, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(part)
		}
		require.NoError(t, err)
		batches = append(batches, b)
	}
	return batches
}

func eachTable(t *testing.T, f func(t *testing.T, format lake.Format, s lake.Signal)) {
	for _, format := range formats {
		for _, s := range []lake.Signal{lake.Metrics, lake.Traces, lake.Logs} {
			t.Run(fmt.Sprintf("%s/%s", format, s), func(t *testing.T) { f(t, format, s) })
		}
	}
}

// TestRandomRoundTrip: any telemetry is read back bit by bit, from small and large row groups.
func TestRandomRoundTrip(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		for seed := range seeds {
			r := randtel.New(seed)
			var batches []lake.Batch
			for range 1 + r.IntN(4) {
				batches = append(batches, random(s, r))
			}
			o := lake.WriterOptions{RowGroupRows: randtel.Pick(r, 0, 1, 50), Columns: randtel.Pick(r, nil, []string{"host.name", "resource:a", "scope:b"})}
			got, err := read(f, write(t, f, s, o, batches...), lake.Limits{})
			require.NoError(t, err, "seed %d", seed)
			require.Empty(t, diff(s, batches, got), "seed %d", seed)
		}
	})
}

// TestRecordedRoundTrip: the recordings are read back unchanged. Only log records with bytes
// inside of their bodies need the column otlp.
func TestRecordedRoundTrip(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		batches := recorded(t, s)
		content := write(t, f, s, lake.WriterOptions{}, batches...)
		got, err := read(f, content, lake.Limits{})
		require.NoError(t, err)
		require.Empty(t, diff(s, batches, got))
		r, err := open(f, content, lake.Limits{})
		require.NoError(t, err)
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		require.Equal(t, io.EOF, err)
		require.Equal(t, uint64(withBytes(batches)), r.FromOTLP())
		require.Zero(t, r.Edited())
		if f == lake.Parquet {
			in, err := file.NewParquetReader(bytes.NewReader(content))
			require.NoError(t, err)
			group := in.MetaData().RowGroup(0)
			column := in.MetaData().Schema.ColumnIndexByName("otlp")
			chunk, err := group.ColumnChunk(column)
			require.NoError(t, err)
			stats, err := chunk.Statistics()
			require.NoError(t, err)
			require.Equal(t, group.NumRows()-withBytes(batches), stats.NullCount())
		}
	})
}

// withBytes counts the log records whose body is a map with bytes.
func withBytes(batches []lake.Batch) (n int64) {
	for _, b := range batches {
		if b.Signal != lake.Logs {
			continue
		}
		for _, rl := range b.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, lr := range sl.LogRecords().All() {
					if lr.Body().Type() != pcommon.ValueTypeMap {
						continue
					}
					for _, v := range lr.Body().Map().All() {
						if v.Type() == pcommon.ValueTypeBytes {
							n++
							break
						}
					}
				}
			}
		}
	}
	return n
}

func TestEmpty(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		r, err := open(f, write(t, f, s, lake.WriterOptions{}), lake.Limits{})
		require.NoError(t, err)
		require.Equal(t, s, r.Signal())
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
		r.Close()
	})
}

// TestRowGroups: row groups end at the limits.
func TestRowGroups(t *testing.T) {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := range 400 {
		records.AppendEmpty().Body().SetStr(strings.Repeat(fmt.Sprint(i%10), 100_000))
	}
	content := write(t, lake.Parquet, lake.Logs, lake.WriterOptions{RowGroupBytes: 8 << 20}, lake.Batch{Logs: ld})
	in, err := file.NewParquetReader(bytes.NewReader(content))
	require.NoError(t, err)
	require.Greater(t, in.NumRowGroups(), 4)
	require.EqualValues(t, 400, in.NumRows())
	_, err = read(lake.Parquet, content, lake.Limits{MemoryBytes: 1 << 20})
	require.ErrorIs(t, err, lake.ErrLimit)
}

func TestMistakes(t *testing.T) {
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, lake.Parquet, lake.Logs, lake.WriterOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, w.WriteTraces(ptrace.NewTraces()), lake.ErrSignal)
	_, err = lake.NewWriter(&out, lake.Parquet, lake.Logs, lake.WriterOptions{Columns: []string{"body"}})
	require.ErrorContains(t, err, `the table already has a column "body"`)
	_, err = lake.NewWriter(&out, lake.Parquet, lake.Logs, lake.WriterOptions{Columns: []string{"resource.a", "resource:a"}})
	require.ErrorContains(t, err, `the table already has a column "resource.a"`)
	_, err = lake.NewWriter(&out, lake.Parquet, lake.Logs, lake.WriterOptions{Columns: []string{"resource:a", "b", "resource:a"}})
	require.NoError(t, err)
	for _, f := range formats {
		for _, content := range []string{"", "PAR1", "no table", strings.Repeat("\xff", 100)} {
			_, err := read(f, []byte(content), lake.Limits{})
			require.ErrorIs(t, err, lake.ErrCorrupt, "%s %q", f, content)
		}
	}
}

// TestDamage: reading a file that is cut or changed at any place returns rows or a typed
// error, and never panics.
func TestDamage(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		content := write(t, f, s, lake.WriterOptions{RowGroupRows: 20}, random(s, randtel.New(3)), random(s, randtel.New(4)))
		rng := rand.New(rand.NewPCG(1, uint64(s)))
		for range rounds {
			damaged := bytes.Clone(content)
			if rng.IntN(2) == 0 {
				damaged = damaged[:rng.IntN(len(damaged))]
			}
			for range rng.IntN(4) {
				if len(damaged) > 0 {
					damaged[rng.IntN(len(damaged))] ^= byte(1 << rng.IntN(8))
				}
			}
			requireTyped(t, f, damaged)
		}
	})
}

// TestLostRows: a file has a number of rows that is too small, in a column or in an Arrow batch.
// Reading returns all rows or an error. The libraries alone would return fewer rows and no error.
func TestLostRows(t *testing.T) {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("a", "b")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for range 20 {
		records.AppendEmpty()
	}
	for _, c := range []struct {
		format lake.Format
		number []byte // the encoded number 20 and the bytes around it
		at     int
		fewer  byte
	}{
		{lake.Parquet, []byte{0x2c, 0x15, 40, 0x15}, 2, 32}, // the number is in the header of a data page, in the compact protocol of Thrift
		{lake.Arrow, []byte{20, 0, 0, 0, 0, 0, 0, 0}, 0, 16},
	} {
		content := write(t, c.format, lake.Logs, lake.WriterOptions{}, lake.Batch{Signal: lake.Logs, Logs: ld})
		numbers := bytes.Count(content, c.number)
		require.Greater(t, numbers, 15)
		for from := 0; numbers > 0; numbers-- {
			from += bytes.Index(content[from:], c.number) + 1
			damaged := bytes.Clone(content)
			damaged[from-1+c.at] = c.fewer
			batches, err := read(c.format, damaged, lake.Limits{})
			if err == nil {
				require.Equal(t, 20, batches[0].Logs.LogRecordCount(), "%s, offset %d", c.format, from)
			}
		}
	}
}

// requireTyped reads a file with any content. It fails if an error is not an error of this package.
func requireTyped(t testing.TB, f lake.Format, content []byte) {
	t.Helper()
	_, err := read(f, content, lake.Limits{MemoryBytes: 64 << 20})
	if err != nil {
		requireKind(t, err)
	}
}

func requireKind(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, lake.ErrCorrupt) && !errors.Is(err, lake.ErrSchema) && !errors.Is(err, lake.ErrLimit) {
		t.Fatalf("%T %v", err, err)
	}
}

func fuzz(f *testing.F, format lake.Format) {
	for _, s := range []lake.Signal{lake.Metrics, lake.Traces, lake.Logs} {
		f.Add(write(f, format, s, lake.WriterOptions{}, random(s, randtel.New(1))))
	}
	f.Fuzz(func(t *testing.T, content []byte) { requireTyped(t, format, content) })
}

func FuzzParquet(f *testing.F) { fuzz(f, lake.Parquet) }
func FuzzArrow(f *testing.F)   { fuzz(f, lake.Arrow) }

// TestRecordBatches: the rows of a builder contain the items, in memory and in files.
func TestRecordBatches(t *testing.T) {
	eachTable(t, func(t *testing.T, f lake.Format, s lake.Signal) {
		b, err := lake.NewBuilder(f, s, []string{"host.name"})
		require.NoError(t, err)
		defer b.Release()
		var out bytes.Buffer
		w, err := lake.NewWriter(&out, f, s, lake.WriterOptions{Columns: []string{"host.name"}, Uncompressed: true})
		require.NoError(t, err)
		batches := recorded(t, s)
		var inMemory []lake.Batch
		rows := uint64(0)
		for _, items := range batches {
			records, err := b.RecordBatches(items)
			require.NoError(t, err)
			for _, r := range records {
				require.True(t, r.Schema().Equal(b.Schema()))
				got, err := lake.Items(r)
				require.NoError(t, err)
				inMemory = append(inMemory, got)
				require.NoError(t, w.WriteRecordBatch(r))
				rows += uint64(r.NumRows())
			}
		}
		require.Equal(t, rows, w.Items())
		require.NoError(t, w.Close())
		require.Empty(t, diff(s, batches, inMemory))
		got, err := read(f, out.Bytes(), lake.Limits{})
		require.NoError(t, err)
		require.Empty(t, diff(s, batches, got))

		r, err := open(f, out.Bytes(), lake.Limits{})
		require.NoError(t, err)
		defer r.Close()
		read := uint64(0)
		for {
			batch, err := r.NextRecordBatch()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			read += uint64(batch.NumRows())
		}
		require.Equal(t, rows, read)

		other, err := lake.NewWriter(io.Discard, f, s, lake.WriterOptions{})
		require.NoError(t, err)
		records, err := b.RecordBatches(batches[0])
		require.NoError(t, err)
		require.ErrorIs(t, other.WriteRecordBatch(records[0]), lake.ErrSchema)
		_, err = b.RecordBatches(lake.Batch{Signal: (s + 1) % 3})
		require.ErrorIs(t, err, lake.ErrSignal)
	})
	empty := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 0)
	defer empty.Release()
	_, err := lake.Items(empty)
	require.ErrorIs(t, err, lake.ErrSchema)
	_, err = lake.NewBuilder(lake.Arrow, lake.Logs, []string{"body"})
	require.ErrorContains(t, err, `the table already has a column "body"`)
}

// TestArrowCut: reading an Arrow stream that is cut within a batch returns an error, even if the
// cut is between the dictionaries and the rows of the batch.
func TestArrowCut(t *testing.T) {
	batches := recorded(t, lake.Logs)[:2]
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, lake.Arrow, lake.Logs, lake.WriterOptions{})
	require.NoError(t, err)
	whole := []int{0} // the offsets at which batches end
	for _, b := range batches {
		require.NoError(t, w.Write(b))
		require.NoError(t, w.Flush())
		whole = append(whole, out.Len())
	}
	require.NoError(t, w.Close())
	schema := bytes.Index(out.Bytes()[8:], []byte{0xff, 0xff, 0xff, 0xff}) + 8
	for cut := schema + 1; cut < out.Len(); cut++ {
		if cut%997 != 0 && !bytes.HasPrefix(out.Bytes()[cut:], []byte{0xff, 0xff, 0xff, 0xff}) {
			continue
		}
		r, err := lake.NewArrowReader(bytes.NewReader(out.Bytes()[:cut]), lake.Limits{})
		require.NoError(t, err)
		for range batches {
			if _, err = r.Next(); err != nil {
				break
			}
		}
		if err == nil {
			_, err = r.Next()
		}
		if r.Close(); slices.Contains(whole, cut) {
			require.Equal(t, io.EOF, err)
		} else if cut < whole[2] {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d", cut)
		}
	}
}

// TestFlush: a reader of an Arrow stream receives the rows before Flush while the stream is
// still being written.
func TestFlush(t *testing.T) {
	batches := recorded(t, lake.Logs)
	var out bytes.Buffer
	w, err := lake.NewWriter(&out, lake.Arrow, lake.Logs, lake.WriterOptions{})
	require.NoError(t, err)
	var r *lake.Reader
	for _, want := range batches[:3] {
		require.NoError(t, w.Write(want))
		require.NoError(t, w.Flush())
		if r == nil {
			r, err = lake.NewArrowReader(&out, lake.Limits{})
			require.NoError(t, err)
			defer r.Close()
		}
		got, err := r.Next()
		require.NoError(t, err)
		require.Empty(t, diff(lake.Logs, []lake.Batch{want}, []lake.Batch{got}))
		require.Zero(t, out.Len())
	}
	require.NoError(t, w.Close())
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
}

// EmptyColumns returns each key that no item has, as the caller wrote it. If the attribute is in
// another place (resource, scope or item), EmptyColumns also returns its key for that place.
func TestEmptyColumns(t *testing.T) {
	w, err := lake.NewWriter(io.Discard, lake.Arrow, lake.Logs, lake.WriterOptions{Columns: []string{"a", "resource:a", "scope:a", "b"}})
	require.NoError(t, err)
	require.Equal(t, []lake.EmptyColumn{{Key: "a"}, {Key: "resource:a"}, {Key: "scope:a"}, {Key: "b"}}, w.EmptyColumns())
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Attributes().PutStr("a", "")
	require.NoError(t, w.WriteLogs(ld))
	require.Equal(t, []lake.EmptyColumn{{Key: "resource:a", Meant: "a"}, {Key: "scope:a", Meant: "a"}, {Key: "b"}}, w.EmptyColumns())
	rl.Resource().Attributes().PutInt("a", 1)
	require.NoError(t, w.WriteLogs(ld))
	require.Equal(t, []lake.EmptyColumn{{Key: "scope:a", Meant: "a"}, {Key: "b"}}, w.EmptyColumns())
	rl.ScopeLogs().At(0).Scope().Attributes().PutStr("b", "")
	require.NoError(t, w.WriteLogs(ld))
	require.Equal(t, []lake.EmptyColumn{{Key: "scope:a", Meant: "a"}, {Key: "b", Meant: "scope:b"}}, w.EmptyColumns())
	require.NoError(t, w.Close())

	w, err = lake.NewWriter(io.Discard, lake.Arrow, lake.Logs, lake.WriterOptions{Columns: []string{"resource.a", "scope.b", "resource.b", "scope:scope.b"}})
	require.NoError(t, err)
	require.NoError(t, w.WriteLogs(ld))
	require.Equal(t, []lake.EmptyColumn{{Key: "resource.a", Meant: "resource:a"}, {Key: "scope.b", Meant: "scope:b"}, {Key: "resource.b"}, {Key: "scope:scope.b"}}, w.EmptyColumns())
	require.NoError(t, w.Close())
}

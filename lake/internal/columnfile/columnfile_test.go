// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	text  = arrow.BinaryTypes.String
	words = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: text}
)

func optional(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// sharedFields are the columns that runs of rows share. Text is of type t.
func sharedFields(t arrow.DataType) []arrow.Field {
	return []arrow.Field{optional("service", t), optional("pairs", arrow.MapOf(t, t)), optional("count", arrow.PrimitiveTypes.Uint32)}
}

// rowFields have all types and nestings of package lake.
func rowFields(t arrow.DataType) []arrow.Field {
	return []arrow.Field{
		optional("name", t), optional("body", text), optional("raw", arrow.BinaryTypes.Binary),
		optional("time", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}),
		optional("i32", arrow.PrimitiveTypes.Int32), optional("i64", arrow.PrimitiveTypes.Int64),
		optional("u32", arrow.PrimitiveTypes.Uint32), optional("u64", arrow.PrimitiveTypes.Uint64),
		optional("double", arrow.PrimitiveTypes.Float64), optional("flag", arrow.FixedWidthTypes.Boolean),
		optional("id16", &arrow.FixedSizeBinaryType{ByteWidth: 16}), optional("id8", &arrow.FixedSizeBinaryType{ByteWidth: 8}),
		optional("buckets", arrow.ListOf(arrow.PrimitiveTypes.Uint64)), optional("attributes", arrow.MapOf(t, t)),
		optional("events", arrow.ListOf(arrow.StructOf(optional("time", arrow.PrimitiveTypes.Int64), optional("name", t),
			optional("attributes", arrow.MapOf(t, t)), optional("id", &arrow.FixedSizeBinaryType{ByteWidth: 8})))),
	}
}

// maker creates random values. distinct is the number of different texts.
type maker struct {
	*rand.Rand
	distinct int
}

func (m *maker) text() string { return fmt.Sprintf("text %d", m.IntN(m.distinct)) }

func (m *maker) add(b array.Builder, nullable bool) {
	if nullable && m.IntN(4) == 0 {
		b.AppendNull()
		return
	}
	n := m.IntN(4)
	if m.IntN(10) == 0 {
		n = 40 // enough for runs of equal levels and for whole groups of eight
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(m.text())
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(m.text()); err != nil {
			panic(err)
		}
	case *array.BinaryBuilder:
		b.Append([]byte(m.text()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(m.Int64()))
	case *array.Int32Builder:
		b.Append(int32(m.IntN(9)) - 4)
	case *array.Int64Builder:
		b.Append(m.Int64() - 1<<62)
	case *array.Uint32Builder:
		b.Append(uint32(m.IntN(3)) << 30)
	case *array.Uint64Builder:
		b.Append(m.Uint64() >> m.IntN(64))
	case *array.Float64Builder:
		b.Append([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), m.NormFloat64()}[m.IntN(5)])
	case *array.BooleanBuilder:
		b.Append(n == 0)
	case *array.FixedSizeBinaryBuilder:
		id := make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)
		id[0], id[len(id)-1] = byte(m.IntN(m.distinct)), byte(m.IntN(3))
		b.Append(id)
	case *array.MapBuilder:
		b.Append(true)
		for range n {
			m.add(b.KeyBuilder(), false)
			m.add(b.ItemBuilder(), true)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range n {
			m.add(b.ValueBuilder(), true)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			m.add(b.FieldBuilder(i), true)
		}
	default:
		panic(fmt.Sprintf("%T", b))
	}
}

func (m *maker) batch(fields []arrow.Field, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for range rows {
		for i := range fields {
			m.add(b.Field(i), true)
		}
	}
	return b.NewRecordBatch()
}

// repeated returns the values of a column as text. It repeats the value of row i runs[i]
// times. If runs is nil, each row has one value.
func repeated(a arrow.Array, runs []int) (rows []string) {
	for i := range a.Len() {
		n := 1
		if runs != nil {
			n = runs[i]
		}
		for range n {
			rows = append(rows, a.ValueStr(i))
		}
	}
	return rows
}

// readBack returns the columns of a file, with one text for each row.
func readBack(t *testing.T, content []byte) (columns [][]string, meta *metadata.FileMetaData) {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(content))
	require.NoError(t, err)
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	table, err := r.ReadTable(context.Background())
	require.NoError(t, err)
	defer table.Release()
	for i := range int(table.NumCols()) {
		var rows []string
		for _, chunk := range table.Column(i).Data().Chunks() {
			rows = append(rows, repeated(chunk, nil)...)
		}
		columns = append(columns, rows)
	}
	return columns, f.MetaData()
}

func options(uncompressed bool) Options {
	return Options{Uncompressed: uncompressed, CreatedBy: "columnfile test", Plain: []string{"double", "time", "raw"}}
}

// TestRandomTables writes random tables of all types and nestings, with and without
// dictionaries and runs, in several batches and row groups. The Parquet library of Arrow
// must read them back as they were written. The bytes must not depend on the number of
// goroutines.
func TestRandomTables(t *testing.T) {
	schema := arrow.NewSchema(append(sharedFields(text), rowFields(text)...), nil)
	seeds := 12
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		m := &maker{rand.New(rand.NewPCG(uint64(seed), 1)), []int{1, 2, 30, 3000}[seed%4]}
		of := []arrow.DataType{text, words}[seed%2]
		uncompressed := seed%3 == 2
		var tables []Table
		want := make([][]string, schema.NumFields())
		for range 3 {
			var runs []int
			n := 1 + m.IntN(300)
			rows := 0
			for range n {
				runs = append(runs, 1+m.IntN(4))
				rows += runs[len(runs)-1]
			}
			table := Table{Rows: m.batch(rowFields(of), rows), Shared: m.batch(sharedFields(of), n), Runs: runs}
			for i := range want {
				if i < len(sharedFields(of)) {
					want[i] = append(want[i], repeated(table.Shared.Column(i), runs)...)
				} else {
					want[i] = append(want[i], repeated(table.Rows.Column(i-len(sharedFields(of))), nil)...)
				}
			}
			tables = append(tables, table)
		}
		write := func(procs int) []byte {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var out bytes.Buffer
			w, err := NewWriter(&out, schema, options(uncompressed))
			require.NoError(t, err)
			for i, table := range tables {
				table.Rows.Retain()
				table.Shared.Retain()
				require.NoError(t, w.Write(table))
				if i == 1 {
					require.NoError(t, w.EndRowGroup())
				}
			}
			require.NoError(t, w.Close())
			return out.Bytes()
		}
		content := write(1)
		require.Equal(t, content, write(4), "seed %d", seed)
		got, meta := readBack(t, content)
		for i := range want {
			require.Equal(t, want[i], got[i], "seed %d, column %s", seed, schema.Field(i).Name)
		}
		require.Len(t, meta.RowGroups, 2)
	}
}

// If a table is a slice of a batch, only the rows of the slice are written.
func TestSlices(t *testing.T) {
	m := &maker{rand.New(rand.NewPCG(7, 1)), 20}
	batch := m.batch(rowFields(text), 100)
	part := batch.NewSlice(33, 78)
	var out bytes.Buffer
	w, err := NewWriter(&out, part.Schema(), options(false))
	require.NoError(t, err)
	want := make([][]string, part.NumCols())
	for i := range want {
		want[i] = repeated(part.Column(i), nil)
	}
	require.NoError(t, w.Write(Table{Rows: part}))
	require.NoError(t, w.Close())
	got, _ := readBack(t, out.Bytes())
	require.Equal(t, want, got)
}

// If a dictionary exceeds maxDictionary, later values are written without a dictionary. The next
// row group begins with a dictionary again.
func TestLargeDictionary(t *testing.T) {
	fields := []arrow.Field{optional("text", text), optional("number", arrow.PrimitiveTypes.Int64)}
	schema := arrow.NewSchema(fields, nil)
	const batches = 6
	write := func() []byte {
		var out bytes.Buffer
		w, err := NewWriter(&out, schema, options(false))
		require.NoError(t, err)
		n := 0
		for group := range 2 {
			for range batches {
				b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
				for range 8192 {
					n++
					b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("a text that no other row has: %d", n))
					b.Field(1).(*array.Int64Builder).Append(int64(n * group))
				}
				require.NoError(t, w.Write(Table{Rows: b.NewRecordBatch()}))
				b.Release()
			}
			require.NoError(t, w.EndRowGroup())
		}
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	content := write()
	for range 5 {
		require.Equal(t, content, write(), "the encodings are listed in one order")
	}
	got, meta := readBack(t, content)
	for i, row := range got[0] {
		if row != fmt.Sprintf("a text that no other row has: %d", i+1) {
			t.Fatalf("row %d is %s", i, row)
		}
	}
	for group := range 2 {
		c, err := meta.RowGroup(group).ColumnChunk(0)
		require.NoError(t, err)
		require.Equal(t, []parquet.Encoding{parquet.Encodings.RLEDict, parquet.Encodings.Plain, parquet.Encodings.RLE, parquet.Encodings.Plain}, c.Encodings())
		statistics, err := c.Statistics()
		require.NoError(t, err)
		first, last := 8192*batches*group+1, 8192*batches*(group+1)
		low, high := statistics.(*metadata.ByteArrayStatistics).Min(), statistics.(*metadata.ByteArrayStatistics).Max()
		for n := first; n <= last; n++ { // all values, with and without the dictionary
			if v := got[0][n-1]; v < string(low) || v > string(high) {
				t.Fatalf("%s is not between %s and %s", v, low, high)
			}
		}
	}
}

// Doubles keep their bits, and limits have no NaN.
func TestDoublesAndLimits(t *testing.T) {
	fields := []arrow.Field{optional("double", arrow.PrimitiveTypes.Float64), optional("u32", arrow.PrimitiveTypes.Uint32), optional("i32", arrow.PrimitiveTypes.Int32), optional("nothing", text)}
	schema := arrow.NewSchema(fields, nil)
	nan := math.Float64frombits(0x7ff8000000000123)
	doubles := []float64{nan, math.NaN(), 0, 2, math.Copysign(0, -1)}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, d := range doubles {
		b.Field(0).(*array.Float64Builder).Append(d)
		b.Field(1).(*array.Uint32Builder).Append([]uint32{1, 1 << 31, 7, 7, 7}[i])
		b.Field(2).(*array.Int32Builder).Append([]int32{1, -1, 7, 7, 7}[i])
		b.Field(3).AppendNull()
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, schema, options(true))
	require.NoError(t, err)
	require.NoError(t, w.Write(Table{Rows: b.NewRecordBatch()}))
	require.NoError(t, w.Close())

	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	r, err := f.RowGroup(0).Column(0)
	require.NoError(t, err)
	values, levels := make([]float64, 5), make([]int16, 5)
	_, _, err = r.(*file.Float64ColumnChunkReader).ReadBatch(5, values, levels, nil)
	require.NoError(t, err)
	for i, d := range doubles {
		require.Equal(t, math.Float64bits(d), math.Float64bits(values[i]))
	}
	statistics := func(i int) metadata.TypedStatistics {
		c, err := f.MetaData().RowGroup(0).ColumnChunk(i)
		require.NoError(t, err)
		s, err := c.Statistics()
		require.NoError(t, err)
		return s
	}
	d := statistics(0).(*metadata.Float64Statistics)
	require.Equal(t, []any{math.Float64bits(math.Copysign(0, -1)), 2.0}, []any{math.Float64bits(d.Min()), d.Max()})
	u := statistics(1).(*metadata.Int32Statistics)
	require.Equal(t, []uint32{1, 1 << 31}, []uint32{uint32(u.Min()), uint32(u.Max())})
	i := statistics(2).(*metadata.Int32Statistics)
	require.Equal(t, []int32{-1, 7}, []int32{i.Min(), i.Max()})
	none := statistics(3)
	require.False(t, none.HasMinMax())
	require.EqualValues(t, 5, none.NullCount())
}

// The limits include empty texts, even if the first value is empty.
func TestLimitsOfEmptyTexts(t *testing.T) {
	for _, texts := range [][]string{{"", "b", "a"}, {"b", "", "a"}, {""}} {
		schema := arrow.NewSchema([]arrow.Field{optional("plain", text), optional("words", text)}, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, s := range texts {
			b.Field(0).(*array.StringBuilder).Append(s)
			b.Field(1).(*array.StringBuilder).Append(s)
		}
		var out bytes.Buffer
		o := options(true)
		o.Plain = []string{"plain"}
		w, err := NewWriter(&out, schema, o)
		require.NoError(t, err)
		require.NoError(t, w.Write(Table{Rows: b.NewRecordBatch()}))
		require.NoError(t, w.Close())
		b.Release()
		f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		for i := range 2 {
			c, err := f.MetaData().RowGroup(0).ColumnChunk(i)
			require.NoError(t, err)
			s, err := c.Statistics()
			require.NoError(t, err)
			limits := s.(*metadata.ByteArrayStatistics)
			require.True(t, limits.HasMinMax())
			require.Equal(t, slices.Min(texts), string(limits.Min()))
			require.Equal(t, slices.Max(texts), string(limits.Max()))
		}
	}
}

// A file without rows has the schema.
func TestEmpty(t *testing.T) {
	schema := arrow.NewSchema(rowFields(text), nil)
	var out bytes.Buffer
	w, err := NewWriter(&out, schema, options(false))
	require.NoError(t, err)
	require.NoError(t, w.EndRowGroup())
	require.NoError(t, w.Close())
	columns, meta := readBack(t, out.Bytes())
	require.Len(t, columns, schema.NumFields())
	require.Empty(t, meta.RowGroups)
}

// failing is a writer that fails after the given number of bytes.
type failing int

var errFull = errors.New("the disk is full")

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// Errors of the destination and panics while encoding are returned.
func TestErrors(t *testing.T) {
	m := &maker{rand.New(rand.NewPCG(3, 1)), 20}
	schema := arrow.NewSchema(rowFields(text), nil)
	for _, room := range []failing{0, 10, 1000} {
		w, err := NewWriter(&room, schema, options(false))
		if err == nil {
			require.NoError(t, w.Write(Table{Rows: m.batch(rowFields(text), 100)}))
			err = w.Close()
		}
		require.ErrorIs(t, err, errFull)
	}
	w, err := NewWriter(&bytes.Buffer{}, schema, options(false))
	require.NoError(t, err)
	require.NoError(t, w.Write(Table{Rows: m.batch(rowFields(text)[:3], 100)}), "columns are missing")
	require.ErrorContains(t, w.Close(), "columnfile: ")
	_, err = NewWriter(&bytes.Buffer{}, arrow.NewSchema([]arrow.Field{optional("x", arrow.PrimitiveTypes.Int8)}, nil), Options{})
	require.ErrorContains(t, err, "column x has the unsupported type int8")
}

// FuzzHybrid: values of any width are encoded as the format specifies, so decodeHybrid returns
// them.
func FuzzHybrid(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, 3)
	f.Add(bytes.Repeat([]byte{0, 1, 1}, 30), 1)
	f.Add(append(bytes.Repeat([]byte{0}, 300), 7), 20)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, raw []byte, width int) {
		width = 1 + int(uint(width)%32)
		values := make([]uint32, len(raw))
		for i, v := range raw {
			values[i] = (uint32(v) * 0x01010101) & (1<<width - 1)
		}
		require.Equal(t, values, decodeHybrid(t, appendHybrid(nil, values, width), width, len(values)))
		if width <= 8 {
			levels := make([]uint8, len(raw))
			for i, v := range values {
				levels[i] = uint8(v)
			}
			require.Equal(t, appendHybrid(nil, values, width), appendHybrid(nil, levels, width))
		}
	})
}

// decodeHybrid decodes n values, bit by bit.
func decodeHybrid(t *testing.T, b []byte, width, n int) []uint32 {
	values := []uint32{}
	for len(b) > 0 {
		header, shift := 0, 0
		for {
			c := b[0]
			b = b[1:]
			header |= int(c&0x7f) << shift
			shift += 7
			if c < 0x80 {
				break
			}
		}
		if header&1 == 0 {
			size := (width + 7) / 8
			v := uint32(0)
			for i := range size {
				v |= uint32(b[i]) << (8 * i)
			}
			b = b[size:]
			for range header >> 1 {
				values = append(values, v)
			}
			continue
		}
		size := header >> 1 * width
		for i := range header >> 1 * 8 {
			v := uint32(0)
			for j := range width {
				at := i*width + j
				v |= uint32(b[at/8]>>(at%8)&1) << j
			}
			values = append(values, v)
		}
		b = b[size:]
	}
	require.GreaterOrEqual(t, len(values), n)
	require.Less(t, len(values), n+8)
	return values[:n]
}

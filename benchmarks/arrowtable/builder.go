// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"errors"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/benchmarks/nested"
)

// Builder makes record batches. It keeps its dictionaries between batches.
type Builder struct {
	records *array.RecordBuilder
	tables  []*appender
	scratch []byte
	err     error
}

// NewBuilder returns a builder for a schema.
func NewBuilder(schema *arrow.Schema) *Builder {
	b := &Builder{records: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	for _, f := range b.records.Fields() {
		rows := f.(*array.ListBuilder).ValueBuilder().(*array.StructBuilder)
		t := &appender{b: b, rows: rows}
		for i := range rows.NumField() {
			t.fields = append(t.fields, rows.FieldBuilder(i))
		}
		b.tables = append(b.tables, t)
	}
	return b
}

// Close frees the memory of the dictionaries.
func (b *Builder) Close() { b.records.Release() }

var errCount = errors.New("arrowtable: more children than their number can say")

// begin begins the lists that hold the tables.
func (b *Builder) begin() {
	for _, f := range b.records.Fields() {
		f.(*array.ListBuilder).Append(true)
	}
}

func (b *Builder) batch() (arrow.RecordBatch, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.records.NewRecordBatch(), nil
}

// appender appends rows to a table. next begins a row; append to each of its
// columns before the next call.
type appender struct {
	b      *Builder
	rows   *array.StructBuilder
	fields []array.Builder
}

func (b *Builder) next(table int) *appender {
	t := b.tables[table]
	t.rows.Append(true)
	return t
}

func (t *appender) word(i int, v string) {
	// The dictionary copies the values it keeps. A nil slice would be a null.
	bytes := []byte{}
	if v != "" {
		bytes = unsafe.Slice(unsafe.StringData(v), len(v))
	}
	if err := t.fields[i].(*array.BinaryDictionaryBuilder).Append(bytes); err != nil && t.b.err == nil {
		t.b.err = err
	}
}

func (t *appender) i32(i int, v int32)   { t.fields[i].(*array.Int32Builder).Append(v) }
func (t *appender) i64(i int, v int64)   { t.fields[i].(*array.Int64Builder).Append(v) }
func (t *appender) u8(i int, v uint8)    { t.fields[i].(*array.Uint8Builder).Append(v) }
func (t *appender) u32(i int, v uint32)  { t.fields[i].(*array.Uint32Builder).Append(v) }
func (t *appender) u64(i int, v uint64)  { t.fields[i].(*array.Uint64Builder).Append(v) }
func (t *appender) f64(i int, v float64) { t.fields[i].(*array.Float64Builder).Append(v) }
func (t *appender) flag(i int, v bool)   { t.fields[i].(*array.BooleanBuilder).Append(v) }
func (t *appender) text(i int, v string) { t.fields[i].(*array.StringBuilder).Append(v) }
func (t *appender) traceID(i int, v [16]byte) {
	t.fields[i].(*array.FixedSizeBinaryBuilder).Append(v[:])
}
func (t *appender) spanID(i int, v [8]byte) { t.fields[i].(*array.FixedSizeBinaryBuilder).Append(v[:]) }
func (t *appender) children(i int, n int)   { t.u32(i, uint32(n)) }

// few is children for small counts; it halves the bytes.
func (t *appender) few(i int, n int) {
	if n > math.MaxUint16 {
		t.b.err = errCount
	}
	t.fields[i].(*array.Uint16Builder).Append(uint16(n))
}

func (t *appender) time(i int, v pcommon.Timestamp) {
	t.fields[i].(*array.TimestampBuilder).Append(arrow.Timestamp(v))
}

func (t *appender) blob(i int, v []byte) {
	if v == nil {
		v = []byte{}
	}
	t.fields[i].(*array.BinaryBuilder).Append(v)
}

func (t *appender) optional(i int, has bool, v float64) {
	if !has {
		t.fields[i].AppendNull()
		return
	}
	t.f64(i, v)
}

// attributes appends attributes to a table of texts and to the table of other
// values, which is the next one. It appends their numbers to t.
func (t *appender) attributes(texts int, m pcommon.Map) {
	n := 0
	for k, v := range m.All() {
		if v.Type() == pcommon.ValueTypeStr {
			pair := t.b.next(texts)
			pair.word(textKey, k)
			pair.word(textValue, v.Str())
			n++
			continue
		}
		t.b.next(texts+1).other(k, v)
	}
	t.few(ownTexts, n)
	t.few(ownOthers, m.Len()-n)
}

// other appends a value that is not text.
func (t *appender) other(key string, v pcommon.Value) {
	var whole int64
	var double float64
	var bytes []byte
	switch v.Type() {
	case pcommon.ValueTypeBool:
		if v.Bool() {
			whole = 1
		}
	case pcommon.ValueTypeInt:
		whole = v.Int()
	case pcommon.ValueTypeDouble:
		double = v.Double()
	case pcommon.ValueTypeBytes:
		bytes = v.Bytes().AsRaw()
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		t.b.scratch = nested.Append(t.b.scratch[:0], v)
		bytes = t.b.scratch
	}
	t.word(otherKey, key)
	t.u8(otherKind, uint8(v.Type()))
	t.i64(otherInt, whole)
	t.f64(otherDouble, double)
	t.blob(otherBytes, bytes)
}

func (b *Builder) resource(r pcommon.Resource, schemaURL string, children int) {
	t := b.next(resources)
	t.attributes(containerTexts, r.Attributes())
	t.word(resourceSchemaURL, schemaURL)
	t.u32(resourceDropped, r.DroppedAttributesCount())
	t.children(resourceScopes, children)
}

func (b *Builder) scope(s pcommon.InstrumentationScope, schemaURL string, children int) {
	t := b.next(scopes)
	t.attributes(containerTexts, s.Attributes())
	t.word(scopeName, s.Name())
	t.word(scopeVersion, s.Version())
	t.word(scopeSchemaURL, schemaURL)
	t.u32(scopeDropped, s.DroppedAttributesCount())
	t.children(scopeItems, children)
}

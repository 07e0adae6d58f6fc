// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/benchmarks/nested"
)

// errShort is the error for a table with fewer rows than its parents announce.
var errShort = errors.New("arrowtable: a table is too short")

// reader reads the tables of a record batch. The IPC reader has already checked
// the column types against the schema. Text is not copied.
type reader []*cursor

// cursor is the next row of a table.
type cursor struct {
	row, rows int
	columns   []column
}

type column struct {
	array arrow.Array
	dict  *array.String
	wide  []uint32
	slim  []uint16
}

func newReader(batch arrow.RecordBatch) (reader, error) {
	if batch.NumRows() != 1 {
		return nil, fmt.Errorf("arrowtable: %d rows", batch.NumRows())
	}
	var r reader
	for _, c := range batch.Columns() {
		rows := c.(*array.List).ListValues().(*array.Struct)
		t := &cursor{row: -1, rows: rows.Len()}
		for i := range rows.NumField() {
			t.columns = append(t.columns, open(rows.Field(i)))
		}
		r = append(r, t)
	}
	return r, nil
}

func open(a arrow.Array) column {
	c := column{array: a}
	if d, ok := a.(*array.Dictionary); ok {
		c.dict = d.Dictionary().(*array.String)
		switch x := d.Indices().(type) {
		case *array.Uint32:
			c.wide = x.Uint32Values()
		case *array.Uint16:
			c.slim = x.Uint16Values()
		}
	}
	return c
}

// next moves to the next row of a table.
func (r reader) next(table int) (*cursor, error) {
	c := r[table]
	c.row++
	if c.row >= c.rows {
		return nil, errShort
	}
	return c, nil
}

func (c *cursor) word(i int) string {
	col := &c.columns[i]
	if col.wide != nil {
		return col.dict.Value(int(col.wide[c.row]))
	}
	return col.dict.Value(int(col.slim[c.row]))
}

func (c *cursor) i32(i int) int32        { return c.columns[i].array.(*array.Int32).Value(c.row) }
func (c *cursor) i64(i int) int64        { return c.columns[i].array.(*array.Int64).Value(c.row) }
func (c *cursor) u8(i int) uint8         { return c.columns[i].array.(*array.Uint8).Value(c.row) }
func (c *cursor) u32(i int) uint32       { return c.columns[i].array.(*array.Uint32).Value(c.row) }
func (c *cursor) u64(i int) uint64       { return c.columns[i].array.(*array.Uint64).Value(c.row) }
func (c *cursor) f64(i int) float64      { return c.columns[i].array.(*array.Float64).Value(c.row) }
func (c *cursor) flag(i int) bool        { return c.columns[i].array.(*array.Boolean).Value(c.row) }
func (c *cursor) text(i int) string      { return c.columns[i].array.(*array.String).Value(c.row) }
func (c *cursor) blob(i int) []byte      { return c.columns[i].array.(*array.Binary).Value(c.row) }
func (c *cursor) children(i int) int     { return int(c.u32(i)) }
func (c *cursor) few(i int) int          { return int(c.columns[i].array.(*array.Uint16).Value(c.row)) }
func (c *cursor) id(i int) []byte        { return c.columns[i].array.(*array.FixedSizeBinary).Value(c.row) }
func (c *cursor) traceID(i int) [16]byte { return [16]byte(c.id(i)) }
func (c *cursor) spanID(i int) [8]byte   { return [8]byte(c.id(i)) }

func (c *cursor) time(i int) pcommon.Timestamp {
	return pcommon.Timestamp(c.columns[i].array.(*array.Timestamp).Value(c.row))
}

func (c *cursor) optional(i int, set func(float64)) {
	if c.columns[i].array.IsValid(c.row) {
		set(c.f64(i))
	}
}

// attributes reads the attributes of a row from a table of texts and from the
// table of other values, which is the next one.
func (r reader) attributes(of *cursor, texts int, m pcommon.Map) error {
	nTexts, nOthers := of.few(ownTexts), of.few(ownOthers)
	// A builder does not check for equal keys, which is slow for many
	// attributes.
	var pairs xpdata.MapBuilder
	pairs.EnsureCapacity(nTexts + nOthers)
	for range nTexts {
		c, err := r.next(texts)
		if err != nil {
			return err
		}
		pairs.AppendEmpty(c.word(textKey)).SetStr(c.word(textValue))
	}
	for range nOthers {
		c, err := r.next(texts + 1)
		if err == nil {
			err = c.other(pairs.AppendEmpty(c.word(otherKey)))
		}
		if err != nil {
			return err
		}
	}
	pairs.UnsafeIntoMap(m)
	return nil
}

func (c *cursor) other(v pcommon.Value) error {
	switch kind := pcommon.ValueType(c.u8(otherKind)); kind {
	case pcommon.ValueTypeEmpty:
	case pcommon.ValueTypeBool:
		v.SetBool(c.i64(otherInt) != 0)
	case pcommon.ValueTypeInt:
		v.SetInt(c.i64(otherInt))
	case pcommon.ValueTypeDouble:
		v.SetDouble(c.f64(otherDouble))
	case pcommon.ValueTypeBytes:
		v.SetEmptyBytes().FromRaw(c.blob(otherBytes))
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return nested.Parse(c.blob(otherBytes), v)
	default:
		return fmt.Errorf("arrowtable: value of kind %d", kind)
	}
	return nil
}

// resource reads the next resource.
func (r reader) resource(to pcommon.Resource, schemaURL func(string)) (scopes int, err error) {
	c, err := r.next(resources)
	if err != nil {
		return 0, err
	}
	schemaURL(c.word(resourceSchemaURL))
	to.SetDroppedAttributesCount(c.u32(resourceDropped))
	return c.children(resourceScopes), r.attributes(c, containerTexts, to.Attributes())
}

// scope reads the next scope.
func (r reader) scope(to pcommon.InstrumentationScope, schemaURL func(string)) (items int, err error) {
	c, err := r.next(scopes)
	if err != nil {
		return 0, err
	}
	schemaURL(c.word(scopeSchemaURL))
	to.SetName(c.word(scopeName))
	to.SetVersion(c.word(scopeVersion))
	to.SetDroppedAttributesCount(c.u32(scopeDropped))
	return c.children(scopeItems), r.attributes(c, containerTexts, to.Attributes())
}

// Items counts the data points, spans or log records of a record batch. It
// reads only the lengths of tables.
func Items(batch arrow.RecordBatch) int {
	table := items
	if batch.NumCols() == int64(MetricsSchema.NumFields()) {
		table = points
	}
	return batch.Column(table).(*array.List).ListValues().Len()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"
)

// columns reads a record batch by the names of its columns.
type columns struct {
	batch arrow.RecordBatch
	at    map[string]int
	n     int
	last  int    // the previous row, or -1 if its containers are unknown
	left  int    // elements of lists and maps that may still be read
	otlps int    // messages in the column otlp that may still be read
	first uint64 // the row of the file that is row 0 of the batch

	retyped uint64 // values that became text, see setValue

	resourceURL, entityRefs             texts
	scopeName, scopeVersion, scopeURL   texts
	resourceAttributes, scopeAttributes *attributesIn
	itemAttributes                      *attributesIn
	resourceDropped, scopeDropped       *array.Uint32
	otlp                                *array.Binary
}

// maxElements is the maximum number of elements of lists and maps in a batch.
// Lists in a file may share elements, so the size of the file does not bound their
// number.
const maxElements = 1 << 24

// span returns the range of the elements of a row. It panics if the rows of the batch so
// far have more than maxElements elements.
func (c *columns) span(from, to int64) (int, int) {
	if c.left -= int(to - from); c.left < 0 || to < from {
		panic(&limitReached{fmt.Sprintf("a batch has more than %d elements of lists and maps", maxElements)})
	}
	return int(from), int(to)
}

// elements returns the range of the elements of a list; null is an empty list. It returns an error if an
// element is null, because the array stores an arbitrary value for this element.
func (c *columns) elements(name string, a *array.List, i int) (from, to int, err error) {
	if a.IsNull(i) {
		return 0, 0, nil
	}
	from, to = c.span(a.ValueOffsets(i))
	return from, to, noNulls(name, a.ListValues(), from, to)
}

// noNulls returns an error if an element of a list is null.
func noNulls(name string, a arrow.Array, from, to int) error {
	if a.NullN() == 0 {
		return nil
	}
	for j := from; j < to; j++ {
		if a.IsNull(j) {
			return invalid(name, "element %d of the list is null: set it to a value, or remove it", j-from)
		}
	}
	return nil
}

type texts struct {
	*array.String
	dict *array.Dictionary
}

// at returns the text of a row; null is empty text.
func (t texts) at(i int) string {
	if t.dict == nil {
		if t.IsNull(i) {
			return ""
		}
		return t.Value(i)
	}
	if t.dict.IsNull(i) {
		return ""
	}
	return t.Value(t.dict.GetValueIndex(i))
}

func textsOf(a arrow.Array) texts {
	if d, ok := a.(*array.Dictionary); ok {
		return texts{d.Dictionary().(*array.String), d}
	}
	return texts{String: a.(*array.String)}
}

type times struct {
	*array.Timestamp
	name string // name of the column
}

// pass passes the time of a row to set; null is 0. It returns an error for a time before 1970: times of
// OTLP are unsigned, so the time would become one after 2554.
func (t times) pass(i int, set func(pcommon.Timestamp)) error {
	if t.IsNull(i) {
		set(0)
		return nil
	}
	if t.Value(i) < 0 {
		return invalid(t.name, "the time %v is before 1970, which OTLP cannot have: change it, or set it to null", t.Value(i).ToTime(arrow.Nanosecond))
	}
	set(pcommon.Timestamp(t.Value(i)))
	return nil
}

type attributesIn struct {
	batch *columns
	name  string // name of the column
	pairs *array.Map
	key   texts
	value texts
	types texts
}

func (c *columns) attributesFrom(name string, pairs, types arrow.Array) *attributesIn {
	m := pairs.(*array.Map)
	return &attributesIn{c, name, m, textsOf(m.Keys()), textsOf(m.Items()), textsOf(types)}
}

// offsets returns the range of the attributes of a row. A row whose map is null has no attributes, even
// if the array stores some for it.
func (a *attributesIn) offsets(i int) (from, to int64) {
	if a.pairs.IsNull(i) {
		return 0, 0
	}
	return a.pairs.ValueOffsets(i)
}

// set sets dst, which is empty, to the attributes of a row.
func (a *attributesIn) set(i int, dst pcommon.Map) error {
	from, to := a.batch.span(a.offsets(i))
	n := to - from
	if n == 0 {
		return nil
	}
	letters := a.types.at(i)
	if letters != "" && len(letters) != n {
		return invalid(a.name, "the number of attributes is %d, but that of letters in %s_types is %d: edit the letters, too, or set them to null, which makes all values text", n, a.name, len(letters))
	}
	var b xpdata.MapBuilder
	b.EnsureCapacity(n)
	for p := range n {
		letter := byte(letterString)
		if letters != "" {
			letter = letters[p]
		}
		if !a.batch.setValue(b.AppendEmpty(a.key.at(from+p)), a.value.at(from+p), letter) {
			return invalid(a.name+"_types", "unknown letter %q: use s, i, d, b, x, a, m or n, or set the letters to null", letter)
		}
	}
	b.UnsafeIntoMap(dst)
	return nil
}

// setValue sets dst to a value, from its text and the letter of its type. If the text is not
// valid for the type, another program has edited it: then dst becomes text, and the value
// counts as retyped. setValue returns false if the letter is unknown.
func (c *columns) setValue(dst pcommon.Value, text string, letter byte) bool {
	fits, known := setText(dst, text, letter)
	if known && !fits {
		dst.SetStr(text)
		c.retyped++
	}
	return known
}

func (a *attributesIn) same(i, j int) bool {
	from, to := a.batch.span(a.offsets(i))
	other, end := a.offsets(j)
	if to-from != int(end-other) || a.types.at(i) != a.types.at(j) {
		return false
	}
	for p := range to - from {
		if a.key.at(from+p) != a.key.at(int(other)+p) || a.value.at(from+p) != a.value.at(int(other)+p) {
			return false
		}
	}
	return true
}

// newColumns finds the columns of a schema in a batch, whose schema was checked.
func newColumns(batch arrow.RecordBatch, at map[string]int) *columns {
	c := &columns{batch: batch, at: at, n: int(batch.NumRows()), last: -1, left: maxElements, otlps: maxTotal}
	c.resourceURL, c.entityRefs = c.texts("resource_schema_url"), c.texts("resource_entity_refs")
	c.scopeName, c.scopeVersion, c.scopeURL = c.texts("scope_name"), c.texts("scope_version"), c.texts("scope_schema_url")
	c.resourceAttributes, c.scopeAttributes = c.attributes("resource_attributes"), c.attributes("scope_attributes")
	c.itemAttributes = c.attributes("attributes")
	c.resourceDropped, c.scopeDropped = c.u32("resource_dropped_attributes_count"), c.u32("scope_dropped_attributes_count")
	c.otlp = c.col("otlp").(*array.Binary)
	return c
}

func (c *columns) col(name string) arrow.Array    { return c.batch.Column(c.at[name]) }
func (c *columns) texts(name string) texts        { return textsOf(c.col(name)) }
func (c *columns) times(name string) times        { return times{c.col(name).(*array.Timestamp), name} }
func (c *columns) u32(name string) *array.Uint32  { return c.col(name).(*array.Uint32) }
func (c *columns) u64(name string) *array.Uint64  { return c.col(name).(*array.Uint64) }
func (c *columns) i32(name string) *array.Int32   { return c.col(name).(*array.Int32) }
func (c *columns) f64(name string) *array.Float64 { return c.col(name).(*array.Float64) }
func (c *columns) fixed(name string) *array.FixedSizeBinary {
	return c.col(name).(*array.FixedSizeBinary)
}

func (c *columns) attributes(name string) *attributesIn {
	return c.attributesFrom(name, c.col(name), c.col(name+"_types"))
}

// message returns the OTLP of a row, or nil if the row has none.
func (c *columns) message(i int, s Signal) []byte {
	if c.otlp.IsNull(i) {
		return nil
	}
	message := c.otlp.Value(i)
	c.checkOTLP(i, message, rowMessages[s], 0)
	return message
}

func (c *columns) atRow(i int, err error) *rowError {
	return &rowError{c.first + uint64(i), err}
}

// beginContainers makes the next row begin a new resource and a new scope.
func (c *columns) beginContainers() { c.last = -1 }

// enter reports whether the resource and the scope of a row differ from the resource and the
// scope of the previous row.
func (c *columns) enter(i int) (resource, scope bool) {
	j := c.last
	c.last = i
	if j < 0 {
		return true, true
	}
	resource = c.resourceURL.at(i) != c.resourceURL.at(j) || c.entityRefs.at(i) != c.entityRefs.at(j) ||
		u32Of(c.resourceDropped, i) != u32Of(c.resourceDropped, j) || !c.resourceAttributes.same(i, j)
	scope = resource || c.scopeName.at(i) != c.scopeName.at(j) || c.scopeVersion.at(i) != c.scopeVersion.at(j) ||
		c.scopeURL.at(i) != c.scopeURL.at(j) || u32Of(c.scopeDropped, i) != u32Of(c.scopeDropped, j) || !c.scopeAttributes.same(i, j)
	return resource, scope
}

func (c *columns) setResource(i int, dst pcommon.Resource) error {
	dst.SetDroppedAttributesCount(u32Of(c.resourceDropped, i))
	if err := setEntityRefs(dst, c.entityRefs.at(i)); err != nil {
		return err
	}
	return c.resourceAttributes.set(i, dst.Attributes())
}

func (c *columns) setScope(i int, dst pcommon.InstrumentationScope) error {
	dst.SetName(c.scopeName.at(i))
	dst.SetVersion(c.scopeVersion.at(i))
	dst.SetDroppedAttributesCount(u32Of(c.scopeDropped, i))
	return c.scopeAttributes.set(i, dst.Attributes())
}

func u32Of(a *array.Uint32, i int) uint32 {
	if a.IsNull(i) {
		return 0
	}
	return a.Value(i)
}

func traceIDOf(a *array.FixedSizeBinary, i int) (id pcommon.TraceID) {
	if a.IsValid(i) {
		copy(id[:], a.Value(i))
	}
	return id
}

func spanIDOf(a *array.FixedSizeBinary, i int) (id pcommon.SpanID) {
	if a.IsValid(i) {
		copy(id[:], a.Value(i))
	}
	return id
}

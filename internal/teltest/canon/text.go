// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// A text contains the lines that describe an item. Each line has a path and a value.
// Unset and zero values are written, too, so that equal texts mean equal items.
type text struct {
	Options
	buf []byte
}

func (t *text) line(path, format string, args ...any) {
	t.begin(path)
	t.buf = fmt.Appendf(t.buf, format, args...)
	t.buf = append(t.buf, '\n')
}

// begin writes the path of a line. Most lines have one value of a simple type: the methods quoted,
// integer and valued write these without fmt, which would take most of the time of many tests.
func (t *text) begin(path string) {
	t.buf = append(t.buf, path...)
	t.buf = append(t.buf, ": "...)
}

func (t *text) quoted(path, s string) {
	t.begin(path)
	t.buf = append(appendQuote(t.buf, s), '\n')
}

func (t *text) integer(path string, n uint64) {
	t.begin(path)
	t.buf = append(appendCount(t.buf, n), '\n')
}

func (t *text) valued(path string, v pcommon.Value) {
	t.begin(path)
	t.buf = append(appendValue(t.buf, v), '\n')
}

// appendQuote appends strconv.Quote(s).
func appendQuote(buf []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(buf, s)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}

func (t *text) resource(r pcommon.Resource, schemaURL string) {
	t.quoted("resource.schema_url", schemaURL)
	t.attributes("resource", r.Attributes())
	t.integer("resource.dropped_attributes", uint64(r.DroppedAttributesCount()))
	for i, ref := range entity.ResourceEntityRefs(r).All() {
		t.line(fmt.Sprintf("resource.entity[%d]", i), "%q %q id %q description %q",
			ref.SchemaUrl(), ref.Type(), ref.IdKeys().AsRaw(), ref.DescriptionKeys().AsRaw())
	}
}

func (t *text) scope(s pcommon.InstrumentationScope, schemaURL string) {
	t.quoted("scope.schema_url", schemaURL)
	t.quoted("scope.name", s.Name())
	t.quoted("scope.version", s.Version())
	t.attributes("scope", s.Attributes())
	t.integer("scope.dropped_attributes", uint64(s.DroppedAttributesCount()))
}

// attributes writes one line per attribute, so that a diff shows the attribute that differs.
func (t *text) attributes(path string, m pcommon.Map) {
	for _, kv := range t.ordered(m) {
		t.buf = append(t.buf, path...)
		t.buf = append(t.buf, ' ')
		t.buf = appendQuote(t.buf, kv.key)
		t.valued("", kv.value)
	}
}

type keyValue struct {
	key   string
	value pcommon.Value
}

func (o Options) ordered(m pcommon.Map) []keyValue {
	all := make([]keyValue, 0, m.Len())
	for k, v := range m.All() {
		all = append(all, keyValue{k, v})
	}
	if o.SortAttributes {
		slices.SortStableFunc(all, func(a, b keyValue) int { return strings.Compare(a.key, b.key) })
	}
	return all
}

// appendValue appends the text of a value. It shows the type of the value, and the bits of floats.
func appendValue(buf []byte, v pcommon.Value) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendQuote(buf, v.Str())
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(buf, v.Bool())
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(buf, v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return appendFloat(buf, v.Double())
	case pcommon.ValueTypeBytes:
		return fmt.Appendf(buf, "bytes %x", v.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		buf = append(buf, '[')
		for i, e := range v.Slice().All() {
			buf = appendValue(separated(buf, i), e)
		}
		return append(buf, ']')
	case pcommon.ValueTypeMap:
		buf = append(buf, '{')
		i := 0
		for k, e := range v.Map().All() {
			buf = append(appendQuote(separated(buf, i), k), ": "...)
			buf = appendValue(buf, e)
			i++
		}
		return append(buf, '}')
	}
	return append(buf, "empty"...)
}

// separated appends the separator before element i of a list.
func separated(buf []byte, i int) []byte {
	if i == 0 {
		return buf
	}
	return append(buf, ", "...)
}

// appendFloat appends the number, for human readers, and the bits of f, for the comparison.
func appendFloat(buf []byte, f float64) []byte {
	var bits [8]byte
	binary.BigEndian.PutUint64(bits[:], math.Float64bits(f))
	buf = append(strconv.AppendFloat(buf, f, 'g', -1, 64), " ("...)
	return append(hex.AppendEncode(buf, bits[:]), ')')
}

func floatText(f float64) string { return string(appendFloat(nil, f)) }

func optional(has bool, f float64) string {
	if !has {
		return "absent"
	}
	return floatText(f)
}

// list writes a list of numbers. add appends one number to a text.
func list[N any](t *text, path string, numbers iter.Seq2[int, N], add func([]byte, N) []byte) {
	t.begin(path)
	t.buf = append(t.buf, '[')
	for i, n := range numbers {
		if i > 0 {
			t.buf = append(t.buf, ' ')
		}
		t.buf = add(t.buf, n)
	}
	t.buf = append(t.buf, "]\n"...)
}

func appendCount(buf []byte, n uint64) []byte { return strconv.AppendUint(buf, n, 10) }

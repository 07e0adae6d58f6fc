// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"fmt"
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
	t.buf = append(t.buf, path...)
	t.buf = append(t.buf, ": "...)
	t.buf = fmt.Appendf(t.buf, format, args...)
	t.buf = append(t.buf, '\n')
}

func (t *text) resource(r pcommon.Resource, schemaURL string) {
	t.line("resource.schema_url", "%q", schemaURL)
	t.attributes("resource", r.Attributes())
	t.line("resource.dropped_attributes", "%d", r.DroppedAttributesCount())
	for i, ref := range entity.ResourceEntityRefs(r).All() {
		t.line(fmt.Sprintf("resource.entity[%d]", i), "%q %q id %q description %q",
			ref.SchemaUrl(), ref.Type(), ref.IdKeys().AsRaw(), ref.DescriptionKeys().AsRaw())
	}
}

func (t *text) scope(s pcommon.InstrumentationScope, schemaURL string) {
	t.line("scope.schema_url", "%q", schemaURL)
	t.line("scope.name", "%q", s.Name())
	t.line("scope.version", "%q", s.Version())
	t.attributes("scope", s.Attributes())
	t.line("scope.dropped_attributes", "%d", s.DroppedAttributesCount())
}

// attributes writes one line per attribute, so that a diff shows the attribute that differs.
func (t *text) attributes(path string, m pcommon.Map) {
	for _, kv := range t.ordered(m) {
		t.line(path+" "+strconv.Quote(kv.key), "%s", valueText(kv.value))
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

// valueText returns the text of a value. It shows the type of the value, and the bits of floats.
func valueText(v pcommon.Value) string {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return strconv.Quote(v.Str())
	case pcommon.ValueTypeBool:
		return strconv.FormatBool(v.Bool())
	case pcommon.ValueTypeInt:
		return strconv.FormatInt(v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return floatText(v.Double())
	case pcommon.ValueTypeBytes:
		return fmt.Sprintf("bytes %x", v.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		var parts []string
		for _, e := range v.Slice().All() {
			parts = append(parts, valueText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case pcommon.ValueTypeMap:
		var parts []string
		for k, e := range v.Map().All() {
			parts = append(parts, strconv.Quote(k)+": "+valueText(e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "empty"
}

// floatText returns the bits of f, for the comparison, and the number, for human readers.
func floatText(f float64) string {
	return fmt.Sprintf("%v (%016x)", f, math.Float64bits(f))
}

func optional(has bool, f float64) string {
	if !has {
		return "absent"
	}
	return floatText(f)
}

func floatsText(fs pcommon.Float64Slice) string {
	parts := make([]string, 0, fs.Len())
	for _, f := range fs.All() {
		parts = append(parts, floatText(f))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

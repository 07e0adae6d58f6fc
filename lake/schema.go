// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Signal is the signal of the items of a table.
type Signal uint8

// The signals.
const (
	Metrics Signal = iota
	Traces
	Logs
)

var signalNames = [...]string{Metrics: "metrics", Traces: "traces", Logs: "logs"}

// String returns the name of the signal.
func (s Signal) String() string { return signalNames[s] }

// signalKey is the key of the name of the signal in the metadata of a schema.
const signalKey = "stef.signal"

var (
	// word is text with few distinct values, long is other text.
	word   = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
	long   = arrow.BinaryTypes.String
	blob   = arrow.BinaryTypes.Binary
	moment = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	i32    = arrow.PrimitiveTypes.Int32
	i64    = arrow.PrimitiveTypes.Int64
	u32    = arrow.PrimitiveTypes.Uint32
	u64    = arrow.PrimitiveTypes.Uint64
	f64    = arrow.PrimitiveTypes.Float64
	flag   = arrow.FixedWidthTypes.Boolean
	trace  = &arrow.FixedSizeBinaryType{ByteWidth: 16}
	span   = &arrow.FixedSizeBinaryType{ByteWidth: 8}
	pairs  = arrow.MapOf(word, word)
)

func col(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// attributes returns two columns: a map of the attributes, with values as text, and the types
// of the values as letters. The letters are null if all values are text.
func attributes(name string) []arrow.Field {
	return []arrow.Field{col(name, pairs), col(name+"_types", word)}
}

func listOf(name string, fields ...arrow.Field) arrow.Field {
	return col(name, arrow.ListOf(arrow.StructOf(fields...)))
}

// containers are the columns of resource and scope, which all tables have.
var containers = slices.Concat(
	[]arrow.Field{col("service_name", word)},
	attributes("resource_attributes"),
	[]arrow.Field{col("resource_dropped_attributes_count", u32), col("resource_schema_url", word), col("resource_entity_refs", word),
		col("scope_name", word), col("scope_version", word)},
	attributes("scope_attributes"),
	[]arrow.Field{col("scope_dropped_attributes_count", u32), col("scope_schema_url", word)},
)

// derived reports whether a column only repeats data of other columns. Readers do not
// need it.
func derived(name string) bool { return name == "service_name" || name == "duration_ns" }

// otlpColumn contains an item as OTLP if the other columns cannot represent it exactly.
var otlpColumn = col("otlp", blob)

// ofSignal contains the columns of each signal, without the columns of containers.
var ofSignal = [...][]arrow.Field{
	Metrics: slices.Concat(
		[]arrow.Field{col("metric_name", word), col("metric_description", word), col("metric_unit", word), col("metric_type", word),
			col("aggregation_temporality", word), col("is_monotonic", flag)},
		attributes("metric_metadata"),
		[]arrow.Field{col("time", moment), col("start_time", moment)},
		attributes("attributes"),
		[]arrow.Field{col("flags", u32), col("int_value", i64), col("double_value", f64),
			col("count", u64), col("sum", f64), col("min", f64), col("max", f64),
			col("bucket_counts", arrow.ListOf(u64)), col("explicit_bounds", arrow.ListOf(f64)),
			col("scale", i32), col("zero_count", u64), col("zero_threshold", f64),
			col("positive_offset", i32), col("positive_bucket_counts", arrow.ListOf(u64)),
			col("negative_offset", i32), col("negative_bucket_counts", arrow.ListOf(u64)),
			listOf("quantiles", col("quantile", f64), col("value", f64)),
			listOf("exemplars", append([]arrow.Field{col("time", moment), col("int_value", i64), col("double_value", f64),
				col("trace_id", trace), col("span_id", span)}, attributes("attributes")...)...),
		}),
	Traces: slices.Concat(
		[]arrow.Field{col("start_time", moment), col("end_time", moment), col("duration_ns", i64),
			col("trace_id", trace), col("span_id", span), col("parent_span_id", span), col("trace_state", word),
			col("name", word), col("kind", word), col("status_code", word), col("status_message", word), col("flags", u32)},
		attributes("attributes"),
		[]arrow.Field{col("dropped_attributes_count", u32), col("dropped_events_count", u32), col("dropped_links_count", u32),
			listOf("events", append([]arrow.Field{col("time", moment), col("name", word), col("dropped_attributes_count", u32)}, attributes("attributes")...)...),
			listOf("links", append([]arrow.Field{col("trace_id", trace), col("span_id", span), col("trace_state", word), col("flags", u32),
				col("dropped_attributes_count", u32)}, attributes("attributes")...)...),
		}),
	Logs: slices.Concat(
		[]arrow.Field{col("time", moment), col("observed_time", moment), col("severity_number", i32), col("severity_text", word),
			col("event_name", word), col("body", long), col("body_type", word), col("trace_id", trace), col("span_id", span), col("flags", u32)},
		attributes("attributes"),
		[]arrow.Field{col("dropped_attributes_count", u32)}),
}

// schemaOf returns the schema of a table. chosen contains the keys of attributes that have
// columns of their own. In Parquet, text columns have no dictionary type, because dictionaries
// are part of the encoding, not of the schema.
func schemaOf(s Signal, f Format, chosen []chosenKey) *arrow.Schema {
	fields := slices.Concat(containers, ofSignal[s])
	for _, c := range chosen {
		fields = append(fields, col(c.column, word))
	}
	fields = append(fields, otlpColumn)
	if f == Parquet {
		for i := range fields {
			fields[i] = plain(fields[i])
		}
	}
	meta := arrow.NewMetadata([]string{signalKey}, []string{s.String()})
	return arrow.NewSchema(fields, &meta)
}

func plain(f arrow.Field) arrow.Field {
	switch t := f.Type.(type) {
	case *arrow.DictionaryType:
		f.Type = t.ValueType
	case *arrow.ListType:
		if s, ok := t.Elem().(*arrow.StructType); ok {
			fields := slices.Clone(s.Fields())
			for i := range fields {
				fields[i] = plain(fields[i])
			}
			f.Type = arrow.ListOf(arrow.StructOf(fields...))
		}
	case *arrow.MapType:
		f.Type = arrow.MapOf(long, long)
	}
	return f
}

// sameType reports whether a column of a file has a type that a reader understands: the type
// in the schema, where texts may have dictionaries or not. Times may have any time zone: the zone only
// says how to print them, and the values are in UTC.
func sameType(want, got arrow.DataType) bool {
	if d, ok := want.(*arrow.DictionaryType); ok {
		want = d.ValueType
	}
	if d, ok := got.(*arrow.DictionaryType); ok && want.ID() == arrow.STRING {
		got = d.ValueType
	}
	switch w := want.(type) {
	case *arrow.TimestampType:
		g, ok := got.(*arrow.TimestampType)
		return ok && w.Unit == g.Unit && g.TimeZone != ""
	case *arrow.MapType:
		g, ok := got.(*arrow.MapType)
		return ok && sameType(w.KeyType(), g.KeyType()) && sameType(w.ItemType(), g.ItemType())
	case *arrow.ListType:
		g, ok := got.(*arrow.ListType)
		return ok && sameType(w.Elem(), g.Elem())
	case *arrow.StructType:
		g, ok := got.(*arrow.StructType)
		if !ok || w.NumFields() != g.NumFields() {
			return false
		}
		for i, f := range w.Fields() {
			if f.Name != g.Field(i).Name || !sameType(f.Type, g.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return arrow.TypeEqual(want, got)
}

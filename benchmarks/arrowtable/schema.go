// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arrowtable

import (
	"github.com/apache/arrow-go/v18/arrow"
)

var (
	// name is text with few distinct values, word text with more.
	name = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	word = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}

	text    = arrow.BinaryTypes.String
	blob    = arrow.BinaryTypes.Binary
	moment  = arrow.FixedWidthTypes.Timestamp_ns
	flag    = arrow.FixedWidthTypes.Boolean
	i32     = arrow.PrimitiveTypes.Int32
	i64     = arrow.PrimitiveTypes.Int64
	u8      = arrow.PrimitiveTypes.Uint8
	u16     = arrow.PrimitiveTypes.Uint16
	u32     = arrow.PrimitiveTypes.Uint32
	u64     = arrow.PrimitiveTypes.Uint64
	f64     = arrow.PrimitiveTypes.Float64
	traceID = &arrow.FixedSizeBinaryType{ByteWidth: 16}
	spanID  = &arrow.FixedSizeBinaryType{ByteWidth: 8}
)

// field is a column that is never null, so it needs no bitmap.
func field(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }

func optional(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func table(name string, fields ...arrow.Field) arrow.Field {
	return field(name, arrow.ListOfNonNullable(arrow.StructOf(fields...)))
}

// Columns with the numbers of attributes. They are the first two columns of
// everything that has attributes.
const (
	ownTexts = iota
	ownOthers
	afterAttributes
)

func withAttributes(fields ...arrow.Field) []arrow.Field {
	return append([]arrow.Field{field("texts", u16), field("others", u16)}, fields...)
}

// Tables that all signals have. Attributes of containers, of items and of the
// contents of items have separate tables, because they use different words.
const (
	resources = iota
	scopes
	containerTexts
	containerOthers
	itemTexts
	itemOthers
	childTexts
	childOthers
	items
	afterTables
)

const (
	resourceSchemaURL = afterAttributes + iota
	resourceDropped
	resourceScopes
)

const (
	scopeName = afterAttributes + iota
	scopeVersion
	scopeSchemaURL
	scopeDropped
	scopeItems
)

const (
	textKey = iota
	textValue
)

const (
	otherKey = iota
	otherKind
	otherInt
	otherDouble
	otherBytes
)

func schemaOf(item []arrow.Field, tables ...arrow.Field) *arrow.Schema {
	fields := []arrow.Field{
		table("resources", withAttributes(field("schema_url", name), field("dropped", u32), field("scopes", u32))...),
		table("scopes", withAttributes(field("name", name), field("version", name), field("schema_url", name), field("dropped", u32), field("items", u32))...),
	}
	for _, owner := range []string{"container", "item", "child"} {
		fields = append(fields,
			table(owner+"_texts", field("key", name), field("value", word)),
			table(owner+"_others", field("key", name), field("kind", u8), field("int", i64), field("double", f64), field("bytes", blob)))
	}
	fields = append(fields, table("items", withAttributes(item...)...))
	return arrow.NewSchema(append(fields, tables...), nil)
}

// Tables of metrics; the items are metrics.
const (
	points = afterTables + iota
	ints
	doubles
	histograms
	exponentials
	summaries
	counts
	bounds
	quantiles
	exemplars
)

const (
	metricName = afterAttributes + iota
	metricDescription
	metricUnit
	metricType
	metricTemporality
	metricMonotonic
	metricPoints
)

const (
	pointStart = afterAttributes + iota
	pointTime
	pointFlags
	pointKind
	pointExemplars
)

// value is the only column in tables of numbers.
const value = 0

const (
	histogramCount = iota
	histogramSum
	histogramMin
	histogramMax
	histogramBuckets
	histogramBounds
)

const (
	exponentialCount = iota
	exponentialSum
	exponentialMin
	exponentialMax
	exponentialScale
	exponentialZeroCount
	exponentialZeroThreshold
	exponentialPositiveOffset
	exponentialPositive
	exponentialNegativeOffset
	exponentialNegative
)

const (
	summaryCount = iota
	summarySum
	summaryQuantiles
)

const (
	quantileQuantile = iota
	quantileValue
)

const (
	exemplarTime = afterAttributes + iota
	exemplarKind
	exemplarTraceID
	exemplarSpanID
)

// MetricsSchema is the schema of metrics. The values of number points and
// exemplars are in the tables of ints and doubles, according to their kind.
var MetricsSchema = schemaOf(
	[]arrow.Field{field("name", name), field("description", name), field("unit", name),
		field("type", u8), field("temporality", u8), field("monotonic", flag), field("points", u32)},
	table("points", withAttributes(field("start", moment), field("time", moment), field("flags", u32), field("kind", u8), field("exemplars", u16))...),
	table("ints", field("value", i64)),
	table("doubles", field("value", f64)),
	table("histograms", field("count", u64), optional("sum", f64), optional("min", f64), optional("max", f64), field("buckets", u32), field("bounds", u32)),
	table("exponentials", field("count", u64), optional("sum", f64), optional("min", f64), optional("max", f64),
		field("scale", i32), field("zero_count", u64), field("zero_threshold", f64),
		field("positive_offset", i32), field("positive", u32), field("negative_offset", i32), field("negative", u32)),
	table("summaries", field("count", u64), field("sum", f64), field("quantiles", u32)),
	table("counts", field("value", u64)),
	table("bounds", field("value", f64)),
	table("quantiles", field("quantile", f64), field("value", f64)),
	table("exemplars", withAttributes(field("time", moment), field("kind", u8), field("trace_id", traceID), field("span_id", spanID))...),
)

// Tables of traces; the items are spans.
const (
	events = afterTables + iota
	links
)

const (
	spanTraceID = afterAttributes + iota
	spanSpanID
	spanParentID
	spanTraceState
	spanFlags
	spanName
	spanKind
	spanStart
	spanDuration
	spanStatus
	spanStatusMessage
	spanDropped
	spanEvents
	spanDroppedEvents
	spanLinks
	spanDroppedLinks
)

const (
	eventTime = afterAttributes + iota
	eventName
	eventDropped
)

const (
	linkTraceID = afterAttributes + iota
	linkSpanID
	linkTraceState
	linkFlags
	linkDropped
)

// TracesSchema is the schema of traces.
var TracesSchema = schemaOf(
	[]arrow.Field{field("trace_id", traceID), field("span_id", spanID), field("parent_id", spanID), field("trace_state", word), field("flags", u32),
		field("name", word), field("kind", u8), field("start", moment), field("duration", i64), field("status", u8), field("status_message", word),
		field("dropped", u32), field("events", u16), field("dropped_events", u32), field("links", u16), field("dropped_links", u32)},
	table("events", withAttributes(field("time", moment), field("name", word), field("dropped", u32))...),
	table("links", withAttributes(field("trace_id", traceID), field("span_id", spanID), field("trace_state", word), field("flags", u32), field("dropped", u32))...),
)

// Tables of logs; the items are log records.
const (
	bodies = afterTables + iota
	otherBodies
)

const (
	logTime = afterAttributes + iota
	logObserved
	logSeverity
	logSeverityText
	logEventName
	logBodyKind
	logDropped
	logFlags
	logTraceID
	logSpanID
)

// LogsSchema is the schema of logs. A body that is not text is stored as bytes.
var LogsSchema = schemaOf(
	[]arrow.Field{field("time", moment), field("observed", moment), field("severity", u8), field("severity_text", name), field("event_name", name),
		field("body_kind", u8), field("dropped", u32), field("flags", u32), field("trace_id", traceID), field("span_id", spanID)},
	table("bodies", field("text", text)),
	table("other_bodies", field("bytes", blob)),
)

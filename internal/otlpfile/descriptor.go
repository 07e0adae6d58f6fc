// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import "strings"

// The descriptors of OTLP's messages: their fields and wire types, by the protobuf files of OTLP 1.x
// (opentelemetry-proto). They are used to distinguish signals by content, to report the position of an
// error in a part, to bound the nesting of values before pdata recurses, and to find names in JSON that
// OTLP does not have.

type kind uint8

const (
	unknown kind = iota
	varint
	fixed64
	fixed32
	text           // a string
	blob           // bytes of any length
	traceID        // 16 bytes or none
	spanID         // 8 bytes or none
	packedFixed64  // repeated: packed, or one by one
	packedVarint   // repeated: packed, or one by one
	message        // a message of the field's descriptor
	nestingMessage // a message of the field's descriptor, one level deeper in a value
)

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireLen     = 2
	wireStart   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

type field struct {
	name       string
	kind       kind
	choice     bool // the field belongs to a oneof: a message has at most one of these fields
	descriptor *descriptor
}

// oldScopes is the number of the field in which old senders put the scopes of a resource.
const oldScopes = 1000

// A descriptor describes a message: its name, and its fields by their numbers. Protobuf has no field 0,
// so index 0 holds the field oldScopes.
type descriptor struct {
	name   string
	fields [17]field
}

// field returns the field with a number above 0. If there is none, it returns a field of kind unknown.
func (s *descriptor) field(number uint64) field {
	switch {
	case number < uint64(len(s.fields)):
		return s.fields[number]
	case number == oldScopes:
		return s.fields[0]
	}
	return field{}
}

type fields = [17]field

func sub(name string, s *descriptor) field { return field{name: name, kind: message, descriptor: s} }

func leaf(name string, k kind) field { return field{name: name, kind: k} }

// oneOf returns f as a field of a oneof of protobuf: a message may have only one of these fields.
// If it has several, pdata keeps the last one.
func oneOf(f field) field {
	f.choice = true
	return f
}

var (
	keyValueShape, anyValueShape = valueDescriptors()

	resourceDescriptor = &descriptor{"Resource", fields{
		1: sub("attributes", keyValueShape), 2: leaf("dropped_attributes_count", varint),
		3: sub("entity_refs", &descriptor{"EntityRef", fields{
			1: leaf("schema_url", text), 2: leaf("type", text), 3: leaf("id_keys", text), 4: leaf("description_keys", text),
		}}),
	}}
	scopeDescriptor = &descriptor{"InstrumentationScope", fields{
		1: leaf("name", text), 2: leaf("version", text), 3: sub("attributes", keyValueShape), 4: leaf("dropped_attributes_count", varint),
	}}
	exemplarDescriptor = &descriptor{"Exemplar", fields{
		2: leaf("time_unix_nano", fixed64), 3: oneOf(leaf("as_double", fixed64)), 4: leaf("span_id", spanID), 5: leaf("trace_id", traceID),
		6: oneOf(leaf("as_int", fixed64)), 7: sub("filtered_attributes", keyValueShape),
	}}
	bucketsDescriptor = &descriptor{"Buckets", fields{1: leaf("offset", varint), 2: leaf("bucket_counts", packedVarint)}}

	// roots are the top-level messages of the signals.
	roots = [...]*descriptor{
		Metrics: root("MetricsData", "Metrics", "metrics", &descriptor{"Metric", fields{
			1: leaf("name", text), 2: leaf("description", text), 3: leaf("unit", text),
			5: points("gauge", "Gauge", numberDescriptor, fields{}), 7: points("sum", "Sum", numberDescriptor, fields{2: temporality, 3: leaf("is_monotonic", varint)}),
			9:  points("histogram", "Histogram", histogramDescriptor, fields{2: temporality}),
			10: points("exponential_histogram", "ExponentialHistogram", exponentialDescriptor, fields{2: temporality}),
			11: points("summary", "Summary", summaryDescriptor, fields{}),
			12: sub("metadata", keyValueShape),
		}}),
		Traces: root("TracesData", "Spans", "spans", spanDescriptor),
		Logs:   root("LogsData", "Logs", "log_records", logDescriptor),
	}
)

// profilesDescriptor describes the message of profiles, as far as needed to recognise it.
var profilesDescriptor = func() *descriptor {
	s := root(ProfilesData, "Profiles", "profiles", &descriptor{"Profile", fields{
		1: leaf("sample_type", blob), 2: leaf("samples", blob), 3: leaf("time_unix_nano", fixed64), 4: leaf("duration_nano", varint),
		5: leaf("period_type", blob), 6: leaf("period", varint), 7: leaf("profile_id", blob), 8: leaf("dropped_attributes_count", varint),
		9: leaf("original_payload_format", text), 10: leaf("original_payload", blob), 11: leaf("attribute_indices", packedVarint),
	}})
	s.fields[2] = leaf("dictionary", blob)
	return s
}()

// valueDescriptors builds the descriptors that contain each other.
func valueDescriptors() (keyValue, anyValue *descriptor) {
	anyValue = &descriptor{name: "AnyValue"}
	keyValue = &descriptor{"KeyValue", fields{1: leaf("key", text), 2: sub("value", anyValue), 3: leaf("key_strindex", varint)}}
	anyValue.fields = fields{
		1: oneOf(leaf("string_value", text)), 2: oneOf(leaf("bool_value", varint)), 3: oneOf(leaf("int_value", varint)), 4: oneOf(leaf("double_value", fixed64)),
		5: {"array_value", nestingMessage, true, &descriptor{"ArrayValue", fields{1: sub("values", anyValue)}}},
		6: {"kvlist_value", nestingMessage, true, &descriptor{"KeyValueList", fields{1: sub("values", keyValue)}}},
		7: oneOf(leaf("bytes_value", blob)), 8: leaf("string_value_strindex", varint),
	}
	return keyValue, anyValue
}

// root returns the descriptor of the message of a signal, down to its items.
func root(name, signal, items string, item *descriptor) *descriptor {
	ending := "_" + strings.ToLower(signal)
	scope := &descriptor{"Scope" + signal, fields{1: sub("scope", scopeDescriptor), 2: sub(items, item), 3: leaf("schema_url", text)}}
	resource := &descriptor{"Resource" + signal, fields{
		0: sub("deprecated_scope"+ending, scope), 1: sub("resource", resourceDescriptor), 2: sub("scope"+ending, scope), 3: leaf("schema_url", text),
	}}
	return &descriptor{name, fields{1: sub("resource"+ending, resource)}}
}

var temporality = leaf("aggregation_temporality", varint)

// points returns the field of Metric for a kind of metrics. more are the fields of that kind
// in addition to its points.
func points(name, kind string, point *descriptor, more fields) field {
	more[1] = sub("data_points", point)
	return oneOf(sub(name, &descriptor{kind, more}))
}

var (
	numberDescriptor = &descriptor{"NumberDataPoint", fields{
		2: leaf("start_time_unix_nano", fixed64), 3: leaf("time_unix_nano", fixed64), 4: oneOf(leaf("as_double", fixed64)),
		5: sub("exemplars", exemplarDescriptor), 6: oneOf(leaf("as_int", fixed64)), 7: sub("attributes", keyValueShape), 8: leaf("flags", varint),
	}}
	histogramDescriptor = &descriptor{"HistogramDataPoint", fields{
		2: leaf("start_time_unix_nano", fixed64), 3: leaf("time_unix_nano", fixed64), 4: leaf("count", fixed64), 5: leaf("sum", fixed64),
		6: leaf("bucket_counts", packedFixed64), 7: leaf("explicit_bounds", packedFixed64), 8: sub("exemplars", exemplarDescriptor),
		9: sub("attributes", keyValueShape), 10: leaf("flags", varint), 11: leaf("min", fixed64), 12: leaf("max", fixed64),
	}}
	exponentialDescriptor = &descriptor{"ExponentialHistogramDataPoint", fields{
		1: sub("attributes", keyValueShape), 2: leaf("start_time_unix_nano", fixed64), 3: leaf("time_unix_nano", fixed64),
		4: leaf("count", fixed64), 5: leaf("sum", fixed64), 6: leaf("scale", varint), 7: leaf("zero_count", fixed64),
		8: sub("positive", bucketsDescriptor), 9: sub("negative", bucketsDescriptor), 10: leaf("flags", varint), 11: sub("exemplars", exemplarDescriptor),
		12: leaf("min", fixed64), 13: leaf("max", fixed64), 14: leaf("zero_threshold", fixed64),
	}}
	summaryDescriptor = &descriptor{"SummaryDataPoint", fields{
		2: leaf("start_time_unix_nano", fixed64), 3: leaf("time_unix_nano", fixed64), 4: leaf("count", fixed64), 5: leaf("sum", fixed64),
		6: sub("quantile_values", &descriptor{"ValueAtQuantile", fields{1: leaf("quantile", fixed64), 2: leaf("value", fixed64)}}),
		7: sub("attributes", keyValueShape), 8: leaf("flags", varint),
	}}
	spanDescriptor = &descriptor{"Span", fields{
		1: leaf("trace_id", traceID), 2: leaf("span_id", spanID), 3: leaf("trace_state", text), 4: leaf("parent_span_id", spanID),
		5: leaf("name", text), 6: leaf("kind", varint), 7: leaf("start_time_unix_nano", fixed64), 8: leaf("end_time_unix_nano", fixed64),
		9: sub("attributes", keyValueShape), 10: leaf("dropped_attributes_count", varint),
		11: sub("events", &descriptor{"Event", fields{
			1: leaf("time_unix_nano", fixed64), 2: leaf("name", text), 3: sub("attributes", keyValueShape), 4: leaf("dropped_attributes_count", varint),
		}}),
		12: leaf("dropped_events_count", varint),
		13: sub("links", &descriptor{"Link", fields{
			1: leaf("trace_id", traceID), 2: leaf("span_id", spanID), 3: leaf("trace_state", text), 4: sub("attributes", keyValueShape),
			5: leaf("dropped_attributes_count", varint), 6: leaf("flags", fixed32),
		}}),
		14: leaf("dropped_links_count", varint),
		15: sub("status", &descriptor{"Status", fields{2: leaf("message", text), 3: leaf("code", varint)}}),
		16: leaf("flags", fixed32),
	}}
	logDescriptor = &descriptor{"LogRecord", fields{
		1: leaf("time_unix_nano", fixed64), 2: leaf("severity_number", varint), 3: leaf("severity_text", text),
		5: sub("body", anyValueShape), 6: sub("attributes", keyValueShape), 7: leaf("dropped_attributes_count", varint),
		8: leaf("flags", fixed32), 9: leaf("trace_id", traceID), 10: leaf("span_id", spanID),
		11: leaf("observed_time_unix_nano", fixed64), 12: leaf("event_name", text),
	}}
)

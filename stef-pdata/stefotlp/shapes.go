// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

type field struct {
	number int
	act    uint8
	name   string
	sub    *shape
}

func newShape(fields ...field) *shape { return new(shape).with(fields...) }

func (s *shape) with(fields ...field) *shape {
	for _, f := range fields {
		for wire := range 8 {
			if tag := f.number<<3 | wire; tag < len(s.acts) {
				s.acts[tag] = actWrong
			}
		}
		s.names[f.number], s.subs[f.number] = f.name, f.sub
		allow := func(wire int, act uint8) { s.acts[f.number<<3|wire] = act }
		switch f.act {
		case actFixed64:
			allow(wireFixed64, f.act)
		case actFixed32:
			allow(wireFixed32, f.act)
		case actVarint, actIgnored:
			allow(wireVarint, f.act)
		case actRuns:
			allow(wireBytes, f.act)
			allow(wireFixed64, actFixed64)
		case actRun:
			allow(wireBytes, f.act)
			allow(wireVarint, actVarint)
		default:
			allow(wireBytes, f.act)
		}
	}
	return s
}

// The shapes of messages that are checked in one pass. In all of them, attributes are
// bytes, because attributes have a shape of their own, pairShape.
var (
	pairShape, valueShape = valueShapes()
	valuesShape           = newShape(field{1, actBytes, "values", nil})

	resourceShape = newShape(
		field{1, actBytes, "attributes", nil},
		field{2, actVarint, "dropped_attributes_count", nil},
		field{3, actMessage, "entity_refs", newShape(
			field{1, actBytes, "schema_url", nil},
			field{2, actBytes, "type", nil},
			field{3, actBytes, "id_keys", nil},
			field{4, actBytes, "description_keys", nil},
		)},
	)
	scopeShape = newShape(
		field{1, actBytes, "name", nil},
		field{2, actBytes, "version", nil},
		field{3, actBytes, "attributes", nil},
		field{4, actVarint, "dropped_attributes_count", nil},
	)
)

func valueShapes() (pair, value *shape) {
	value = new(shape)
	pair = newShape(
		field{1, actBytes, "key", nil},
		field{2, actMessage, "value", value},
		field{3, actIgnored, "key_strindex", nil},
	)
	value.with(
		field{1, actBytes, "string_value", nil},
		field{2, actVarint, "bool_value", nil},
		field{3, actVarint, "int_value", nil},
		field{4, actFixed64, "double_value", nil},
		field{5, actNested, "array_value", newShape(field{1, actMessage, "values", value})},
		field{6, actNested, "kvlist_value", newShape(field{1, actMessage, "values", pair})},
		field{7, actBytes, "bytes_value", nil},
		field{8, actIgnored, "string_value_strindex", nil},
	)
	return pair, value
}

var metricShape = newShape(
	field{1, actBytes, "name", nil},
	field{2, actBytes, "description", nil},
	field{3, actBytes, "unit", nil},
	field{5, actBytes, "gauge", nil},
	field{7, actBytes, "sum", nil},
	field{9, actBytes, "histogram", nil},
	field{10, actBytes, "exponential_histogram", nil},
	field{11, actBytes, "summary", nil},
	field{12, actBytes, "metadata", nil},
)

// dataShapes are the shapes of the data of a Metric, by field number.
var dataShapes = func() [12]*shape {
	points := newShape(field{1, actBytes, "data_points", nil})
	temporality := field{2, actVarint, "aggregation_temporality", nil}
	histogram := newShape(field{1, actBytes, "data_points", nil}, temporality)
	sum := newShape(field{1, actBytes, "data_points", nil}, temporality, field{3, actVarint, "is_monotonic", nil})
	return [12]*shape{5: points, 7: sum, 9: histogram, 10: histogram, 11: points}
}()

var (
	times = []field{
		{2, actFixed64, "start_time_unix_nano", nil},
		{3, actFixed64, "time_unix_nano", nil},
	}
	exemplars = newShape(
		field{2, actFixed64, "time_unix_nano", nil},
		field{3, actFixed64, "as_double", nil},
		field{4, actBytes, "span_id", nil},
		field{5, actBytes, "trace_id", nil},
		field{6, actFixed64, "as_int", nil},
		field{7, actBytes, "filtered_attributes", nil},
	)
	numberShape = newShape(times...).with(
		field{4, actFixed64, "as_double", nil},
		field{5, actMessage, "exemplars", exemplars},
		field{6, actFixed64, "as_int", nil},
		field{7, actBytes, "attributes", nil},
		field{8, actVarint, "flags", nil},
	)
	histogramShape = newShape(times...).with(
		field{4, actFixed64, "count", nil},
		field{5, actFixed64, "sum", nil},
		field{6, actRuns, "bucket_counts", nil},
		field{7, actRuns, "explicit_bounds", nil},
		field{8, actMessage, "exemplars", exemplars},
		field{9, actBytes, "attributes", nil},
		field{10, actVarint, "flags", nil},
		field{11, actFixed64, "min", nil},
		field{12, actFixed64, "max", nil},
	)
	buckets = newShape(
		field{1, actVarint, "offset", nil},
		field{2, actRun, "bucket_counts", nil},
	)
	exponentialShape = newShape(times...).with(
		field{1, actBytes, "attributes", nil},
		field{4, actFixed64, "count", nil},
		field{5, actFixed64, "sum", nil},
		field{6, actVarint, "scale", nil},
		field{7, actFixed64, "zero_count", nil},
		field{8, actMessage, "positive", buckets},
		field{9, actMessage, "negative", buckets},
		field{10, actVarint, "flags", nil},
		field{11, actMessage, "exemplars", exemplars},
		field{12, actFixed64, "min", nil},
		field{13, actFixed64, "max", nil},
		field{14, actFixed64, "zero_threshold", nil},
	)
	summaryShape = newShape(times...).with(
		field{4, actFixed64, "count", nil},
		field{5, actFixed64, "sum", nil},
		field{6, actMessage, "quantile_values", newShape(
			field{1, actFixed64, "quantile", nil},
			field{2, actFixed64, "value", nil},
		)},
		field{7, actBytes, "attributes", nil},
		field{8, actVarint, "flags", nil},
	)
	eventShape = newShape(
		field{1, actFixed64, "time_unix_nano", nil},
		field{2, actBytes, "name", nil},
		field{3, actBytes, "attributes", nil},
		field{4, actVarint, "dropped_attributes_count", nil},
	)
	linkShape = newShape(
		field{1, actBytes, "trace_id", nil},
		field{2, actBytes, "span_id", nil},
		field{3, actBytes, "trace_state", nil},
		field{4, actBytes, "attributes", nil},
		field{5, actVarint, "dropped_attributes_count", nil},
		field{6, actFixed32, "flags", nil},
	)
	statusShape = newShape(
		field{2, actBytes, "message", nil},
		field{3, actVarint, "code", nil},
	)
	spanShape = newShape(
		field{1, actBytes, "trace_id", nil},
		field{2, actBytes, "span_id", nil},
		field{3, actBytes, "trace_state", nil},
		field{4, actBytes, "parent_span_id", nil},
		field{5, actBytes, "name", nil},
		field{6, actVarint, "kind", nil},
		field{7, actFixed64, "start_time_unix_nano", nil},
		field{8, actFixed64, "end_time_unix_nano", nil},
		field{9, actBytes, "attributes", nil},
		field{10, actVarint, "dropped_attributes_count", nil},
		field{11, actMessage, "events", eventShape},
		field{12, actVarint, "dropped_events_count", nil},
		field{13, actMessage, "links", linkShape},
		field{14, actVarint, "dropped_links_count", nil},
		field{15, actMessage, "status", statusShape},
		field{16, actFixed32, "flags", nil},
	)
	recordShape = newShape(
		field{1, actFixed64, "time_unix_nano", nil},
		field{2, actVarint, "severity_number", nil},
		field{3, actBytes, "severity_text", nil},
		field{5, actMessage, "body", valueShape},
		field{6, actBytes, "attributes", nil},
		field{7, actVarint, "dropped_attributes_count", nil},
		field{8, actFixed32, "flags", nil},
		field{9, actBytes, "trace_id", nil},
		field{10, actBytes, "span_id", nil},
		field{11, actFixed64, "observed_time_unix_nano", nil},
		field{12, actBytes, "event_name", nil},
	)
)

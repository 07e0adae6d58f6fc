// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package otelstef has the OpenTelemetry records of STEF, Metrics, Spans and
// Logs, with their writers and readers. The files that end in .stef.go are
// generated from stef-spec/otel.stef and, for the compact form, stef-spec/compact.stef. A writer embeds a stefrt.WriteStream and a reader a
// stefrt.ReadStream, which have Flush, Close, Stats, Schema and Err:
// go doc github.com/otelstef/stef/stef-go/stefrt.WriteStream. The examples in
// stef-go/otelstef/example_test.go, which go doc does not print, write and read streams.
//
// # Schemas
//
// A writer writes one of three schemas. Readers of this package read all of them.
//
//   - The full schema, without an option: any reader that follows the schema file can read
//     the fields, which have plain values.
//   - The compact form, with [CompactMetrics], [CompactSpans] or [CompactLogs]: usually
//     the smallest streams. Both ends must know the form. It is the default of the Collector
//     exporter and of stef convert. Very regular values can be smaller in the full schema:
//     compare with stef convert --schema full.
//   - The published schema, with [PublishedMetrics] or [PublishedSpans], for the reference
//     implementation. It has no logs and lacks some fields.
//
// The last of several such options counts. Over gRPC the options of the stream choose the
// newest schema that both ends know.
//
// The method Schema of a reader or writer returns the schema of its stream: it has the compact
// form if slices.Equal(r.Schema(), otelstef.SpansCompactSchema()), and the full schema if it
// equals SpansSchema().
//
// These fields belong to the compact form. Programs neither set nor get them:
//
//   - Metrics: Compact, Number
//   - Point: CompactExemplars
//   - Spans: Compact, ID, Start, Duration
//   - Logs: Compact, Trace, Known, ID
//   - LogRecord: CompactTime, CompactObserved, CompactForm
//
// # Setting fields
//
// The resource, scope and metric of a record may be shared with other records. Change them
// with EditResource, EditScope and EditMetric. All other data belong to the record: call
// Record, Span or Point, and set the fields of the result. The attributes of a point are those of
// its record: w.Record().Attributes(). The methods Resource, Scope and Metric return the value
// itself. Its setters work while the value belongs to the record alone. They panic as soon as the
// value is shared, for example after SetMetric, or after CopyFrom of a reader's record.
//
// Times are nanoseconds since 1970. A Point has Timestamp and StartTimestamp, a Span
// StartTimeUnixNano and EndTimeUnixNano, an Event TimeUnixNano, and a LogRecord Time and
// ObservedTime. Severity numbers and status codes are
// uint64, with the constants SeverityInfo, StatusCodeError and others of this package.
//
// A sum or a histogram needs SetAggregationTemporality, and a sum that only grows needs
// SetMonotonic(true). Without SetAggregationTemporality, converters to OTLP write an unspecified
// temporality, and backends may drop such metrics.
//
// Writers do not check that the fields of a record fit together. They write a value whose type
// does not fit its metric, such as SetInt64 with MetricTypeHistogram. Converters to OTLP omit
// such a point and report it. Writers also write histograms whose number of buckets is not the
// number of HistogramBounds plus one. Converters do not change the buckets of such a histogram.
//
// # Records keep their content
//
// A record keeps its content from one Write to the next. This includes lists and maps:
// Append adds to the content of the previous record. Call Reset of the map or list first,
// also of Events, Links and Exemplars. SetValues replaces a list of numbers.
//
// To change one attribute, set the value that Get returns. It is nil if the key is new; then append:
//
//	if v := attributes.Get(key); v != nil {
//		v.SetString(text)
//	} else {
//		attributes.AppendString(key, text)
//	}
//
// To keep a record, create a record with NewMetrics, NewSpans or NewLogs, and call its CopyFrom.
// Assignment copies only parts of a record. go vet reports the assignment of a variable (*rec),
// but not of the result of a call (*w.Record()).
//
// # Ids
//
// Ids of traces and spans are bytes, 16 and 8, or empty. Writers do not check the
// length. In the published schema the ids of spans and links are lower-case hexadecimal text
// instead, of 32 and 16 characters (specification 11.3). Programs that write this schema must
// set such ids, and programs that read it get such ids. Readers that convert records to OTLP
// accept hexadecimal text of these lengths in every schema, and reject other lengths. Package
// stefpdata converts ids.
//
// # Reading logs of other writers
//
// Two fields have two forms; a writer chooses the form for each record. A text body is String
// or Template; LogBody.Text reads both, and reports whether there is a text. The observed time is
// ObservedTime, or Time plus ObservedDelta; LogRecord.Observed reads both. A program that reads only
// one form gets empty bodies and time 0 for records in the other form. To change a time of a copied
// record, first call SetObservedTime(Observed()) and UnsetObservedDelta: with ObservedDelta, SetTime
// moves the observed time, too, and SetObservedTime has no effect on it.
//
// # JSON
//
// MarshalJSON prints a record for people and logs. It uses the names of the schema, not those
// of OTLP. Bytes, also ids, are base64; NaN and infinities are text. A map with repeated keys
// is a list of pairs. The body of a log record has the form that the stream has, for example
// Template with Params. Fields of the compact form are printed, too. No function reads this
// JSON. stef convert writes OTLP JSON, and package stefpdata converts records to pdata, which
// can be marshaled.
//
// # Kinds of streams
//
// A stream does not name its root. A reader of the wrong root fails with
// ErrSchema or ErrCorrupt, or returns wrong records. So keep the kinds apart by file name,
// address or user data.
package otelstef

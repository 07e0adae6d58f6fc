// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package otelstef has the OpenTelemetry records of STEF, Metrics, Spans and
// Logs, with their writers and readers. The files that end in .stef.go are
// generated from stef-spec/otel.stef. A writer embeds a stefrt.WriteStream and a reader a
// stefrt.ReadStream, which have Flush, Close, Stats, Schema and Err:
// go doc github.com/otelstef/stef/stef-go/stefrt.WriteStream.
//
// # Schemas
//
// A writer writes one of three schemas. Readers of this package read all of them.
//
//   - The full schema, without an option: any reader that follows the schema file reads the
//     fields as they are.
//   - The compact form, with [CompactMetrics], [CompactSpans] or [CompactLogs]: mostly
//     the smallest, for two ends that know it. It is the default of the Collector exporter and
//     of stef convert. Very regular values can be smaller in the full schema: compare with
//     stef convert --schema full.
//   - The published schema, with [PublishedMetrics] or [PublishedSpans], for the reference
//     implementation. It has no logs and lacks some fields.
//
// The last of several such options counts. Over gRPC the options of the stream choose the
// newest schema that both ends know.
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
// with EditResource, EditScope and EditMetric. Everything else belongs to the record: get it
// with Record, Span or Point and set its fields.
//
// # Records keep their content
//
// A record keeps its content from one Write to the next, also its lists and maps: Append
// adds to the pairs of the record before. Call Reset of the map first.
//
// # Ids
//
// Ids of traces and spans are bytes, 16 and 8, or empty. Writers do not check the length;
// readers that make OTLP of them reject other lengths. In the published schema ids of spans
// and of links are lower-case hexadecimal text instead, of 32 and 16 characters
// (specification 11.3): a program that writes records in it sets them so, and a program
// that reads records gets them as they were written. Schema of a reader or writer tells the
// schemas apart. Package stef-pdata converts ids.
//
// # Reading logs of others
//
// A writer chooses the form of two fields for each record. A text body is String or
// Template; LogBody.Text returns both. The observed time is ObservedTime, or Time plus
// ObservedDelta; LogRecord.Observed returns both. A reader that looks at one form only
// sees empty bodies and time 0.
//
// # JSON
//
// MarshalJSON prints a record for people and logs, by the names of the schema, not as OTLP:
// bytes, also ids, are base64, NaN and infinities are text, the body of a log record is in
// the form that it has (Template with Params, for example), and what belongs to the compact
// form is printed, too. Nothing reads it back. stef convert writes OTLP JSON, and package
// stefpdata converts records to pdata, which can be marshaled.
//
// # Kinds of streams
//
// A stream does not name its root. A reader of another root than the stream's fails with
// ErrSchema or ErrCorrupt, or reads wrong records, so keep the kinds apart by file name,
// address or user data.
package otelstef

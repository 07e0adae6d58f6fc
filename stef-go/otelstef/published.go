// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	stef "github.com/otelstef/stef/stef-go"
)

// PublishedMetrics makes a writer of metrics use the published schema: the schema of the
// reference implementation at v0.1.2. Every reader of STEF metrics can read it. The published
// schema omits the flags of points, and entity references.
func PublishedMetrics() stef.WriterOption { return stef.WithSchema(MetricsBaseSchema()) }

// PublishedSpans is like PublishedMetrics, but for spans. The published schema omits the counts
// of dropped events and links, and entity references. Programs must set ids of spans and links
// as lower-case hexadecimal text, of 32 characters for traces and 16 for spans.
func PublishedSpans() stef.WriterOption { return stef.WithSchema(SpansBaseSchema()) }

// CompactMetrics makes a writer of metrics write in the compact form: the writer sends times and
// values as differences from earlier points of their series. Programs set and get
// the fields of records as in the full schema. Only readers that know the form can read
// the stream: the readers of this package, and others that follow the specification.
func CompactMetrics() stef.WriterOption { return stef.WithSchema(MetricsCompactSchema()) }

// CompactSpans is like CompactMetrics, but for spans: the writer sends parents and traces as
// references to ids that were sent before, and times as differences.
func CompactSpans() stef.WriterOption { return stef.WithSchema(SpansCompactSchema()) }

// CompactLogs is like CompactMetrics, but for log records. Readers set ObservedTime in
// records, never ObservedDelta.
func CompactLogs() stef.WriterOption { return stef.WithSchema(LogsCompactSchema()) }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	stef "github.com/otelstef/stef/stef-go"
)

// PublishedMetrics makes a writer of metrics write in the published schema, that of
// the reference implementation at v0.1.2, which every reader of STEF metrics
// reads. It leaves out the flags of points and entity references.
func PublishedMetrics() stef.WriterOption { return stef.WithSchema(MetricsBaseSchema()) }

// PublishedSpans is PublishedMetrics for spans. It leaves out dropped event
// and link counts and entity references.
func PublishedSpans() stef.WriterOption { return stef.WithSchema(SpansBaseSchema()) }

// CompactMetrics makes a writer of metrics write in the compact form: times and values
// go out as differences from what the stream has said of their series. Records are
// written and read as in the full schema, and streams are about half the size. Only
// readers of this form read them: those of this package, and what the specification
// made.
func CompactMetrics() stef.WriterOption { return stef.WithSchema(MetricsCompactSchema()) }

// CompactSpans is CompactMetrics for spans: parents and traces go out as references
// to ids of the stream, times as differences.
func CompactSpans() stef.WriterOption { return stef.WithSchema(SpansCompactSchema()) }

// CompactLogs is CompactMetrics for log records. Observed times are read as such,
// never as ObservedDelta.
func CompactLogs() stef.WriterOption { return stef.WithSchema(LogsCompactSchema()) }

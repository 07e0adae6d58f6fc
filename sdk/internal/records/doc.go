// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package records writes the types of the OpenTelemetry SDK for Go as STEF
// records: spans, metrics and log records, without pdata or OTLP in between.
//
// An encoder belongs to one stream and one goroutine at a time. It reads the
// data of the SDK during Encode only, and keeps of it nothing but text,
// resources, scopes and attribute sets, which the SDK never changes. The
// number of those is bounded by maxContainers and maxSets.
//
// The mapping is that of the OTLP exporters of the SDK, with two differences:
// the trace state of a link, which they drop, is written, and metrics without
// points are not, because a record is a point. The tests compare every field.
//
// # Limits
//
// An item with more than stef.MaxPairs attributes in one list, nested deeper
// than MaxDepth or larger than MaxItemBytes is left out. OmittedError reports
// how many; the other items are written.
package records

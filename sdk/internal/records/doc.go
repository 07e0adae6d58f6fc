// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package records writes the types of the OpenTelemetry SDK for Go as STEF
// records: spans, metrics and log records, without pdata or OTLP in between.
//
// An encoder belongs to one stream and one goroutine at a time. It reads the data of
// the SDK during Encode only. Afterwards it keeps only text, resources, scopes and
// attribute sets, which the SDK never changes; maxContainers and maxSets bound their
// number.
//
// The mapping is the same as in the OTLP exporters of the SDK, with three differences. The
// trace state of a link is written; the OTLP exporters drop it. Resources that differ
// only in their schema URL are not merged. Metrics without points are not written,
// because a record is a point. The tests compare every field.
//
// # Limits
//
// An item is left out if it has more than stef.MaxPairs attributes in one list, is nested deeper
// than MaxDepth or is larger than MaxItemBytes. OmittedError reports how many items are left out.
// The other items are written.
package records

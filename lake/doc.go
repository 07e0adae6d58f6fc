// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package lake writes OpenTelemetry data as wide tables, for Parquet and Arrow, and
// reads them back. A row is one data point, span or log record with everything that
// describes it, so that queries need no joins.
//
// docs/data-lake.md describes the columns. In short: text in dictionary columns,
// attributes as a map of texts, times as timestamps in nanoseconds, ids as fixed binary,
// and null for unset fields.
//
// The tables are lossless: a reader returns the items that were written, bit for bit,
// but not their grouping into messages. The readable columns cannot represent all content of
// OTLP, such as text that is not UTF-8, attributes with equal keys, and times after the year
// 2262. An item with such content is also stored in the column otlp, as OTLP protobuf.
//
// A [Writer] holds up to two record batches and one row group in memory, whatever the
// size of the input. It encodes Parquet in several goroutines, which end with
// [Writer.Close]; the bytes of the file do not depend on the number of goroutines. A [Reader]
// holds one record batch, and rejects files that need more memory than [Limits] allow. Damaged
// files cause errors, see [ErrCorrupt].
package lake

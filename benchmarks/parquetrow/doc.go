// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package parquetrow holds telemetry as the rows of wide tables, for Parquet:
// one row a data point, span or log record, with all that is true of it in the
// columns of the row, so that no query has to join. Attributes are repeated
// groups with columns by the type of value, as in Grafana Tempo's block format;
// arrays and maps within attributes are bytes (package nested).
//
// The encoding of each column is in its tag, chosen by the size of files under
// zstd: dictionaries for text that returns, BYTE_STREAM_SPLIT for doubles, nulls
// in place of zeros. Time stamps of metrics and spans are plain, as zstd makes
// less of DELTA_BINARY_PACKED; those of logs are packed. Containers have a
// number, so that a reader rebuilds them without comparing attributes. Sorted
// rows compress better and are what table formats ask for; the Sort functions
// put them into the order that serves both scans and size.
//
// Everything comes back but
//
//	resources, scopes and metrics without items: nothing holds them
//	entity references of resources: no column holds them
//	the order among attributes that are text and those that are not
package parquetrow

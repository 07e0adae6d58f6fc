// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package parquetrow holds telemetry as the rows of wide tables, for Parquet.
// One row is a data point, span or log record, with everything that describes
// it in the columns of the row, so that no query needs a join. Attributes are
// repeated groups with columns by the type of value, as in Grafana Tempo's
// block format; arrays and maps within attributes are bytes (package nested).
//
// The encoding of each column is in its tag, chosen by the size of files under
// zstd: dictionaries for text that repeats, BYTE_STREAM_SPLIT for doubles,
// nulls instead of zeros. Time stamps of metrics and spans are plain, because
// zstd compresses DELTA_BINARY_PACKED less well; those of logs are packed.
// Containers have a number, so that a reader rebuilds them without comparing
// attributes. Sorted rows compress better, and table formats expect them; the
// Sort functions use an order that serves both scans and size.
//
// Decoding restores everything except
//
//	resources, scopes and metrics without items: nothing holds them
//	entity references of resources: no column holds them
//	the order among attributes that are text and those that are not
package parquetrow

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package columnfile writes Parquet files from Arrow record batches. It uses the metadata and page
// headers of Arrow's Parquet library, but encodes values itself. It supports only a part of the
// format. It is faster than Arrow's library for the tables of package lake:
//
//   - For a dictionary column of a batch, only the distinct values are hashed, not the value
//     of each row.
//   - Callers pass one value for each run of rows with equal values in a column.
//   - The columns of a batch are encoded by several goroutines.
//
// The same batches give the same bytes, whatever the number of goroutines.
package columnfile

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package columnfile writes Parquet files from Arrow record batches. It uses the metadata and page
// headers of Arrow's Parquet library, but encodes values itself. It supports a smaller part of the
// format than this library, and is faster where the tables of package lake are large:
//
//   - Dictionary columns of a batch are written by their indexes. Only the distinct values
//     of a batch are hashed, not the value of each row.
//   - Columns with equal values in runs of rows are passed with one value for each run.
//   - The columns of a batch are encoded by several goroutines.
//
// The same batches give the same bytes, whatever the number of goroutines.
package columnfile

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package columnfile writes Parquet files from Arrow record batches. It writes less of the
// format than the library whose metadata and page headers it uses, and is faster where the
// tables of package lake are large:
//
//   - Dictionary columns of a batch are written as the indexes that they are. Only the
//     distinct values of a batch are hashed.
//   - Columns that many rows share in sequence are passed once for each run of rows.
//   - The columns of a batch are encoded by several goroutines.
//
// The same batches give the same bytes, whatever the number of goroutines.
package columnfile

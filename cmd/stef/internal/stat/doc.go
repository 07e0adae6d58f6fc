// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stat measures where the bytes of a STEF stream go: headers, frames,
// columns and dictionaries.
//
// A column has bytes of its own in each frame, so without compression there is
// nothing to estimate. Under zstd there is no such thing as the bytes of a
// column: it sees the columns of a frame, and the frames before it, as one
// text. What a column would take alone can be measured, though, and that is
// what the package does: it takes the bytes of the column from all frames and
// compresses them by themselves, in pieces of up to alonePiece bytes. Columns
// lose by that what they repeat of each other, and gain what blocks cost that a
// frame begins anew; the sum over all columns, which is printed, tells how far
// it is from the truth.
//
// The engine is package dynamic: it decodes every record, strictly, so a report
// is of a stream that is sound.
package stat

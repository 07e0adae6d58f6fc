// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stat measures where the bytes of a STEF stream go: headers, frames,
// columns and dictionaries.
//
// A column has bytes of its own in each frame, so its size before compression is
// exact. After zstd it has none: zstd compresses the columns of a frame, and the
// frames before it, as one text. The package measures what a column would need
// alone: it collects the bytes of the column from all frames and compresses them
// by themselves, in pieces of up to alonePiece bytes. That loses what columns
// repeat of each other, and saves what the blocks of each frame cost. The sum over
// all columns is printed, so that readers see how far it is from the size of the
// file.
//
// The engine is package dynamic: it decodes every record, strictly, so a report
// is of a stream that is sound.
package stat

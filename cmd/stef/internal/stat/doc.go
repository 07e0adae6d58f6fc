// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stat measures where the bytes of a STEF stream go: headers, frames,
// columns and dictionaries.
//
// A column has its own bytes in each frame, so its size before compression is
// exact. After compression it has no bytes of its own: zstd compresses the columns of
// a frame together, and refers to earlier frames. So the package
// measures the size that a column would need alone: it collects the bytes of
// the column from all frames and compresses them separately, in pieces of up to
// alonePiece bytes. This cannot use repetitions between columns, and it saves
// the cost of the blocks of each frame. The sum over all columns is printed, so
// that readers see how much it differs from the size of the file.
//
// Package dynamic decodes every record, strictly, so every report is about a
// valid stream.
package stat

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamic reads and writes STEF streams of any schema, on plain values.
//
// It is the slow and obvious implementation of the format. The generated code
// is fast and knows one schema; this package interprets a schema.Struct at run
// time, reads bits one at a time and checks everything the format says. Tests
// hold the generated code against it, and the file tool works on it because a
// tool cannot know the schema when it is compiled. It shares nothing with the
// fast implementation but the schema types, so the two cannot be wrong in the
// same way.
//
// A Reader turns a stream into records, a Writer records into a stream:
//
//	r, err := dynamic.NewReader(src, root)
//	for r.Next() {
//		fmt.Println(r.Record())
//	}
//	err = r.Err()
//
// A record is a *Struct; value.go has the types of what is in it. The values a
// Reader returns share parts with each other and must not be modified; Clone
// makes a copy that may be.
//
// # How it works
//
// From the schema grows a tree of columns (column.go). Each column has a run of
// bits or bytes in every frame. Decoding a record is a descent through the
// columns, which knows the value that the previous record had at the same place
// (decode.go). Encoding is the same descent and compares with that value
// (encode.go). Sizes, flags and compression, which belong to frames, are in
// frame.go, header.go and zstd.go.
//
// # Looking at bytes
//
// WithFrameFunc reports how large the columns of each frame are. WithTrace reports
// every element of a stream with its bits and what they mean; package annotate
// prints that.
//
// # Limits
//
// A Reader refuses with ErrLimit what the limits of the format refuse, 1023
// pairs in a multimap and 256 bytes in a key or value of the user data among
// them, and what would make it use memory out of proportion: see
// WithMaxRecordBytes, WithMaxDictBytes, MaxDepth and MaxZstdWindow. A Writer
// refuses to write what a Reader would refuse to read.
package dynamic

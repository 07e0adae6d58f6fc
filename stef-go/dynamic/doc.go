// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamic reads and writes STEF streams of any schema, on plain values.
//
// It is the slow and simple implementation of the format. The generated code is fast
// and knows one schema; this package interprets a schema.Struct at run time, reads bits
// one at a time and checks every rule of the format. Tests compare the generated code
// with this package. The file tool uses this package, because it does not know the schema at
// compile time. The two implementations share only the schema types, so that they do not
// share errors.
//
// A Reader converts a stream into records, and a Writer converts records into a stream:
//
//	r, err := dynamic.NewReader(src, root)
//	for r.Next() {
//		fmt.Println(r.Record())
//	}
//	err = r.Err()
//
// A record is a *Struct, whose comment lists the Go types of its contents: an int64 is an
// int64, an enum a uint64, bytes are a []byte, a list is an *Array. The values that a
// Reader returns share parts with each other and must not be modified; Clone makes a
// copy that can be modified.
//
// # How it works
//
// The schema determines a tree of columns (column.go). Each column has some bits or bytes in every frame.
// The reader decodes a record from the root of the tree downwards. Each value is decoded relative to the
// value of the previous record at the same place (decode.go). The writer also works from the root
// downwards, and compares with that value (encode.go). frame.go, header.go and zstd.go handle frames:
// sizes, flags and compression.
//
// # The compact form
//
// In the compact form of OpenTelemetry, a stream has differences instead of times,
// values and ids. A Reader of this package returns these differences. Package plain
// converts its records to the full schema.
//
// # Looking at bytes
//
// WithFrameFunc reports the sizes of the columns of each frame. WithTrace reports
// every element of a stream with its bits and their meaning; package annotate prints
// them.
//
// # Limits
//
// A Reader refuses with ErrLimit everything that exceeds the limits of the format, such
// as 1023 pairs in a multimap and 256 bytes in a key or value of the user data. It also
// refuses streams that need much more memory than they have bytes: see
// WithMaxRecordBytes, WithMaxDictBytes, WithMaxDepth and MaxWindowBytes. A Writer
// refuses to write what a Reader would refuse to read by default.
package dynamic

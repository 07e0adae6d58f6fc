// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import "io"

// RecordWriter is what a destination of a stream implements if it wants to know
// which records it has been given, as a transport does that waits until they
// are acknowledged. A writer calls WriteRecords in place of Write then.
//
// Each call is one chunk: the fixed header, the variable header or a frame.
// last is the id of the last record in this chunk and all before it, counted
// from 1 at the beginning of the stream; the headers have 0. As with Write, the
// chunk must not be changed and not be kept.
type RecordWriter interface {
	io.Writer
	WriteRecords(chunk []byte, last uint64) (n int, err error)
}

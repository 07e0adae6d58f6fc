// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import "io"

// RecordWriter is implemented by destinations that need to know which records they
// receive, such as a transport that waits for acknowledgements. A writer calls
// WriteRecords of such a destination instead of Write.
//
// Each call is one chunk: the fixed header, the variable header or a frame. last is the id of the
// last record in the stream up to the end of this chunk. Ids count from 1 at the beginning of the
// stream; last is 0 for the headers. As with Write, the destination must neither change nor keep
// the chunk.
type RecordWriter interface {
	io.Writer
	WriteRecords(chunk []byte, last uint64) (n int, err error)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

// WriterStats are counts of what a writer wrote.
type WriterStats struct {
	// Records is the number of records written, including those in the unfinished
	// frame. It is also the id of the last record.
	Records uint64
	// Flushed is the number of records in frames that were written to the
	// destination.
	Flushed uint64
	// Frames is the number of frames written to the destination, not counting the
	// variable header.
	Frames int
	// Bytes is the number of bytes written to the destination.
	Bytes int64
	// Compression is the compression of the stream.
	Compression Compression
	// DictBytes is the memory of the dictionaries, by the accounting of the
	// specification.
	DictBytes int
}

// ReaderStats are counts of what a reader read.
type ReaderStats struct {
	// Records is the number of records read. It is also the id of the last record.
	Records uint64
	// Frames is the number of frames that the reader has begun to read, including an
	// incomplete or invalid last frame, but not the variable header.
	Frames int
	// Bytes is the number of bytes of the stream that were consumed.
	Bytes int64
	// PlainBytes is the uncompressed size of the frames that were read.
	PlainBytes int64
	// FrameFlags are the flags of the last frame.
	FrameFlags FrameFlags
	// Compression is the compression of the stream.
	Compression Compression
	// DictBytes is the memory of the dictionaries, by the accounting of the
	// specification.
	DictBytes int
	// HeldBytes estimates the memory that the reader holds between two frames:
	// the dictionaries, the buffers of the last frame, and with zstd the window.
	HeldBytes int
	// AddedBytes is the memory that was allocated for records and entries of
	// dictionaries, summed over the stream: a restart of the dictionaries does not
	// decrease it. Work counts, too: for values that have few or no bytes in the stream,
	// the reader adds an eighth of the bytes that it copied, hashed or compared. Such
	// values are references to dictionary entries, and values restored from the compact
	// form.
	AddedBytes int64
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import "sync"

// buffers pools the frame buffers of streams that ended, for new streams.
var buffers sync.Pool // of *[]byte

// largestBuffer is the size of the largest pooled buffer, so that one large frame
// does not occupy memory forever.
const largestBuffer = 8 << 20

// largestKept is the size of the largest buffer that a reader or writer keeps for its next
// stream.
const largestKept = 64 << 10

func takeBuffer() []byte {
	if b, ok := buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func releaseBuffer(b []byte) {
	if cap(b) >= readBuffer && cap(b) <= largestBuffer {
		empty := b[:0] // not b: a parameter that escapes is allocated on every call
		buffers.Put(&empty)
	}
}

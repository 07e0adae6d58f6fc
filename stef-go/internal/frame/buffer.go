// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import "sync"

// buffers holds the frame buffers of streams that ended, for streams that
// begin.
var buffers sync.Pool // of *[]byte

// largestBuffer is the largest buffer that is kept, so that one large frame
// does not hold its memory for good.
const largestBuffer = 8 << 20

func takeBuffer() []byte {
	if b, ok := buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func releaseBuffer(b []byte) {
	if cap(b) >= readBuffer && cap(b) <= largestBuffer {
		b = b[:0]
		buffers.Put(&b)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"math/bits"
	"sync"
)

// buffers pools the frame buffers of streams that ended, for new streams. The index is the
// number of bits of the capacity.
var buffers [largestBits + 1]sync.Pool // of *[]byte

const (
	// smallestBuffer is the size of the smallest pooled buffer.
	smallestBuffer = 512
	// largestBuffer is the size of the largest pooled buffer, so that one large frame
	// does not occupy memory forever.
	largestBuffer = 1<<largestBits - 1
	largestBits   = 23
	// takeBuffer may return a buffer that is 1<<smallerBits times smaller than requested, because
	// the buffer of a writer holds compressed frames.
	smallerBits = 5
)

// largestKept is the size of the largest buffer that a reader or writer keeps for its next
// stream.
const largestKept = 64 << 10

// takeBuffer returns a pooled buffer for frames of n bytes, or nil if the pool has none. The
// capacity is less than twice n, or less than 1 KiB if n is small: a stream of small frames must
// not hold the memory of a large frame.
func takeBuffer(n int) []byte {
	most := min(bits.Len(uint(max(n, smallestBuffer))), largestBits)
	for size := most; size >= max(most-smallerBits, bits.Len(smallestBuffer)); size-- {
		if b, ok := buffers[size].Get().(*[]byte); ok {
			return (*b)[:0]
		}
	}
	return nil
}

// smallBuffer returns a pooled or new buffer for some hundred bytes.
func smallBuffer() []byte {
	if b := takeBuffer(smallestBuffer); b != nil {
		return b
	}
	return make([]byte, 0, smallestBuffer)
}

func releaseBuffer(b []byte) {
	if cap(b) >= smallestBuffer && cap(b) <= largestBuffer {
		empty := b[:0] // not b: a parameter that escapes is allocated on every call
		buffers[bits.Len(uint(cap(b)))].Put(&empty)
	}
}

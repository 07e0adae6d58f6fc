// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"sync"
	"time"
)

// blockSize is the size of the blocks of a fifo in bytes. HTTP/2 readers and writers use the same size.
const blockSize = 32 << 10

var blockPool = sync.Pool{New: func() any { return new([blockSize]byte) }}

// fifo holds bytes and, separately, the times from which they may be read.
type fifo struct {
	blocks []*[blockSize]byte
	head   int // index of the first unread byte of blocks[0]
	size   int // number of stored bytes
	marks  []mark
}

// mark says that the bytes up to end may be read at the time due or later. end counts from
// the first byte that was written to the fifo. Both fields increase from mark to mark.
type mark struct {
	end int64
	due time.Time
}

func (f *fifo) write(p []byte) {
	for len(p) > 0 {
		tail := (f.head + f.size) % blockSize
		if f.head+f.size == len(f.blocks)*blockSize {
			f.blocks = append(f.blocks, blockPool.Get().(*[blockSize]byte))
		}
		n := copy(f.blocks[len(f.blocks)-1][tail:], p)
		f.size += n
		p = p[n:]
	}
}

// read moves min(len(p), f.size) bytes to p.
func (f *fifo) read(p []byte) int {
	total := 0
	for total < len(p) && f.size > 0 {
		block := f.blocks[0][f.head:min(blockSize, f.head+f.size)]
		n := copy(p[total:], block)
		total += n
		f.head += n
		f.size -= n
		if f.head == blockSize || f.size == 0 {
			f.dropBlock()
		}
	}
	return total
}

func (f *fifo) dropBlock() {
	blockPool.Put(f.blocks[0])
	f.blocks[0] = nil
	f.blocks = f.blocks[1:]
	f.head = 0
	if len(f.blocks) == 0 {
		f.blocks = nil
	}
}

// mark records that the time due applies to all bytes up to end that have no time yet.
func (f *fifo) mark(end int64, due time.Time) {
	if n := len(f.marks); n > 0 && f.marks[n-1].due.Equal(due) {
		f.marks[n-1].end = end
		return
	}
	f.marks = append(f.marks, mark{end, due})
}

// due returns how many bytes may be read now. read is the number of bytes that were read before.
// If later bytes are not due yet, next is the time at which the first of them is due.
func (f *fifo) due(read int64, now time.Time) (ready int64, next time.Time) {
	for len(f.marks) > 0 && f.marks[0].end <= read {
		f.marks = f.marks[1:]
	}
	for _, m := range f.marks {
		if m.due.After(now) {
			return ready, m.due
		}
		ready = m.end - read
	}
	return ready, time.Time{}
}

func (f *fifo) reset() {
	for len(f.blocks) > 0 {
		f.dropBlock()
	}
	*f = fifo{}
}

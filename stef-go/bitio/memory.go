// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Memory pools the buffers of ended streams, so that new streams reuse them. A new stream
// usually needs as much memory as the last stream, and reuse saves the time to map, clear
// and collect memory. The garbage collector empties the pool.
type Memory[T any] struct {
	// Each pool has the buffers of one capacity. So a pool stores only pointers to the first
	// elements, and putting a pointer into a pool does not allocate.
	pools [memoryClasses]sync.Pool
}

const (
	// Buffers shorter than 1<<pooledBits are not worth pooling, and buffers longer
	// than 1<<largestBits would hold too much memory.
	pooledBits  = 6
	largestBits = 24
	// Four classes for each power of two: at most a fifth of a buffer is unused.
	memoryClasses = 4*(largestBits-pooledBits) + 1
)

// memoryClass returns the class of buffers for n elements, at most
// 1<<largestBits, and their capacity.
func memoryClass(n int) (class, size int) {
	if n <= 1<<pooledBits {
		return 0, 1 << pooledBits
	}
	top := bits.Len(uint(n-1)) - 1
	quarter := 1 << (top - 2)
	steps := (n-1-1<<top)/quarter + 1
	return 4*(top-pooledBits) + steps, 1<<top + steps*quarter
}

// Take returns an empty buffer with capacity for n elements. The memory beyond its
// length is not cleared.
func (m *Memory[T]) Take(n int) []T {
	if n < 1<<pooledBits || n > 1<<largestBits {
		return make([]T, 0, n)
	}
	class, size := memoryClass(n)
	if first, ok := m.pools[class].Get().(*T); ok {
		return unsafe.Slice(first, size)[:0]
	}
	return make([]T, 0, size)
}

// Give returns an unused buffer to the pool.
func (m *Memory[T]) Give(b []T) {
	if cap(b) < 1<<pooledBits || cap(b) > 1<<largestBits {
		return
	}
	if class, size := memoryClass(cap(b)); size == cap(b) {
		m.pools[class].Put(unsafe.SliceData(b))
	}
}

var columns Memory[byte]

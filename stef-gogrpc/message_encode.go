// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// segmentBytes is the size of the buffers a message is cut into: a size gRPC
// has a pool for, of which little is left empty.
const segmentBytes = 32 << 10

// size returns the length of the message in bytes.
func (m *clientMessage) size() int {
	n := 0
	if m.first {
		n += sizeBytes(fieldFirst, sizeRoot(m.root))
	}
	if len(m.bytes) > 0 {
		n += sizeBytes(fieldBytes, len(m.bytes))
	}
	if m.endOfChunk {
		n += 2
	}
	return n
}

// encode returns the message in buffers of a pool.
func (m *clientMessage) encode(pool mem.BufferPool) mem.BufferSlice {
	size := m.size()
	if mem.IsBelowBufferPoolingThreshold(size) {
		return mem.BufferSlice{mem.SliceBuffer(m.append(make([]byte, 0, size)))}
	}
	var head, tail [16]byte
	w := segments{pool: pool, left: size, out: make(mem.BufferSlice, 0, (size+segmentBytes-1)/segmentBytes)}
	if m.first {
		w.write(m.appendFirst(nil))
	}
	w.write(m.appendBytesHeader(head[:0]))
	w.write(m.bytes)
	w.write(m.appendEnd(tail[:0]))
	return w.out
}

// append adds the message to b.
func (m *clientMessage) append(b []byte) []byte {
	if m.first {
		b = m.appendFirst(b)
	}
	b = m.appendBytesHeader(b)
	b = append(b, m.bytes...)
	return m.appendEnd(b)
}

func (m *clientMessage) appendFirst(b []byte) []byte {
	b = appendBytesHeader(b, fieldFirst, sizeRoot(m.root))
	if m.root != "" {
		b = appendBytesHeader(b, fieldRoot, len(m.root))
		b = append(b, m.root...)
	}
	return b
}

func (m *clientMessage) appendBytesHeader(b []byte) []byte {
	if len(m.bytes) == 0 {
		return b
	}
	return appendBytesHeader(b, fieldBytes, len(m.bytes))
}

func (m *clientMessage) appendEnd(b []byte) []byte {
	if m.endOfChunk {
		b = protowire.AppendTag(b, fieldEndOfChunk, protowire.VarintType)
		b = protowire.AppendVarint(b, 1)
	}
	return b
}

func sizeRoot(root string) int {
	if root == "" {
		return 0
	}
	return sizeBytes(fieldRoot, len(root))
}

// segments copies bytes into buffers of a pool that are full but for the last.
type segments struct {
	pool mem.BufferPool
	left int    // bytes that are not in a buffer yet
	room []byte // of the last buffer
	out  mem.BufferSlice
}

func (s *segments) write(b []byte) {
	for len(b) > 0 {
		if len(s.room) == 0 {
			buf := s.pool.Get(min(s.left, segmentBytes))
			s.out = append(s.out, mem.NewBuffer(buf, s.pool))
			s.room = *buf
		}
		n := copy(s.room, b)
		s.room, b = s.room[n:], b[n:]
		s.left -= n
	}
}

// size returns the length of the message in bytes.
func (m *serverMessage) size() int {
	switch {
	case m.capabilities != nil:
		return sizeBytes(fieldCapabilities, m.capabilities.size())
	case m.response != nil:
		return sizeBytes(fieldResponse, m.response.size())
	}
	return 0
}

// append adds the message to b.
func (m *serverMessage) append(b []byte) []byte {
	switch {
	case m.capabilities != nil:
		b = appendBytesHeader(b, fieldCapabilities, m.capabilities.size())
		return m.capabilities.append(b)
	case m.response != nil:
		b = appendBytesHeader(b, fieldResponse, m.response.size())
		return m.response.append(b)
	}
	return b
}

func (c *capabilities) size() int {
	n := 0
	if c.maxDictBytes > 0 {
		n += sizeBytes(fieldDictLimits, sizeUint(fieldMaxDictBytes, c.maxDictBytes))
	}
	if len(c.schema) > 0 {
		n += sizeBytes(fieldSchema, len(c.schema))
	}
	return n
}

func (c *capabilities) append(b []byte) []byte {
	if c.maxDictBytes > 0 {
		b = appendBytesHeader(b, fieldDictLimits, sizeUint(fieldMaxDictBytes, c.maxDictBytes))
		b = appendUint(b, fieldMaxDictBytes, c.maxDictBytes)
	}
	if len(c.schema) > 0 {
		b = appendBytesHeader(b, fieldSchema, len(c.schema))
		b = append(b, c.schema...)
	}
	return b
}

func (r *Response) size() int {
	n := sizeUint(fieldAcked, r.Acked)
	for _, bad := range r.Rejected {
		n += sizeBytes(fieldRejected, bad.size())
	}
	return n
}

func (r *Response) append(b []byte) []byte {
	b = appendUint(b, fieldAcked, r.Acked)
	for _, bad := range r.Rejected {
		b = appendBytesHeader(b, fieldRejected, bad.size())
		b = appendUint(b, fieldFrom, bad.From)
		b = appendUint(b, fieldTo, bad.To)
	}
	return b
}

func (r IDRange) size() int { return sizeUint(fieldFrom, r.From) + sizeUint(fieldTo, r.To) }

// sizeBytes is the length of a field of n bytes.
func sizeBytes(field protowire.Number, n int) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(n)
}

// sizeUint is the length of a number; 0 is not written.
func sizeUint(field protowire.Number, v uint64) int {
	if v == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeVarint(v)
}

func appendBytesHeader(b []byte, field protowire.Number, n int) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n))
}

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"encoding/binary"
	"io"
)

// checkedStream passes an Arrow stream to the Arrow library, message by message. It first
// checks the sizes in the metadata of each message, because the library allocates memory
// for these sizes, even if the message is much shorter.
type checkedStream struct {
	src  io.Reader
	head []byte // framing and metadata of a message that Read has not returned yet
	body int64  // remaining bytes of the body of the last message
	meta []byte
	last byte // type of the last message
}

const (
	continuation = 0xffffffff
	maxFields    = 1 << 16
	maxNesting   = 16
)

func (c *checkedStream) Read(b []byte) (int, error) {
	for {
		switch {
		case len(c.head) > 0:
			n := copy(b, c.head)
			c.head = c.head[n:]
			return n, nil
		case c.body > 0:
			n, err := c.src.Read(b[:min(int64(len(b)), c.body)])
			c.body -= int64(n)
			return n, err
		}
		if err := c.message(); err != nil {
			return 0, err
		}
	}
}

// message reads the metadata of the next message. Incomplete messages are passed on,
// so that the library reports the error.
func (c *checkedStream) message() error {
	c.meta = append(c.meta[:0], make([]byte, 8)...)
	n, err := io.ReadFull(c.src, c.meta)
	c.head = c.meta[:n]
	if n < 8 {
		if n > 0 {
			return nil
		}
		if err == io.EOF && c.last == headerDictionary { // rows must follow; the library would not report their absence
			return io.ErrUnexpectedEOF
		}
		return err
	}
	size := binary.LittleEndian.Uint32(c.meta[4:])
	if binary.LittleEndian.Uint32(c.meta) != continuation {
		return corrupt("% x is not the start of an Arrow message", c.meta[:4])
	}
	if size > maxMetadata {
		return corrupt("the metadata of an Arrow message has %d bytes, at most %d are allowed", size, maxMetadata)
	}
	c.meta = append(c.meta, make([]byte, size)...)
	n, _ = io.ReadFull(c.src, c.meta[8:])
	c.head = c.meta[:8+n]
	if n < int(size) || size == 0 {
		return nil
	}
	return guard(func() error {
		c.last, c.body = checkMessage(c.meta[8:])
		return nil
	})
}

// flat reads a flatbuffer. Reads beyond its end panic.
type flat []byte

func (f flat) u32(at int) int { return int(binary.LittleEndian.Uint32(f[at:])) }

// field returns the offset of a field of a table, or 0 if the table does not have the field.
func (f flat) field(table, slot int) int {
	vtable := table - int(int32(binary.LittleEndian.Uint32(f[table:])))
	if slot >= int(binary.LittleEndian.Uint16(f[vtable:])) {
		return 0
	}
	off := int(binary.LittleEndian.Uint16(f[vtable+slot:]))
	if off == 0 {
		return 0
	}
	return table + off
}

// table returns the offset of the table that a field refers to, or 0 if the field is absent.
func (f flat) table(table, slot int) int {
	if at := f.field(table, slot); at > 0 {
		return at + f.u32(at)
	}
	return 0
}

// vector returns the offset of the first element of a vector, and the number of elements. It
// panics if the elements extend beyond the end of the metadata.
func (f flat) vector(table, slot, size int) (at, n int) {
	at = f.table(table, slot)
	if at == 0 {
		return 0, 0
	}
	n = f.u32(at)
	if n > (len(f)-at-4)/size {
		panic("a vector of the metadata is longer than the metadata")
	}
	return at + 4, n
}

// Slots of the tables of Arrow's Message.fbs and Schema.fbs.
const (
	messageHeaderType, messageHeader, messageBody, messageMeta = 6, 8, 10, 12
	schemaFields, schemaMeta                                   = 6, 8
	fieldChildren, fieldMeta                                   = 14, 16
	batchNodes, batchBuffers, batchVariadic                    = 6, 8, 12
	dictionaryBatch, dictionaryDelta                           = 6, 8

	headerSchema, headerDictionary, headerBatch = 1, 2, 3
)

// checkMessage returns the type of a message and the size of its body. It panics if a size is
// impossible or a limit is exceeded.
func checkMessage(f flat) (header byte, body int64) {
	message := f.u32(0)
	f.vector(message, messageMeta, 4)
	if at := f.field(message, messageBody); at > 0 {
		body = int64(binary.LittleEndian.Uint64(f[at:]))
	}
	if body < 0 {
		panic("the body of a message has a negative size")
	}
	table := f.table(message, messageHeader)
	at := f.field(message, messageHeaderType)
	if table == 0 || at == 0 {
		panic("a message has no header")
	}
	switch f[at] {
	case headerSchema:
		fields := 0
		f.vector(table, schemaMeta, 4)
		f.checkFields(table, schemaFields, 0, &fields)
	case headerDictionary:
		// The library copies the whole dictionary for each delta, so reading a small file
		// could take unbounded time.
		if at := f.field(table, dictionaryDelta); at > 0 && f[at] != 0 {
			panic(&limitReached{"a dictionary of the stream grows by deltas, which are not read: write whole dictionaries"})
		}
		f.checkBatch(f.table(table, dictionaryBatch))
	case headerBatch:
		f.checkBatch(table)
	}
	return f[at], body
}

func (f flat) checkFields(table, slot, depth int, fields *int) {
	if depth > maxNesting {
		panic("a schema is nested too deeply")
	}
	at, n := f.vector(table, slot, 4)
	if *fields += n; *fields > maxFields {
		panic("a schema has too many fields")
	}
	for i := range n {
		child := at + 4*i + f.u32(at+4*i)
		f.vector(child, fieldMeta, 4)
		f.checkFields(child, fieldChildren, depth+1, fields)
	}
}

func (f flat) checkBatch(table int) {
	if table == 0 {
		panic("a batch is missing")
	}
	f.vector(table, batchNodes, 16)
	f.vector(table, batchBuffers, 16)
	f.vector(table, batchVariadic, 8)
}

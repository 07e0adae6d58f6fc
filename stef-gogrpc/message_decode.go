// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import (
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxGroups is how deep groups of unknown fields may nest, as in the protobuf
// library.
const maxGroups = protowire.DefaultRecursionLimit

var (
	errMessage = errors.New("message is damaged")
	errUTF8    = errors.New("root_struct_name is no UTF-8")
)

// decode reads a message as protobuf does: unknown fields, and known ones of
// another wire type, are skipped; of a field that is there several times the
// last one counts, and parts that are messages are merged. On success received
// has references to data.
func (m *clientMessage) decode(data mem.BufferSlice) error {
	in := cursor{buffers: data, left: data.Len()}
	err := in.fields(func(field protowire.Number, wire protowire.Type) (known bool, err error) {
		switch {
		case field == fieldFirst && wire == protowire.BytesType:
			m.first = true
			return true, in.message(m.decodeRoot)
		case field == fieldBytes && wire == protowire.BytesType:
			n, err := in.length()
			if err != nil {
				return true, err
			}
			m.received.Free()
			m.received = in.take(n)
			return true, nil
		case field == fieldEndOfChunk && wire == protowire.VarintType:
			v, err := in.uvarint()
			m.endOfChunk = v != 0
			return true, err
		}
		return false, nil
	})
	if err != nil {
		m.free()
	}
	return err
}

func (m *clientMessage) decodeRoot(in *cursor, field protowire.Number, wire protowire.Type) (known bool, err error) {
	if field != fieldRoot || wire != protowire.BytesType {
		return false, nil
	}
	name, err := in.bytes()
	if err == nil && !utf8.Valid(name) {
		err = errUTF8
	}
	m.root = string(name)
	return true, err
}

// decode reads a message, by the rules of clientMessage.decode. Nothing in it
// refers to data afterwards.
func (m *serverMessage) decode(data mem.BufferSlice) error {
	in := cursor{buffers: data, left: data.Len()}
	return in.fields(func(field protowire.Number, wire protowire.Type) (known bool, err error) {
		switch {
		case field == fieldCapabilities && wire == protowire.BytesType:
			if m.capabilities == nil {
				*m = serverMessage{capabilities: new(capabilities)}
			}
			return true, in.message(m.capabilities.decode)
		case field == fieldResponse && wire == protowire.BytesType:
			if m.response == nil {
				*m = serverMessage{response: new(Response)}
			}
			return true, in.message(m.response.decode)
		}
		return false, nil
	})
}

func (c *capabilities) decode(in *cursor, field protowire.Number, wire protowire.Type) (known bool, err error) {
	switch {
	case field == fieldDictLimits && wire == protowire.BytesType:
		return true, in.message(c.decodeLimits)
	case field == fieldSchema && wire == protowire.BytesType:
		c.schema, err = in.bytes()
		return true, err
	}
	return false, nil
}

func (c *capabilities) decodeLimits(in *cursor, field protowire.Number, wire protowire.Type) (known bool, err error) {
	if field != fieldMaxDictBytes || wire != protowire.VarintType {
		return false, nil
	}
	c.maxDictBytes, err = in.uvarint()
	return true, err
}

func (r *Response) decode(in *cursor, field protowire.Number, wire protowire.Type) (known bool, err error) {
	switch {
	case field == fieldAcked && wire == protowire.VarintType:
		r.Acked, err = in.uvarint()
		return true, err
	case field == fieldRejected && wire == protowire.BytesType:
		var bad IDRange
		err = in.message(bad.decode)
		r.Rejected = append(r.Rejected, bad)
		return true, err
	}
	return false, nil
}

func (r *IDRange) decode(in *cursor, field protowire.Number, wire protowire.Type) (known bool, err error) {
	if wire != protowire.VarintType {
		return false, nil
	}
	switch field {
	case fieldFrom:
		r.From, err = in.uvarint()
	case fieldTo:
		r.To, err = in.uvarint()
	default:
		return false, nil
	}
	return true, err
}

// cursor reads from buffers, of which left bytes remain.
type cursor struct {
	buffers mem.BufferSlice
	offset  int // in the first buffer
	left    int
}

// fields calls known for each field. A field that known does not take is
// skipped.
func (c *cursor) fields(known func(protowire.Number, protowire.Type) (bool, error)) error {
	for c.left > 0 {
		field, wire, err := c.tag(uint64(protowire.MaxValidNumber))
		if err != nil {
			return err
		}
		ok, err := known(field, wire)
		if err == nil && !ok {
			err = c.skipValue(field, wire, maxGroups)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// message reads the fields of a message within a message.
func (c *cursor) message(known func(*cursor, protowire.Number, protowire.Type) (bool, error)) error {
	n, err := c.length()
	if err != nil {
		return err
	}
	after := c.left - n
	c.left = n
	err = c.fields(func(field protowire.Number, wire protowire.Type) (bool, error) { return known(c, field, wire) })
	c.left += after
	return err
}

func (c *cursor) tag(most uint64) (protowire.Number, protowire.Type, error) {
	v, err := c.uvarint()
	if err != nil || v>>3 < uint64(protowire.MinValidNumber) || v>>3 > most {
		return 0, 0, errMessage
	}
	return protowire.Number(v >> 3), protowire.Type(v & 7), nil
}

// skipValue passes over the value of a field, which may be a group.
func (c *cursor) skipValue(field protowire.Number, wire protowire.Type, groups int) error {
	switch wire {
	case protowire.VarintType:
		_, err := c.uvarint()
		return err
	case protowire.Fixed32Type:
		return c.skip(4)
	case protowire.Fixed64Type:
		return c.skip(8)
	case protowire.BytesType:
		n, err := c.length()
		if err != nil {
			return err
		}
		return c.skip(n)
	case protowire.StartGroupType:
		return c.skipGroup(field, groups-1)
	}
	return errMessage
}

func (c *cursor) skipGroup(group protowire.Number, groups int) error {
	for groups >= 0 {
		// In groups, which nothing but old messages have, the protobuf library
		// lets larger numbers pass than elsewhere.
		field, wire, err := c.tag(math.MaxInt32)
		if err != nil {
			return err
		}
		if wire == protowire.EndGroupType {
			if field != group {
				return errMessage
			}
			return nil
		}
		if err := c.skipValue(field, wire, groups); err != nil {
			return err
		}
	}
	return errMessage
}

func (c *cursor) uvarint() (uint64, error) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if c.left == 0 {
			return 0, errMessage
		}
		b := c.chunk(1)[0]
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if shift == 63 && b > 1 {
				return 0, errMessage
			}
			return v, nil
		}
	}
	return 0, errMessage
}

// length reads how many bytes a field has, no more than there are.
func (c *cursor) length() (int, error) {
	n, err := c.uvarint()
	if err != nil || n > uint64(c.left) {
		return 0, errMessage
	}
	return int(n), nil
}

// bytes returns a copy of a field, nil of an empty one.
func (c *cursor) bytes() ([]byte, error) {
	n, err := c.length()
	if err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, 0, n)
	for n > 0 {
		part := c.chunk(n)
		b = append(b, part...)
		n -= len(part)
	}
	return b, nil
}

func (c *cursor) skip(n int) error {
	if n > c.left {
		return errMessage
	}
	for n > 0 {
		n -= len(c.chunk(n))
	}
	return nil
}

// take returns references to the next n bytes.
func (c *cursor) take(n int) mem.BufferSlice {
	var out mem.BufferSlice
	for n > 0 {
		c.settle()
		buffer, from := c.buffers[0], c.offset
		n -= len(c.chunk(n))
		out = append(out, buffer.Slice(from, c.offset))
	}
	return out
}

// chunk returns up to n of the bytes that remain, at least one of them, without
// a copy.
func (c *cursor) chunk(n int) []byte {
	c.settle()
	rest := c.buffers[0].ReadOnlyData()[c.offset:]
	rest = rest[:min(n, len(rest))]
	c.offset += len(rest)
	c.left -= len(rest)
	return rest
}

// settle moves on to a buffer with bytes left. There is one if left is not 0.
func (c *cursor) settle() {
	for c.offset == c.buffers[0].Len() {
		c.buffers, c.offset = c.buffers[1:], 0
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"encoding/binary"
	"errors"
)

// ErrNested means that values of a request are nested deeper than MaxNesting. pdata decodes
// them recursively, and a request of 18 MiB can need more stack than Go allows a goroutine,
// which ends the process.
var ErrNested = errors.New("values are nested deeper than 1,024 messages")

// MaxNesting is how deep the messages of a request may be nested.
const MaxNesting = 1024

// shape describes the parts of an OTLP message that determine its memory as pdata.
type shape struct {
	bytes  int64 // memory of an empty message, including its list entry
	fields [16]*shape
	old    *shape // field 1000, in which older senders send the scopes
	number int64  // memory in bytes for each encoded byte of field 2, if field 2 has packed numbers
}

// The memory of messages as pdata. If a message is an element of a list of pointers, its memory includes
// the pointer. A growing list reserves up to a quarter more than it needs. TestMemory measures these
// values.
var (
	attributeValue = &shape{bytes: 16}
	listValue      = &shape{bytes: 40}
	attribute      = &shape{bytes: 48, fields: [16]*shape{2: attributeValue}}
	values         = &shape{bytes: 32, fields: [16]*shape{1: listValue}}
	pairs          = &shape{bytes: 32, fields: [16]*shape{1: attribute}}
	text           = &shape{bytes: 20}
	entity         = &shape{bytes: 92, fields: [16]*shape{3: text, 4: text}}
	resource       = &shape{fields: [16]*shape{1: attribute, 3: entity}}
	scope          = &shape{fields: [16]*shape{3: attribute}}

	exemplar             = &shape{bytes: 96, fields: [16]*shape{7: attribute}}
	number               = &shape{bytes: 108, fields: [16]*shape{5: exemplar, 7: attribute}}
	histogram            = &shape{bytes: 176, fields: [16]*shape{8: exemplar, 9: attribute}}
	buckets              = &shape{number: 10}
	exponentialHistogram = &shape{bytes: 208, fields: [16]*shape{1: attribute, 8: buckets, 9: buckets, 11: exemplar}}
	quantile             = &shape{bytes: 28}
	summary              = &shape{bytes: 108, fields: [16]*shape{6: quantile, 7: attribute}}
	numbers              = &shape{bytes: 48, fields: [16]*shape{1: number}}
	metric               = &shape{bytes: 108, fields: [16]*shape{5: numbers, 7: numbers, 9: {bytes: 48, fields: [16]*shape{1: histogram}},
		10: {bytes: 48, fields: [16]*shape{1: exponentialHistogram}}, 11: {bytes: 48, fields: [16]*shape{1: summary}}, 12: attribute}}

	event = &shape{bytes: 76, fields: [16]*shape{3: attribute}}
	link  = &shape{bytes: 92, fields: [16]*shape{4: attribute}}
	span  = &shape{bytes: 224, fields: [16]*shape{9: attribute, 11: event, 13: link, 15: {}}}

	logRecord = &shape{bytes: 144, fields: [16]*shape{5: attributeValue, 6: attribute}}

	metricsRequest = requestOf(metric)
	tracesRequest  = requestOf(span)
	logsRequest    = requestOf(logRecord)
)

func init() { // the only shapes that contain themselves
	for _, v := range []*shape{attributeValue, listValue} {
		v.fields[5], v.fields[6] = values, pairs
	}
}

func requestOf(item *shape) *shape {
	scopes := &shape{bytes: 128, fields: [16]*shape{1: scope, 2: item}}
	return &shape{fields: [16]*shape{1: {bytes: 144, fields: [16]*shape{1: resource, 2: scopes}, old: scopes}}}
}

// memory returns about how many bytes an encoded request needs as pdata. It adds up the memory
// of the messages, and the length of the request for the texts in it. It returns an error for a
// request that must not be decoded: ErrNested, or the error of its encoding. Groups and invalid
// field numbers are such errors: pdata would read the bytes after them as other fields.
func (s *shape) memory(request []byte) (int64, error) {
	n, err := s.contents(request, 0)
	return n + int64(len(request)), err
}

var errNoProtobuf = errors.New("malformed protobuf: a field is invalid, or is a group, which is not supported")

const maxFieldNumber = 1<<29 - 1

func (s *shape) contents(b []byte, depth int) (n int64, err error) {
	if depth > MaxNesting {
		return 0, ErrNested
	}
	for len(b) > 0 {
		// Nearly all fields have a tag and a length of one byte each. This part is an
		// optimization: the code below handles these fields, too.
		if len(b) > 1 && b[0]&0x87 == 2 && b[0] > 7 && b[1] < 0x80 && int(b[1]) <= len(b)-2 {
			child, payload := s.fields[b[0]>>3&15], b[2:2+int(b[1])]
			switch {
			case child == nil && b[0]>>3 == 2:
				n += s.number * int64(len(payload))
			case child == nil:
			case child == attribute && scalar(payload):
				n += attribute.bytes + attributeValue.bytes
			default:
				inner, err := child.contents(payload, depth+1)
				if n += child.bytes + inner; err != nil {
					return n, err
				}
			}
			b = b[2+len(payload):]
			continue
		}
		if b[0]&0x87 == 1 && b[0] > 7 && len(b) > 8 && b[0]>>3 != 2 { // a time or a float
			b = b[9:]
			continue
		}
		tag, size := varint(b)
		if size == 0 || tag>>3 == 0 || tag>>3 > maxFieldNumber {
			return n, errNoProtobuf
		}
		b = b[size:]
		kind, payload := tag&7, 0
		switch kind {
		case 0:
			_, payload = varint(b)
		case 1:
			payload = 8
		case 2:
			length, head := varint(b)
			if head == 0 || length > uint64(len(b)-head) {
				return n, errNoProtobuf
			}
			b, payload = b[head:], int(length)
		case 5:
			payload = 4
		}
		if payload > len(b) || payload == 0 && kind != 2 {
			return n, errNoProtobuf
		}
		if child := s.field(tag >> 3); child != nil && kind == 2 {
			inner, err := child.contents(b[:payload], depth+1)
			if n += child.bytes + inner; err != nil {
				return n, err
			}
		} else if tag>>3 == 2 {
			n += s.number * int64(payload)
		}
		b = b[payload:]
	}
	return n, nil
}

// scalar reports whether an attribute consists of a key and one scalar value. This is true for
// nearly all attributes. scalar also returns false if a length has more than one byte.
func scalar(b []byte) bool {
	const key, value = 1<<3 | 2, 2<<3 | 2
	if len(b) < 6 || b[0] != key || b[1] >= 0x80 {
		return false
	}
	head := 2 + int(b[1])
	if head+4 > len(b) || b[head] != value || b[head+1] >= 0x80 || int(b[head+1]) != len(b)-head-2 {
		return false
	}
	switch v := b[head+2:]; v[0] {
	case 1<<3 | 2, 7<<3 | 2: // a text, bytes
		return v[1] < 0x80 && int(v[1]) == len(v)-2
	case 2 << 3, 3 << 3: // a bool, an integer
		_, n := varint(v[1:])
		return n == len(v)-1
	case 4<<3 | 1: // a float
		return len(v) == 9
	}
	return false
}

func (s *shape) field(number uint64) *shape {
	if number < uint64(len(s.fields)) {
		return s.fields[number]
	}
	if number == 1000 {
		return s.old
	}
	return nil
}

// varint returns a number and its length in bytes. The length is 0 if the number is invalid.
func varint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	return v, max(n, 0)
}

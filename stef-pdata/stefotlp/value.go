// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// The tags of the choices of an AnyValue.
const (
	tagString = 1<<3 | wireBytes
	tagBool   = 2<<3 | wireVarint
	tagInt    = 3<<3 | wireVarint
	tagDouble = 4<<3 | wireFixed64
	tagArray  = 5<<3 | wireBytes
	tagKVList = 6<<3 | wireBytes
	tagBytes  = 7<<3 | wireBytes

	tagStrindex = 8<<3 | wireVarint
)

// Tags of messages that hold values.
const (
	tagKey    = 1<<3 | wireBytes // KeyValue
	tagValue  = 2<<3 | wireBytes
	tagValues = 1<<3 | wireBytes // ArrayValue, KeyValueList
)

// choice is what an AnyValue holds. Tag 0 is nothing.
type choice struct {
	tag    uint64
	number uint64 // bool, int, double
	extent        // others
}

// choose returns what the AnyValue in x holds: the last of its fields, or if it
// has none what was there before.
func (p *parser) choose(x extent, c choice) choice {
	b := p.b[:x.to]
	for at := x.from; at < x.to; {
		tag := uint64(b[at])
		if at++; tag >= 0x80 {
			tag, at = longVarint(b, at-1)
		}
		switch tag {
		case tagString, tagArray, tagKVList, tagBytes:
			c.tag = tag
			c.extent = stretch(b, at)
			at = c.to
		case tagBool, tagInt:
			c.tag = tag
			c.number, at = varint(b, at)
		case tagDouble:
			c.tag = tag
			c.number = fixed64(b, at)
			at += 8
		case tagStrindex:
			c.tag = 0 // a text that only profiles can look up
			at = skip(b, at, tag)
		default:
			at = skip(b, at, tag)
		}
	}
	return c
}

// keyValue returns the key and the value of the KeyValue in x.
func (p *parser) keyValue(x extent) (key extent, c choice) {
	b := p.b[:x.to]
	for at := x.from; at < x.to; {
		tag := uint64(b[at])
		if at++; tag >= 0x80 {
			tag, at = longVarint(b, at-1)
		}
		switch tag {
		case tagKey:
			key = stretch(b, at)
			at = key.to
		case tagValue:
			v := stretch(b, at)
			c = p.choose(v, c)
			at = v.to
		default:
			at = skip(b, at, tag)
		}
	}
	return key, c
}

// countOf returns how many fields of a tag the message in x has.
func (p *parser) countOf(x extent, want uint64) int {
	b, n := p.b[:x.to], 0
	for at := x.from; at < x.to; {
		var tag uint64
		if tag, at = varint(b, at); tag == want {
			n++
		}
		at = skip(b, at, tag)
	}
	return n
}

// values calls f for each element of the ArrayValue or KeyValueList in x.
func (p *parser) values(x extent, f func(i int, element extent) error) error {
	b, i := p.b[:x.to], 0
	for at := x.from; at < x.to; {
		tag, start := varint(b, at)
		at = skip(b, start, tag)
		if tag != tagValues {
			continue
		}
		var element extent
		element.from, element.to = run(b, start)
		if err := f(i, element); err != nil {
			return err
		}
		i++
	}
	return nil
}

// value gives dst a value that depth arrays and maps enclose.
func (p *parser) value(dst *otelstef.AnyValue, c choice, depth int) error {
	switch c.tag {
	case tagString:
		dst.SetString(p.again(dst.String(), c.extent))
		return p.take(c.to - c.from)
	case tagInt:
		dst.SetInt64(int64(c.number))
	case tagDouble:
		dst.SetFloat64(math.Float64frombits(c.number))
	case tagBool:
		dst.SetBool(c.number != 0)
	case tagBytes:
		if err := p.take(c.to - c.from); err != nil {
			return err
		}
		dst.SetBytes(p.b[c.from:c.to])
	case tagArray:
		return p.array(dst, c.extent, depth+1)
	case tagKVList:
		return p.list(dst, c.extent, depth+1)
	default:
		dst.SetType(otelstef.AnyValueTypeNone)
	}
	return nil
}

func (p *parser) array(dst *otelstef.AnyValue, x extent, depth int) error {
	if err := p.nested(depth); err != nil {
		return err
	}
	n := p.countOf(x, tagValues)
	if err := p.take(n * valueBytes); err != nil {
		return err
	}
	elements := dst.SetArray()
	elements.SetLen(n)
	return p.values(x, func(i int, element extent) error {
		if err := p.value(elements.At(i), p.choose(element, choice{}), depth); err != nil {
			return inField(fmt.Sprintf("[%d]", i), err)
		}
		return nil
	})
}

func (p *parser) list(dst *otelstef.AnyValue, x extent, depth int) error {
	if err := p.nested(depth); err != nil {
		return err
	}
	n := p.countOf(x, tagValues)
	if err := p.room(n); err != nil {
		return err
	}
	pairs := dst.SetKVList()
	pairs.SetLen(n)
	return p.values(x, func(i int, pair extent) error {
		key, c := p.keyValue(pair)
		pairs.SetKey(i, p.again(pairs.Key(i), key))
		if err := p.take(key.to - key.from); err != nil {
			return err
		}
		if err := p.value(pairs.Value(i), c, depth); err != nil {
			return inField(fmt.Sprintf("[%q]", shorten(p.b[key.from:key.to])), err)
		}
		return nil
	})
}

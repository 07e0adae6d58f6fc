// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"errors"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// choice is the content of an AnyValue. Tag 0 means no content.
type choice struct {
	tag    uint64
	number uint64 // bool, int, double
	extent        // other content
}

// errDamaged marks a value that is not a valid message. The parsers of values only
// detect the damage; their callers run the checker to find the place and the reason.
var errDamaged = errors.New("damaged value")

// strictTag is like firmTag, but for hot loops: nearly all tags have one byte.
func strictTag(b []byte, at int) (tag uint64, next int) {
	if c := b[at]; c >= 1<<3 && c < 0x80 {
		return uint64(c), at + 1
	}
	return firmTag(b, at)
}

// choose returns the content of the AnyValue in x: the content of its last field, or c if x has no
// field. ok is false if x is damaged.
func (p *parser) choose(x extent, c choice) (_ choice, ok bool) {
	b, at := p.b[:x.to], x.from
	for uint(at) < uint(x.to) {
		field := at
		var tag uint64
		tag, at = strictTag(b, at)
		switch tag {
		case tagString, tagArray, tagKVList, tagBytes:
			if at < 0 {
				return c, false
			}
			c.tag = tag
			c.from, c.to = bytesAt(b, at)
			at = c.to
		case tagBool, tagInt:
			if at < 0 {
				return c, false
			}
			c.tag = tag
			c.number, at = longVarint(b, at)
		case tagDouble:
			if at < 0 || x.to-at < 8 {
				return c, false
			}
			c.tag = tag
			c.number = fixed64(b, at)
			at += 8
		case tagStrindex:
			c.tag = 0 // a text by reference, which only profiles can resolve
			p.unknown++
			at = skip(b, at, tag)
		default:
			at = p.skipUnknown(b, field, valueShape)
		}
	}
	return c, at == x.to
}

// keyValue returns the key and the value of the KeyValue in x. ok is false if x is damaged.
func (p *parser) keyValue(x extent) (key extent, c choice, ok bool) {
	b, at := p.b[:x.to], x.from
	for uint(at) < uint(x.to) {
		field := at
		var tag uint64
		tag, at = strictTag(b, at)
		switch {
		case at < 0:
			return key, c, false
		case tag == tagKey:
			key.from, key.to = bytesAt(b, at)
			at = key.to
		case tag == tagValue:
			var v extent
			if v.from, v.to = bytesAt(b, at); v.to < 0 {
				return key, c, false
			}
			if c, ok = p.choose(v, c); !ok {
				return key, c, false
			}
			at = v.to
		case tag == tagKeyStrindex:
			p.unknown++
			at = skip(b, at, tag)
		default:
			at = p.skipUnknown(b, field, pairShape)
		}
	}
	return key, c, at == x.to
}

// split appends the places of the elements of the ArrayValue or KeyValueList in x to
// p.inner. It returns the number of elements, or -1 if x is damaged.
func (p *parser) split(x extent) int {
	b, at, before := p.b[:x.to], x.from, len(p.inner)
	for uint(at) < uint(x.to) {
		if b[at] != tagValues {
			at = p.strayValue(b, at)
			continue
		}
		var v extent
		v.from, v.to = bytesAt(b, at+1)
		p.inner = append(p.inner, v)
		at = v.to
	}
	if at != x.to {
		return -1
	}
	return len(p.inner) - before
}

// strayValue handles the field at b[at:] of an ArrayValue or KeyValueList for split. It
// appends an element whose tag has more bytes than necessary, and skips an unknown field.
func (p *parser) strayValue(b []byte, at int) int {
	tag, next := firmTag(b, at)
	if next >= 0 && tag == tagValues {
		var v extent
		v.from, v.to = bytesAt(b, next)
		p.inner = append(p.inner, v)
		return v.to
	}
	return p.skipUnknown(b, at, valuesShape)
}

// value sets dst to a value. depth is the number of enclosing arrays and maps.
func (p *parser) value(dst *otelstef.AnyValue, c choice, depth int) error {
	switch c.tag {
	case tagString:
		dst.SetString(p.again(dst.Str(), c.extent))
		return p.budget.Take(c.to - c.from)
	case tagInt:
		dst.SetInt64(int64(c.number))
	case tagDouble:
		dst.SetFloat64(math.Float64frombits(c.number))
	case tagBool:
		dst.SetBool(c.number != 0)
	case tagBytes:
		if err := p.budget.Take(c.to - c.from); err != nil {
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
	first := len(p.inner)
	n, err := p.arrayLen(x, depth)
	if err != nil {
		return err
	}
	elements := dst.SetArray()
	elements.SetLen(n)
	for i := range n {
		c, ok := p.choose(p.inner[first+i], choice{})
		if !ok {
			return errDamaged
		}
		if err := p.value(elements.At(i), c, depth); err != nil {
			return inElement(i, err)
		}
	}
	p.inner = p.inner[:first]
	return nil
}

// arrayLen splits the ArrayValue in x, counts its elements, and subtracts their cost from the
// budget.
func (p *parser) arrayLen(x extent, depth int) (int, error) {
	if err := mapping.CheckDepth(depth); err != nil {
		return 0, err
	}
	n := p.split(x)
	if n < 0 {
		return 0, errDamaged
	}
	return n, p.budget.Take(n * mapping.ValueBytes)
}

// listLen is like arrayLen, but for a KeyValueList.
func (p *parser) listLen(x extent, depth int) (int, error) {
	if err := mapping.CheckDepth(depth); err != nil {
		return 0, err
	}
	n := p.split(x)
	if n < 0 {
		return 0, errDamaged
	}
	return n, p.budget.TakePairs(n)
}

func (p *parser) list(dst *otelstef.AnyValue, x extent, depth int) error {
	first := len(p.inner)
	n, err := p.listLen(x, depth)
	if err != nil {
		return err
	}
	pairs := dst.SetKVList()
	pairs.SetLen(n)
	for i := range n {
		key, c, ok := p.keyValue(p.inner[first+i])
		if !ok {
			return errDamaged
		}
		pairs.SetKey(i, p.again(pairs.Key(i), key))
		p.budget.Left -= key.to - key.from
		err := p.value(pairs.Value(i), c, depth)
		if err == nil && p.budget.Left < 0 {
			err = p.budget.Take(0)
		}
		if err != nil {
			return p.inPair(key, err)
		}
	}
	p.inner = p.inner[:first]
	return nil
}

// inElement and inPair prefix the path of an error with a place in an array or list. They do not
// change errDamaged.
func inElement(i int, err error) error {
	if err == errDamaged {
		return err
	}
	return mapping.InElement(i, err)
}

func (p *parser) inPair(key extent, err error) error {
	if err == errDamaged {
		return err
	}
	return mapping.InPair(p.b[key.from:key.to], err)
}

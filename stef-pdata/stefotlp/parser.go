// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

const maxMessageBytes = math.MaxInt32

// parser sets values of records from a message, within the limits of an item. If the wire
// format allows several encodings, it accepts all encodings that pdata accepts.
type parser struct {
	checker
	budget mapping.Budget
	b      []byte
	texts  texts
	slab   slab
	attrs  seenPairs // cache of attributes
	maps   seenPairs // cache of pairs of bodies

	held  []heldPair // attributes in the record, from the same message
	body  []heldPair // pairs in the body of the record, without tag and length
	fresh []freshPair
	count int      // attributes of the current item
	pairs []extent // attributes of a part of the item, such as an event
	parts []extent // other parts of the item, such as exemplars
	inner []extent // values and pairs of the arrays and maps being parsed
}

// heldPair is an attribute in the record of an item, as a field with tag and length.
type heldPair struct {
	extent
	cost int // bytes of the limit of an item that the attribute uses
}

// freshPair is an attribute that is not yet in the record of an item.
type freshPair struct {
	index int
	start int // where the field begins
	extent
}

func (p *parser) text(x extent) string { return p.texts.text(p.b[x.from:x.to]) }

// again returns the text of x. was is the text of the previous item: if both are equal, again
// returns was without a lookup.
func (p *parser) again(was string, x extent) string {
	if b := p.b[x.from:x.to]; was != string(b) {
		return p.texts.text(b)
	}
	return was
}

func (p *parser) begin() {
	p.budget.Begin()
	p.count, p.fresh, p.parts, p.inner = 0, p.fresh[:0], p.parts[:0], p.inner[:0]
}

// itemPair notes the attribute of an item whose field begins at b[at:]. If its bytes are
// the same as in the previous item, the record already holds it: itemPair then skips this
// attribute and the unchanged attributes after it. It returns the offset after the last
// of these attributes, or -1 if the attribute is truncated.
func (p *parser) itemPair(b []byte, at int) int {
	i := p.count
	for ; i < len(p.held); i++ {
		h := &p.held[i]
		n := h.to - h.from
		if n == 0 || n > len(b)-at || string(b[at:at+n]) != string(p.b[h.from:h.to]) {
			break
		}
		p.budget.Left -= h.cost
		at += n
	}
	if i > p.count {
		p.count = i
		return at
	}
	p.count++
	from := at + 1
	for b[from-1] >= 0x80 { // a tag in more bytes than necessary
		from++
	}
	var to int
	if from < len(b) && b[from] < 0x80 {
		from++
		to = from + int(b[from-1])
		if to > len(b) {
			return -1
		}
	} else {
		from, to = bytesAt(b, from)
	}
	p.fresh = append(p.fresh, freshPair{i, at, extent{from, to}})
	return to
}

// itemAttributes sets the attributes in the record of an item.
func (p *parser) itemAttributes(dst *otelstef.Attributes) error {
	n := p.count
	if err := p.budget.TakePairs(n); err != nil {
		return err
	}
	dst.SetLen(n)
	if n < len(p.held) {
		p.held = p.held[:n]
	}
	for j := range p.fresh {
		x := &p.fresh[j]
		h := heldPair{extent: extent{x.start, x.to}}
		if k := p.attrs.find(p, x.extent); k != nil {
			k.set(dst, x.index)
			h.cost = int(k.cost)
			if p.budget.Left -= h.cost; p.budget.Left < 0 {
				p.held = p.held[:min(x.index, len(p.held))]
				return mapping.InPair(k.key(), p.budget.Take(0))
			}
		} else {
			before, unknown := p.budget.Left, p.unknown
			if err := p.newPair(dst, x.index, x.extent); err != nil {
				p.held = p.held[:min(x.index, len(p.held))]
				return err
			}
			h.cost = before - p.budget.Left
			if unknown != p.unknown {
				h.extent = extent{} // so that its unknown fields are counted again
			}
		}
		if x.index < len(p.held) {
			p.held[x.index] = h
		} else {
			p.held = append(p.held, h)
		}
	}
	if p.budget.Left < 0 {
		return p.budget.Take(0)
	}
	return nil
}

// attributes sets dst to the attributes in p.pairs.
func (p *parser) attributes(dst *otelstef.Attributes) error {
	if err := p.budget.TakePairs(len(p.pairs)); err != nil {
		return err
	}
	dst.SetLen(len(p.pairs))
	for i, x := range p.pairs {
		if err := p.pair(dst, i, x); err != nil {
			return err
		}
	}
	return nil
}

// pair checks and sets one attribute.
func (p *parser) pair(dst *otelstef.Attributes, i int, x extent) error {
	k := p.attrs.find(p, x)
	if k == nil {
		return p.newPair(dst, i, x)
	}
	k.set(dst, i)
	if err := p.budget.Take(int(k.cost)); err != nil {
		return mapping.InPair(k.key(), err)
	}
	return nil
}

// newPair checks and sets an attribute that is not in the cache.
func (p *parser) newPair(dst *otelstef.Attributes, i int, x extent) error {
	key, v, ok := p.plainPair(x)
	if ok && p.b[v.from] == tagString && int(p.b[v.from+1]) == v.to-v.from-2 {
		value := p.b[v.from+2 : v.to]
		dst.SetKey(i, p.again(dst.Key(i), key))
		if v := dst.Value(i); v.Type() != otelstef.AnyValueTypeString || v.Str() != string(value) {
			v.SetString(p.slab.text(value))
		}
		if err := p.budget.Take(key.to - key.from + v.to - v.from - 2); err != nil {
			return p.inPair(key, err)
		}
		return nil
	}
	return p.otherPair(dst, i, x, key, v, ok)
}

// otherPair sets an attribute that is not text or has an unusual encoding.
func (p *parser) otherPair(dst *otelstef.Attributes, i int, x, key, v extent, plain bool) error {
	var c choice
	if plain {
		c, plain = plainNumber(p.b, v)
	}
	if !plain {
		if key, c, plain = p.keyValue(x); !plain {
			return p.damagedPair(i, x)
		}
	}
	k := p.again(dst.Key(i), key)
	p.budget.Left -= len(k)
	switch c.tag {
	case tagInt:
		dst.SetInt64(i, k, int64(c.number))
	case tagDouble:
		dst.SetFloat64(i, k, math.Float64frombits(c.number))
	case tagBool:
		dst.SetBool(i, k, c.number != 0)
	default:
		dst.SetKey(i, k)
		if err := p.value(dst.Value(i), c, 0); err == errDamaged {
			return p.damagedPair(i, x)
		} else if err != nil {
			return p.inPair(key, err)
		}
	}
	if p.budget.Left < 0 {
		return p.inPair(key, p.budget.Take(0))
	}
	return nil
}

func (p *parser) damagedPair(i int, x extent) error {
	err := p.check(p.b, x, pairShape)
	if err == nil {
		err = &damage{x.from, broken}
	}
	return mapping.InField(fmt.Sprintf("[%d].", i), err)
}

// plainPair returns where the key and the AnyValue of a KeyValue are. It is the fast
// path for the usual encoding: both fields once, in either order, with lengths of one
// byte and a value of two bytes or more. For such a KeyValue, only the value needs
// another check.
func (p *parser) plainPair(x extent) (key, value extent, ok bool) {
	b := p.b[x.from:x.to]
	if len(b) < 6 || len(b) > 0x7f {
		return key, value, false
	}
	keyAt, valueAt := 0, 0
	switch second := 2 + int(b[1]); {
	case second > len(b)-2:
		return key, value, false
	case b[0] == tagKey:
		valueAt = second
	default:
		keyAt = second
	}
	keyEnd := keyAt + 2 + int(b[keyAt+1])
	valueEnd := valueAt + 2 + int(b[valueAt+1])
	if b[keyAt] != tagKey || b[valueAt] != tagValue || max(keyEnd, valueEnd) != len(b) || valueEnd-valueAt < 4 {
		return key, value, false
	}
	return extent{x.from + keyAt + 2, x.from + keyEnd}, extent{x.from + valueAt + 2, x.from + valueEnd}, true
}

// plainNumber returns the content of the AnyValue in x, which has two bytes or more,
// if it is one field with a number or a bool.
func plainNumber(b []byte, x extent) (c choice, ok bool) {
	c.tag = uint64(b[x.from])
	switch at := x.from + 1; c.tag {
	case tagBool, tagInt:
		var next int
		c.number, next = longVarint(b[:x.to], at)
		return c, next == x.to
	case tagDouble:
		if x.to-at == 8 {
			c.number = fixed64(b, at)
			return c, true
		}
	}
	return c, false
}

// skipUnknown skips the unknown field at b[at:]. It returns the offset after the field, or -1 if the
// field is damaged or its tag is in s.
func (p *parser) skipUnknown(b []byte, at int, s *shape) int {
	tag, next := firmTag(b, at)
	if next < 0 || tag < uint64(len(s.acts)) && s.acts[tag] != actUnknown {
		return -1
	}
	p.unknown++
	return skip(b, next, tag)
}

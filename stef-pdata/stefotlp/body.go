// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"math"
	"unsafe"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// body sets dst to the body of a log record. c is the content of the AnyValue in x. A
// text is written without a template: splitting texts takes longer than all other work.
//
// Such a text is copied only once, into the stream. Until then, the record refers to the
// message. EncodeOTLP calls releaseBody before it returns.
//
// spec: #otlp-logs
func (e *LogsEncoder) body(dst *otelstef.LogBody, x extent, c choice) error {
	if c.tag != tagKVList {
		e.parser.body = e.parser.body[:0]
	}
	switch c.tag {
	case 0:
		dst.SetType(otelstef.LogBodyTypeNone)
		return nil
	case tagString:
		if err := e.budget.Take(c.to - c.from); err != nil {
			return err
		}
		b := e.b[c.from:c.to]
		dst.SetString(unsafe.String(unsafe.SliceData(b), len(b)))
		return nil
	}
	err := e.bodyValue(dst.SetValue(), c, 0)
	if err == errDamaged {
		if err = e.check(e.b, x, valueShape); err == nil {
			err = &damage{x.from, broken}
		}
		return mapping.InField(".", err)
	}
	return err
}

// releaseBody removes a text body from the record, because the text is in the memory of the
// message. Bodies are in no dictionary, so nothing else refers to this memory.
func (e *LogsEncoder) releaseBody() {
	if body := e.rec.Record().Body(); body.Type() == otelstef.LogBodyTypeString {
		body.SetType(otelstef.LogBodyTypeNone)
	}
}

// bodyValue parses like value, into a BodyValue.
func (p *parser) bodyValue(dst *otelstef.BodyValue, c choice, depth int) error {
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
		return p.bodyArray(dst, c.extent, depth+1)
	case tagKVList:
		return p.bodyMap(dst, c.extent, depth+1)
	default:
		dst.SetType(otelstef.BodyValueTypeNone)
	}
	return nil
}

func (p *parser) bodyArray(dst *otelstef.BodyValue, x extent, depth int) error {
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
		if err := p.bodyValue(elements.At(i), c, depth); err != nil {
			return inElement(i, err)
		}
	}
	p.inner = p.inner[:first]
	return nil
}

func (p *parser) bodyMap(dst *otelstef.BodyValue, x extent, depth int) error {
	first := len(p.inner)
	n, err := p.listLen(x, depth)
	if err != nil {
		return err
	}
	pairs := dst.SetMap()
	pairs.SetLen(n)
	if depth == 1 {
		err = p.outerPairs(pairs, p.inner[first:])
	} else {
		for i := range n {
			if err := p.bodyPair(pairs, i, p.inner[first+i], depth); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	p.inner = p.inner[:first]
	return nil
}

// outerPairs sets the pairs of the map that is the body. It skips pairs that the
// record already holds.
func (p *parser) outerPairs(pairs *otelstef.BodyMap, list []extent) error {
	held := p.body[:min(len(p.body), len(list))]
	p.body = p.body[:0] // an error leaves no held pairs
	for i, x := range list {
		if i < len(held) {
			h := &held[i]
			if n := x.to - x.from; n == h.to-h.from && n > 0 && string(p.b[x.from:x.to]) == string(p.b[h.from:h.to]) {
				if p.budget.Left -= h.cost; p.budget.Left < 0 {
					return p.inBodyPair(x, p.budget.Take(0))
				}
				continue
			}
		}
		before, unknown := p.budget.Left, p.unknown
		if err := p.bodyPair(pairs, i, x, 1); err != nil {
			return err
		}
		h := heldPair{x, before - p.budget.Left}
		if unknown != p.unknown {
			h.extent = extent{} // so that its unknown fields are counted again
		}
		if i < len(held) {
			held[i] = h
		} else {
			held = append(held, h)
		}
	}
	p.body = held
	return nil
}

// bodyPair sets one pair.
func (p *parser) bodyPair(pairs *otelstef.BodyMap, i int, x extent, depth int) error {
	var k *seenPair
	if !nests(p.b[x.from:x.to]) {
		k = p.maps.find(p, x)
	}
	if k != nil {
		k.setBody(pairs, i)
		p.budget.Left -= int(k.cost)
	} else if err := p.newBodyPair(pairs, i, x, depth); err != nil {
		return err
	}
	if p.budget.Left < 0 {
		return p.inBodyPair(x, p.budget.Take(0))
	}
	return nil
}

// inBodyPair prefixes the path of an error with the key of the valid KeyValue in x.
func (p *parser) inBodyPair(x extent, err error) error {
	key, _, _ := p.keyValue(x)
	return p.inPair(key, err)
}

// nests reports whether the value of a KeyValue is an array or map. It recognizes only
// the usual encoding, in which the key is first. seenPairs does not cache pairs with arrays or
// maps.
func nests(b []byte) bool {
	if len(b) < 2 || b[0] != tagKey {
		return false
	}
	value := 2 + int(b[1])
	if value+3 > len(b) || b[value] != tagValue {
		return false
	}
	first := b[value+2]
	if b[value+1] >= 0x80 { // the length has two bytes; longer lengths are not recognized
		first = b[min(value+3, len(b)-1)]
	}
	return first == tagKVList || first == tagArray
}

// newBodyPair is like bodyPair, but for a KeyValue that is not in the cache.
func (p *parser) newBodyPair(pairs *otelstef.BodyMap, i int, x extent, depth int) error {
	if key, v, ok := p.plainPair(x); ok && p.b[v.from] == tagString && int(p.b[v.from+1]) == v.to-v.from-2 {
		value := p.b[v.from+2 : v.to]
		pairs.SetKey(i, p.again(pairs.Key(i), key))
		if v := pairs.Value(i); v.Type() != otelstef.BodyValueTypeString || v.Str() != string(value) {
			v.SetString(p.slab.text(value))
		}
		p.budget.Left -= key.to - key.from + v.to - v.from - 2
		return nil
	}
	key, c, ok := p.keyValue(x)
	if !ok {
		return errDamaged
	}
	pairs.SetKey(i, p.again(pairs.Key(i), key))
	p.budget.Left -= key.to - key.from
	if err := p.bodyValue(pairs.Value(i), c, depth); err != nil {
		return p.inPair(key, err)
	}
	return nil
}

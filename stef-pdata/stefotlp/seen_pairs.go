// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"math"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// seenPairs caches attributes, or pairs of bodies, that recently occurred more than once, by the
// bytes of the KeyValue. A hit needs no check and no string, and usually no lookup in the
// dictionaries.
type seenPairs struct {
	slots       *[seenSlots]seenPair
	keys, texts *stef.TextDict // dictionaries of the stream for keys and values
}

// seenPair is a KeyValue with a text, a number, a bool or no value. The references
// belong to the current or an earlier state of the dictionaries.
type seenPair struct {
	bytes  string // encoded KeyValue
	keyRef stef.TextRef
	number uint64 // the number or bool; the reference of a text

	keyFrom, keyTo, textFrom, textTo uint16 // offsets in bytes

	cost   uint16 // bytes of the limit of an item that the pair uses
	tag    uint8  // tag of the choice, 0 if there is none
	missed uint16 // hash bits of the last miss
	used   bool   // there was a hit since that miss
}

func (k *seenPair) key() string           { return k.bytes[k.keyFrom:k.keyTo] }
func (k *seenPair) text() string          { return k.bytes[k.textFrom:k.textTo] }
func (k *seenPair) textRef() stef.TextRef { return stef.TextRef(k.number) }

const (
	seenSlots = 1 << 11
	// minSeen and maxSeen are the lengths of the shortest and longest KeyValue to
	// cache.
	minSeen = 4
	maxSeen = 1 << 9
)

func (s *seenPairs) init(keys, texts *stef.TextDict) { s.keys, s.texts = keys, texts }

// find returns the cached entry of the KeyValue in x, or nil.
func (s *seenPairs) find(p *parser, x extent) *seenPair {
	b := p.b[x.from:x.to]
	n := len(b)
	if n < minSeen || n > maxSeen {
		return nil
	}
	if s.slots == nil {
		s.slots = new([seenSlots]seenPair)
	}
	var head, tail uint64
	if n >= 8 {
		head, tail = fixed64(b, 0), fixed64(b, n-8)^fixed64(b, (n-8)/2)<<1
	} else {
		head, tail = uint64(fixed32(b, 0)), uint64(fixed32(b, n-4))
	}
	hash := codec.HashPair(head, tail^uint64(n))
	k := &s.slots[hash%seenSlots]
	if k.bytes != string(b) && !k.onMiss(p, x, uint16(hash>>48)) {
		return nil
	}
	k.used = true
	if !s.keys.Holds(k.keyRef) && k.keyTo-k.keyFrom >= codec.MinEntry {
		k.keyRef = s.keys.Ref(k.key())
	}
	if k.tag == tagString && !s.texts.Holds(k.textRef()) && k.textTo-k.textFrom >= codec.MinEntry {
		k.number = uint64(s.texts.Ref(k.text()))
	}
	return k
}

// set sets pair i of dst to the KeyValue of k.
func (k *seenPair) set(dst *otelstef.Attributes, i int) {
	dst.SetKeyRef(i, k.key(), k.keyRef)
	switch v := dst.Value(i); k.tag {
	case tagString:
		v.SetStringRef(k.text(), k.textRef())
	case tagInt:
		v.SetInt64(int64(k.number))
	case tagDouble:
		v.SetFloat64(math.Float64frombits(k.number))
	case tagBool:
		v.SetBool(k.number != 0)
	default:
		v.SetType(otelstef.AnyValueTypeNone)
	}
}

// setBody is like set, but for pairs of bodies.
func (k *seenPair) setBody(dst *otelstef.BodyMap, i int) {
	dst.SetKeyRef(i, k.key(), k.keyRef)
	switch v := dst.Value(i); k.tag {
	case tagString:
		v.SetStringRef(k.text(), k.textRef())
	case tagInt:
		v.SetInt64(int64(k.number))
	case tagDouble:
		v.SetFloat64(math.Float64frombits(k.number))
	case tagBool:
		v.SetBool(k.number != 0)
	default:
		v.SetType(otelstef.BodyValueTypeNone)
	}
}

// onMiss handles a KeyValue in x that differs from the KeyValue in k. It replaces the
// KeyValue in k on the second miss in a row with the same hash.
func (k *seenPair) onMiss(p *parser, x extent, hash uint16) bool {
	if k.missed != hash || k.used {
		k.missed, k.used = hash, false
		return false
	}
	return k.learn(p, x)
}

// learn sets k to the KeyValue in x, unless the KeyValue is damaged or does not fit into a
// seenPair.
func (k *seenPair) learn(p *parser, x extent) bool {
	unknown := p.unknown
	key, c, ok := p.keyValue(x)
	if !ok || unknown != p.unknown {
		p.unknown = unknown
		return false
	}
	learnt := seenPair{
		tag: uint8(c.tag), number: c.number,
		keyFrom: uint16(key.from - x.from), keyTo: uint16(key.to - x.from),
	}
	if key.to == 0 {
		learnt.keyFrom, learnt.keyTo = 0, 0
	}
	switch c.tag {
	case 0, tagInt, tagDouble, tagBool:
	case tagString:
		learnt.number = 0
		learnt.textFrom, learnt.textTo = uint16(c.from-x.from), uint16(c.to-x.from)
	default:
		return false
	}
	learnt.cost = learnt.keyTo - learnt.keyFrom + learnt.textTo - learnt.textFrom
	learnt.bytes = string(p.b[x.from:x.to])
	*k = learnt
	return true
}

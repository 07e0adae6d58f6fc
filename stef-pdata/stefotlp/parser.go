// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"bytes"
	"fmt"
	"math"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// What an item may hold. Readers bound the memory and the nesting of a record,
// and a record beyond their bounds would end the stream, so such items are not
// written in the first place. The numbers are those of package stefpdata.
//
// spec: #limits
const (
	// MaxDepth is how deep arrays and maps of a value may nest.
	MaxDepth = 200
	// MaxItemBytes is the most bytes that a resource, a scope, a metric or an
	// item may take, counting the bytes of text and of bytes values, 8 for each
	// bucket, bound and quantile, and 256 for each attribute and nested value.
	MaxItemBytes = 8 << 20
)

const (
	valueBytes      = 256 // what an attribute or nested value counts
	maxMessageBytes = math.MaxInt32
)

// parser sets values of records from a message that was checked, within the
// limits of an item. Where the wire can say a thing in several ways it takes
// what pdata takes.
type parser struct {
	b     []byte
	left  int // bytes that the item may still take
	texts texts

	held  []heldPair // attributes that the record holds, from the same message
	pairs []extent   // attributes of the message at hand
	parts []extent   // its other parts, such as exemplars
}

// heldPair is an attribute that the record holds.
type heldPair struct {
	extent
	cost int // bytes it takes of the item
}

// take counts n bytes of the item.
func (p *parser) take(n int) error {
	p.left -= n
	if p.left < 0 {
		return fmt.Errorf("%w: an item takes over %d bytes", stef.ErrLimit, MaxItemBytes)
	}
	return nil
}

// room counts a map and its pairs.
func (p *parser) room(pairs int) error {
	if pairs > stef.MaxPairs {
		return fmt.Errorf("%w: %d attributes, at most %d", stef.ErrLimit, pairs, stef.MaxPairs)
	}
	return p.take(pairs * valueBytes)
}

func (p *parser) nested(depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: arrays and maps are nested over %d deep", stef.ErrLimit, MaxDepth)
	}
	return nil
}

func (p *parser) text(x extent) string { return p.texts.text(p.b[x.from:x.to]) }

// again returns was if it is the text, and otherwise the text.
func (p *parser) again(was string, x extent) string {
	if b := p.b[x.from:x.to]; was != string(b) {
		return p.texts.text(b)
	}
	return was
}

// itemAttributes gives the record of an item the attributes in p.pairs. Those
// that have the same bytes as those it holds cost no more than that look.
func (p *parser) itemAttributes(dst *otelstef.Attributes) error {
	n := len(p.pairs)
	if err := p.room(n); err != nil {
		return err
	}
	dst.SetLen(n)
	if n < len(p.held) {
		p.held = p.held[:n]
	}
	for i, x := range p.pairs {
		if i < len(p.held) {
			h := &p.held[i]
			if x.to-x.from == h.to-h.from && bytes.Equal(p.b[x.from:x.to], p.b[h.from:h.to]) {
				p.left -= h.cost
				continue
			}
		}
		before := p.left
		if err := p.pair(dst, i, x); err != nil {
			p.held = p.held[:min(i, len(p.held))]
			return err
		}
		if i < len(p.held) {
			p.held[i] = heldPair{x, before - p.left}
		} else {
			p.held = append(p.held, heldPair{x, before - p.left})
		}
	}
	if p.left < 0 {
		return p.take(0)
	}
	return nil
}

// attributes gives dst the attributes in p.pairs.
func (p *parser) attributes(dst *otelstef.Attributes) error {
	if err := p.room(len(p.pairs)); err != nil {
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

// pair sets one attribute.
func (p *parser) pair(dst *otelstef.Attributes, i int, x extent) error {
	key, c := p.keyValue(x)
	k := p.again(dst.Key(i), key)
	p.left -= len(k)
	switch c.tag {
	case tagString:
		dst.SetString(i, k, p.again(dst.Value(i).String(), c.extent))
		p.left -= c.to - c.from
	case tagInt:
		dst.SetInt64(i, k, int64(c.number))
	case tagDouble:
		dst.SetFloat64(i, k, math.Float64frombits(c.number))
	case tagBool:
		dst.SetBool(i, k, c.number != 0)
	default:
		dst.SetKey(i, k)
		if err := p.value(dst.Value(i), c, 0); err != nil {
			return inField(fmt.Sprintf("[%q]", shorten(p.b[key.from:key.to])), err)
		}
	}
	if p.left < 0 {
		return p.take(0)
	}
	return nil
}

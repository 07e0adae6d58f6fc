// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// body gives dst the body of a log record, after a check. A text goes out as it
// is: taking texts apart into templates takes longer than all the rest.
//
// Such a text is not copied before it is copied into the stream. The record has
// to let go of it before the message ends; see letGo.
//
// spec: #otlp-logs
func (e *LogsEncoder) body(dst *otelstef.LogBody, c choice) error {
	switch c.tag {
	case 0:
		dst.SetType(otelstef.LogBodyTypeNone)
		return nil
	case tagString:
		if err := e.take(c.to - c.from); err != nil {
			return err
		}
		b := e.b[c.from:c.to]
		dst.SetString(unsafe.String(unsafe.SliceData(b), len(b)))
		return nil
	}
	return e.bodyValue(dst.SetValue(), c, 0)
}

// letGo takes a text out of the record that is in the memory of the message.
// Bodies are in no dictionary, so nothing else holds it.
func (e *LogsEncoder) letGo() {
	if body := e.rec.Record().Body(); body.Type() == otelstef.LogBodyTypeString {
		body.SetType(otelstef.LogBodyTypeNone)
	}
}

// bodyValue is value for the values in bodies.
func (p *parser) bodyValue(dst *otelstef.BodyValue, c choice, depth int) error {
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
		return p.bodyArray(dst, c.extent, depth+1)
	case tagKVList:
		return p.bodyMap(dst, c.extent, depth+1)
	default:
		dst.SetType(otelstef.BodyValueTypeNone)
	}
	return nil
}

func (p *parser) bodyArray(dst *otelstef.BodyValue, x extent, depth int) error {
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
		if err := p.bodyValue(elements.At(i), p.choose(element, choice{}), depth); err != nil {
			return inField(fmt.Sprintf("[%d]", i), err)
		}
		return nil
	})
}

func (p *parser) bodyMap(dst *otelstef.BodyValue, x extent, depth int) error {
	if err := p.nested(depth); err != nil {
		return err
	}
	n := p.countOf(x, tagValues)
	if err := p.room(n); err != nil {
		return err
	}
	pairs := dst.SetMap()
	pairs.SetLen(n)
	return p.values(x, func(i int, pair extent) error {
		key, c := p.keyValue(pair)
		pairs.SetKey(i, p.again(pairs.Key(i), key))
		if err := p.take(key.to - key.from); err != nil {
			return err
		}
		if err := p.bodyValue(pairs.Value(i), c, depth); err != nil {
			return inField(fmt.Sprintf("[%q]", shorten(p.b[key.from:key.to])), err)
		}
		return nil
	})
}

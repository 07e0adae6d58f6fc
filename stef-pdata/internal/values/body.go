// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Structured bodies have their own type, BodyValue, whose keys and texts have
// dictionaries. This file sets such values.

// BodyValue sets dst to the value of v. depth is the number of arrays and maps around
// it.
func (c *Copier) BodyValue(dst *otelstef.BodyValue, v pcommon.Value, depth int) error {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s := v.Str()
		dst.SetString(s)
		return c.Take(len(s))
	case pcommon.ValueTypeInt:
		dst.SetInt64(v.Int())
	case pcommon.ValueTypeDouble:
		dst.SetFloat64(v.Double())
	case pcommon.ValueTypeBool:
		dst.SetBool(v.Bool())
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		if err := c.Take(b.Len()); err != nil {
			return err
		}
		dst.SetBytes(c.bytesOf(b))
	case pcommon.ValueTypeSlice:
		return c.bodyArray(dst, v.Slice(), depth+1)
	case pcommon.ValueTypeMap:
		return c.bodyMap(dst.SetMap(), v.Map(), depth+1)
	default:
		dst.SetType(otelstef.BodyValueTypeNone)
	}
	return nil
}

func (c *Copier) bodyArray(dst *otelstef.BodyValue, src pcommon.Slice, depth int) error {
	n := src.Len()
	if err := mapping.CheckDepth(depth); err != nil {
		return err
	}
	if err := c.Take(n * mapping.ValueBytes); err != nil {
		return err
	}
	array := dst.SetArray()
	array.SetLen(n)
	refer := c.Refer
	c.Refer = nil // pairs in arrays cannot be references
	for i := range n {
		if err := c.BodyValue(array.At(i), src.At(i), depth); err != nil {
			return mapping.InElement(i, err)
		}
	}
	c.Refer = refer
	return nil
}

func (c *Copier) bodyMap(dst *otelstef.BodyMap, src pcommon.Map, depth int) error {
	n := src.Len()
	if err := mapping.CheckDepth(depth); err != nil {
		return err
	}
	if err := c.TakePairs(n); err != nil {
		return err
	}
	dst.SetLen(n)
	i := 0
	for k, v := range src.All() {
		c.Left -= len(k)
		isText := v.Type() == pcommon.ValueTypeStr
		s := ""
		if isText {
			s = v.Str()
			c.Left -= len(s)
		}
		if c.Refer != nil {
			s = c.Refer.Pair(k, s, isText)
		}
		if isText {
			dst.SetString(i, k, s)
		} else {
			dst.SetKey(i, k)
			if err := c.BodyValue(dst.Value(i), v, depth); err != nil {
				return mapping.InPair(k, err)
			}
		}
		if c.Left < 0 {
			return mapping.InPair(k, c.Take(0))
		}
		i++
	}
	return nil
}

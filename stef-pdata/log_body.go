// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Structured bodies are values of a type of their own, BodyValue, whose keys and
// texts have dictionaries. This file is value.go for them, both ways.

// bodyValue gives dst the value of v, which depth arrays and maps enclose.
func (c *copier) bodyValue(dst *otelstef.BodyValue, v pcommon.Value, depth int) error {
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
		dst.SetBytes(c.raw(b))
	case pcommon.ValueTypeSlice:
		return c.bodyArray(dst, v.Slice(), depth+1)
	case pcommon.ValueTypeMap:
		return c.bodyMap(dst.SetMap(), v.Map(), depth+1)
	default:
		dst.SetType(otelstef.BodyValueTypeNone)
	}
	return nil
}

func (c *copier) bodyArray(dst *otelstef.BodyValue, src pcommon.Slice, depth int) error {
	n := src.Len()
	if err := mapping.CheckDepth(depth); err != nil {
		return err
	}
	if err := c.Take(n * mapping.ValueBytes); err != nil {
		return err
	}
	array := dst.SetArray()
	array.SetLen(n)
	for i := range n {
		if err := c.bodyValue(array.At(i), src.At(i), depth); err != nil {
			return mapping.InElement(i, err)
		}
	}
	return nil
}

func (c *copier) bodyMap(dst *otelstef.BodyMap, src pcommon.Map, depth int) error {
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
		if v.Type() == pcommon.ValueTypeStr {
			s := v.Str()
			c.Left -= len(s)
			dst.SetString(i, k, s)
		} else {
			dst.SetKey(i, k)
			if err := c.bodyValue(dst.Value(i), v, depth); err != nil {
				return mapping.InPair(k, err)
			}
		}
		i++
	}
	return c.Take(0)
}

// body gives dst, which is empty, the value of src.
func (b *builder) body(dst pcommon.Value, src *otelstef.BodyValue) {
	switch src.Type() {
	case otelstef.BodyValueTypeString:
		dst.SetStr(b.text(src.String()))
	case otelstef.BodyValueTypeInt64:
		dst.SetInt(src.Int64())
	case otelstef.BodyValueTypeFloat64:
		dst.SetDouble(src.Float64())
	case otelstef.BodyValueTypeBool:
		dst.SetBool(src.Bool())
	case otelstef.BodyValueTypeBytes:
		b.spent += len(src.Bytes())
		dst.SetEmptyBytes().FromRaw(src.Bytes())
	case otelstef.BodyValueTypeArray:
		b.bodyArray(dst.SetEmptySlice(), src)
	case otelstef.BodyValueTypeMap:
		b.bodyMap(dst.SetEmptyMap(), src.Map())
	}
}

func (b *builder) bodyArray(dst pcommon.Slice, src *otelstef.BodyValue) {
	elements := src.Array()
	n := elements.Len()
	b.spent += n * builtValueBytes
	dst.EnsureCapacity(n)
	for i := range n {
		b.body(dst.AppendEmpty(), elements.At(i))
	}
}

func (b *builder) bodyMap(dst pcommon.Map, src *otelstef.BodyMap) {
	n := src.Len()
	if n == 0 {
		return
	}
	b.spent += n * builtValueBytes
	var pairs xpdata.MapBuilder
	pairs.EnsureCapacity(n)
	for i := range n {
		b.body(pairs.AppendEmpty(b.text(src.Key(i))), src.Value(i))
	}
	pairs.UnsafeIntoMap(dst)
}

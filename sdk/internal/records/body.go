// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// body sets dst to the body of a log record.
func (c *copier) body(dst *otelstef.LogBody, v attribute.Value) error {
	switch v.Type() {
	case attribute.EMPTY:
		dst.SetType(otelstef.LogBodyTypeNone)
		return nil
	case attribute.STRING:
		s := v.AsString()
		dst.SetString(s)
		return c.take(len(s))
	}
	return c.bodyValue(dst.SetValue(), v, 0)
}

// bodyValue is value for the values in a body, which have a type of their own.
func (c *copier) bodyValue(dst *otelstef.BodyValue, v attribute.Value, depth int) error {
	switch v.Type() {
	case attribute.STRING:
		s := v.AsString()
		dst.SetString(s)
		return c.take(len(s))
	case attribute.INT64:
		dst.SetInt64(v.AsInt64())
	case attribute.BOOL:
		dst.SetBool(v.AsBool())
	case attribute.FLOAT64:
		dst.SetFloat64(v.AsFloat64())
	case attribute.BYTESLICE:
		b := v.AsByteSlice()
		dst.SetBytes(b)
		return c.take(len(b))
	case attribute.MAP:
		return c.bodyMap(dst.SetMap(), v.AsMap(), depth+1)
	case attribute.EMPTY:
		dst.SetType(otelstef.BodyValueTypeNone)
	default:
		return c.bodySlice(dst, v, depth+1)
	}
	return nil
}

func (c *copier) bodySlice(dst *otelstef.BodyValue, v attribute.Value, depth int) error {
	switch v.Type() {
	case attribute.SLICE:
		return eachInBody(c, dst, v.AsSlice(), depth, func(dst *otelstef.BodyValue, x attribute.Value) error {
			return c.bodyValue(dst, x, depth)
		})
	case attribute.STRINGSLICE:
		return eachInBody(c, dst, v.AsStringSlice(), depth, func(dst *otelstef.BodyValue, x string) error {
			dst.SetString(x)
			return c.take(len(x))
		})
	case attribute.INT64SLICE:
		return eachInBody(c, dst, v.AsInt64Slice(), depth, func(dst *otelstef.BodyValue, x int64) error {
			dst.SetInt64(x)
			return nil
		})
	case attribute.FLOAT64SLICE:
		return eachInBody(c, dst, v.AsFloat64Slice(), depth, func(dst *otelstef.BodyValue, x float64) error {
			dst.SetFloat64(x)
			return nil
		})
	case attribute.BOOLSLICE:
		return eachInBody(c, dst, v.AsBoolSlice(), depth, func(dst *otelstef.BodyValue, x bool) error {
			dst.SetBool(x)
			return nil
		})
	}
	dst.SetString(invalid)
	return nil
}

func eachInBody[T any](c *copier, dst *otelstef.BodyValue, src []T, depth int, set func(*otelstef.BodyValue, T) error) error {
	if err := c.takeList(len(src), depth); err != nil {
		return err
	}
	array := dst.SetArray()
	array.SetLen(len(src))
	for i, x := range src {
		if err := set(array.At(i), x); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) bodyMap(dst *otelstef.BodyMap, src []attribute.KeyValue, depth int) error {
	if err := c.takeList(0, depth); err != nil {
		return err
	}
	if err := c.takePairs(len(src)); err != nil {
		return err
	}
	dst.SetLen(len(src))
	for i := range src {
		key := string(src[i].Key)
		dst.SetKey(i, key)
		if err := c.take(len(key)); err != nil {
			return err
		}
		if err := c.bodyValue(dst.Value(i), src[i].Value, depth); err != nil {
			return err
		}
	}
	return nil
}

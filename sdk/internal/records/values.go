// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// invalid is the text that the OTLP exporters write for values of a type that they
// do not know.
const invalid = "INVALID"

// copier copies attributes and values into records, within the limits of an item.
type copier struct {
	budget
}

// attributes sets dst to src. It keeps the order.
func (c *copier) attributes(dst *otelstef.Attributes, src []attribute.KeyValue) error {
	n := len(src)
	if n|dst.Len() == 0 {
		return nil
	}
	if err := c.takePairs(n); err != nil {
		return err
	}
	dst.SetLen(n)
	for i := range src {
		if err := c.attribute(dst, i, &src[i]); err != nil {
			return err
		}
	}
	return c.take(0)
}

// attribute sets one pair. It may leave the budget below 0.
func (c *copier) attribute(dst *otelstef.Attributes, i int, kv *attribute.KeyValue) error {
	key := string(kv.Key)
	c.left -= len(key)
	switch kv.Value.Type() {
	case attribute.STRING:
		s := kv.Value.AsString()
		c.left -= len(s)
		dst.SetString(i, key, s)
	case attribute.INT64:
		dst.SetInt64(i, key, kv.Value.AsInt64())
	case attribute.BOOL:
		dst.SetBool(i, key, kv.Value.AsBool())
	case attribute.FLOAT64:
		dst.SetFloat64(i, key, kv.Value.AsFloat64())
	default:
		dst.SetKey(i, key)
		if err := c.value(dst.Value(i), kv.Value, 0); err != nil {
			return fmt.Errorf("attribute %q: %w", key, err)
		}
	}
	return nil
}

// set is attributes for a set.
func (c *copier) set(dst *otelstef.Attributes, src *attribute.Set) error {
	return c.attributes(dst, src.ToSlice())
}

// value sets dst to v. depth is the number of lists and maps around it.
func (c *copier) value(dst *otelstef.AnyValue, v attribute.Value, depth int) error {
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
		return c.list(dst.SetKVList(), v.AsMap(), depth+1)
	case attribute.EMPTY:
		dst.SetType(otelstef.AnyValueTypeNone)
	default:
		return c.slice(dst, v, depth+1)
	}
	return nil
}

// slice sets dst to a value that is a list, or to the text for unknown types.
func (c *copier) slice(dst *otelstef.AnyValue, v attribute.Value, depth int) error {
	switch v.Type() {
	case attribute.SLICE:
		return each(c, dst, v.AsSlice(), depth, func(dst *otelstef.AnyValue, x attribute.Value) error {
			return c.value(dst, x, depth)
		})
	case attribute.STRINGSLICE:
		return each(c, dst, v.AsStringSlice(), depth, func(dst *otelstef.AnyValue, x string) error {
			dst.SetString(x)
			return c.take(len(x))
		})
	case attribute.INT64SLICE:
		return each(c, dst, v.AsInt64Slice(), depth, func(dst *otelstef.AnyValue, x int64) error {
			dst.SetInt64(x)
			return nil
		})
	case attribute.FLOAT64SLICE:
		return each(c, dst, v.AsFloat64Slice(), depth, func(dst *otelstef.AnyValue, x float64) error {
			dst.SetFloat64(x)
			return nil
		})
	case attribute.BOOLSLICE:
		return each(c, dst, v.AsBoolSlice(), depth, func(dst *otelstef.AnyValue, x bool) error {
			dst.SetBool(x)
			return nil
		})
	}
	dst.SetString(invalid)
	return nil
}

// each sets dst to a list of values.
func each[T any](c *copier, dst *otelstef.AnyValue, src []T, depth int, set func(*otelstef.AnyValue, T) error) error {
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

// list sets dst to the pairs of a map, which the SDK holds sorted by key.
func (c *copier) list(dst *otelstef.KeyValueList, src []attribute.KeyValue, depth int) error {
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
		if err := c.value(dst.Value(i), src[i].Value, depth); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/stef-go/list"
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

// attribute sets one pair. It subtracts the bytes of the pair from the budget, which may then be
// negative.
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
		if err := setValue(c, anyValue, dst.Value(i), kv.Value, 0); err != nil {
			return fmt.Errorf("attribute %q: %w", key, err)
		}
	}
	return nil
}

// value is the common interface of attribute values and bodies of log records: a value
// of type V, whose lists hold values of the same type.
type value[V any] interface {
	*V
	SetString(string)
	SetInt64(int64)
	SetBool(bool)
	SetFloat64(float64)
	SetBytes([]byte)
	SetArray() *list.Of[V]
}

// pairs is a map with values of type P.
type pairs[P any] interface {
	SetLen(int)
	SetKey(int, string)
	Value(int) P
}

// kind contains the functions that differ between the types of values.
type kind[P any, M pairs[P]] struct {
	setNone func(P)
	setMap  func(P) M
}

var (
	anyValue = &kind[*otelstef.AnyValue, *otelstef.KeyValueList]{
		setNone: func(v *otelstef.AnyValue) { v.SetType(otelstef.AnyValueTypeNone) },
		setMap:  (*otelstef.AnyValue).SetKVList,
	}
	bodyValue = &kind[*otelstef.BodyValue, *otelstef.BodyMap]{
		setNone: func(v *otelstef.BodyValue) { v.SetType(otelstef.BodyValueTypeNone) },
		setMap:  (*otelstef.BodyValue).SetMap,
	}
)

// setValue sets dst to v. depth is the number of lists and maps that contain v.
func setValue[V any, P value[V], M pairs[P]](c *copier, k *kind[P, M], dst P, v attribute.Value, depth int) error {
	switch v.Type() {
	case attribute.STRING:
		return setText[V](c, dst, v.AsString())
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
		return setMap[V](c, k, k.setMap(dst), v.AsMap(), depth+1)
	case attribute.EMPTY:
		k.setNone(dst)
	default:
		return setList[V](c, k, dst, v, depth+1)
	}
	return nil
}

func setText[V any, P value[V]](c *copier, dst P, s string) error {
	dst.SetString(s)
	return c.take(len(s))
}

// setList sets dst to a value that is a list, or to the text INVALID if the type is unknown.
func setList[V any, P value[V], M pairs[P]](c *copier, k *kind[P, M], dst P, v attribute.Value, depth int) error {
	switch v.Type() {
	case attribute.SLICE:
		src := v.AsSlice()
		if err := c.takeList(len(src), depth); err != nil {
			return err
		}
		array := dst.SetArray()
		array.SetLen(len(src))
		for i, x := range src {
			if err := setValue[V](c, k, P(array.At(i)), x, depth); err != nil {
				return err
			}
		}
		return nil
	case attribute.STRINGSLICE:
		return each[V](c, dst, v.AsStringSlice(), depth, setText[V, P])
	case attribute.INT64SLICE:
		return each[V](c, dst, v.AsInt64Slice(), depth, func(_ *copier, dst P, x int64) error {
			dst.SetInt64(x)
			return nil
		})
	case attribute.FLOAT64SLICE:
		return each[V](c, dst, v.AsFloat64Slice(), depth, func(_ *copier, dst P, x float64) error {
			dst.SetFloat64(x)
			return nil
		})
	case attribute.BOOLSLICE:
		return each[V](c, dst, v.AsBoolSlice(), depth, func(_ *copier, dst P, x bool) error {
			dst.SetBool(x)
			return nil
		})
	}
	dst.SetString(invalid)
	return nil
}

// each sets dst to a list of values that are not lists.
func each[V any, P value[V], T any](c *copier, dst P, src []T, depth int, set func(*copier, P, T) error) error {
	if err := c.takeList(len(src), depth); err != nil {
		return err
	}
	array := dst.SetArray()
	array.SetLen(len(src))
	for i, x := range src {
		if err := set(c, P(array.At(i)), x); err != nil {
			return err
		}
	}
	return nil
}

// setMap sets dst to the pairs of a map. The SDK keeps the pairs sorted by key.
func setMap[V any, P value[V], M pairs[P]](c *copier, k *kind[P, M], dst M, src []attribute.KeyValue, depth int) error {
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
		if err := setValue[V](c, k, dst.Value(i), src[i].Value, depth); err != nil {
			return err
		}
	}
	return nil
}

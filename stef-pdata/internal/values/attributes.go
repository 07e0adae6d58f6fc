// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Attributes sets dst to the attributes of src, sorted by key if ByKey is set.
func (c *Copier) Attributes(dst *otelstef.Attributes, src pcommon.Map) error {
	left := c.Left
	if err := c.attributes(dst, src); err != nil {
		return Locate(src, left, err)
	}
	return nil
}

// Locate returns the error of the first attribute of src that is nested too deep, or with which the
// item exceeds its limit. err is the error of a faster function, which may check only after the
// last attribute. left is what the item had left of its limit before its attributes.
func Locate(src pcommon.Map, left int, err error) error {
	c, value := Copier{Budget: mapping.Budget{Left: left}}, otelstef.NewAnyValue()
	if err := c.TakePairs(src.Len()); err != nil {
		return err
	}
	for k, v := range src.All() {
		c.Left -= len(k)
		err := c.Value(value, v, 0)
		if err == nil {
			err = c.Take(0)
		}
		if err != nil {
			return mapping.InPair(k, err)
		}
	}
	return err
}

func (c *Copier) attributes(dst *otelstef.Attributes, src pcommon.Map) error {
	if c.ByKey && !inKeyOrder(src) {
		return c.AttributesByKey(dst, src)
	}
	n := src.Len()
	if err := c.TakePairs(n); err != nil {
		return err
	}
	dst.SetLen(n)
	i, text := 0, 0
	for k, v := range src.All() {
		// Most attributes are text that is not empty. The code handles such text without a
		// call and without checking the type. If dst already has the key at this place, it
		// usually has the value, too.
		if s := v.Str(); s != "" {
			text += len(k) + len(s)
			if c.Refer != nil {
				s = c.Refer.Attribute(i, k, s)
			}
			if dst.Key(i) == k {
				dst.Value(i).SetString(s)
			} else {
				dst.SetKeyRef(i, k, c.KeyDict.Ref(k))
				dst.Value(i).SetStringRef(s, c.TextDict.Ref(s))
			}
		} else if err := c.attribute(dst, i, k, v); err != nil {
			return err
		}
		i++
	}
	return c.Take(text)
}

func (c *Copier) attribute(dst *otelstef.Attributes, i int, k string, v pcommon.Value) error {
	c.Left -= len(k)
	dst.SetKey(i, k)
	return c.AttributeValue(dst, i, k, v)
}

// AttributeValue sets the value of a pair whose key is already set.
func (c *Copier) AttributeValue(dst *otelstef.Attributes, i int, k string, v pcommon.Value) error {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s := v.Str()
		c.Left -= len(s)
		if c.Refer != nil && s != "" {
			s = c.Refer.Attribute(i, k, s)
		}
		dst.Value(i).SetString(s)
	case pcommon.ValueTypeInt:
		dst.Value(i).SetInt64(v.Int())
	case pcommon.ValueTypeDouble:
		dst.Value(i).SetFloat64(v.Double())
	case pcommon.ValueTypeBool:
		dst.Value(i).SetBool(v.Bool())
	default:
		if err := c.Value(dst.Value(i), v, 0); err != nil {
			return mapping.InPair(k, err)
		}
	}
	if c.Left < 0 {
		return c.Take(0)
	}
	return nil
}

// inKeyOrder reports whether the keys of m ascend.
func inKeyOrder(m pcommon.Map) bool {
	last := ""
	for k := range m.All() {
		if k < last {
			return false
		}
		last = k
	}
	return true
}

// AttributesByKey sets dst to the attributes of src, sorted by key. Pairs of equal keys keep
// their order.
func (c *Copier) AttributesByKey(dst *otelstef.Attributes, src pcommon.Map) error {
	if err := c.TakePairs(src.Len()); err != nil {
		return err
	}
	type pair struct {
		key   string
		value pcommon.Value
	}
	pairs := make([]pair, 0, src.Len())
	for k, v := range src.All() {
		pairs = append(pairs, pair{k, v})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	dst.SetLen(len(pairs))
	for i, p := range pairs {
		if err := c.attribute(dst, i, p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// SameAttributes reports whether a holds the attributes of m in the same order.
func SameAttributes(a *otelstef.Attributes, m pcommon.Map) bool {
	if a.Len() != m.Len() {
		return false
	}
	i := 0
	for k, v := range m.All() {
		if a.Key(i) != k || !SameValue(a.Value(i), v) {
			return false
		}
		i++
	}
	return true
}

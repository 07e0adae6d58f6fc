// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// Copier copies values of pdata into records, within the limits of an item.
type Copier struct {
	mapping.Budget
	// ByKey sorts the attributes of an item by their keys.
	ByKey bool

	// KeyDict and TextDict are the dictionaries of the stream. They are nil in
	// copiers that do not write into the record of the stream.
	KeyDict, TextDict *stef.TextDict

	// Refer, if it is not nil, may replace texts by references.
	Refer Referrer

	scratch []byte
}

// A Referrer replaces texts of a log record by references. If it has no reference for a text,
// it returns the text.
type Referrer interface {
	// Pair is called for each pair of a structured body outside of arrays.
	Pair(key, text string, isText bool) string
	// Attribute is called for each attribute that is a text and not empty.
	Attribute(i int, key, text string) string
}

// Value sets dst to the value of v. depth is the number of enclosing arrays and maps.
func (c *Copier) Value(dst *otelstef.AnyValue, v pcommon.Value, depth int) error {
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
		return c.array(dst, v.Slice(), depth+1)
	case pcommon.ValueTypeMap:
		return c.list(dst.SetKVList(), v.Map(), depth+1)
	default:
		dst.SetType(otelstef.AnyValueTypeNone)
	}
	return nil
}

// bytesOf returns the bytes of b, valid until the next call.
func (c *Copier) bytesOf(b pcommon.ByteSlice) []byte {
	c.scratch = c.scratch[:0]
	for i := range b.Len() {
		c.scratch = append(c.scratch, b.At(i))
	}
	return c.scratch
}

func (c *Copier) array(dst *otelstef.AnyValue, src pcommon.Slice, depth int) error {
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
		if err := c.Value(array.At(i), src.At(i), depth); err != nil {
			return mapping.InElement(i, err)
		}
	}
	return nil
}

func (c *Copier) list(dst *otelstef.KeyValueList, src pcommon.Map, depth int) error {
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
		dst.SetKey(i, k)
		c.Left -= len(k)
		err := c.Value(dst.Value(i), v, depth)
		if err == nil && c.Left < 0 {
			err = c.Take(0)
		}
		if err != nil {
			return mapping.InPair(k, err)
		}
		i++
	}
	return nil
}

// SameValue reports whether a holds v.
func SameValue(a *otelstef.AnyValue, v pcommon.Value) bool {
	switch a.Type() {
	case otelstef.AnyValueTypeString:
		return v.Type() == pcommon.ValueTypeStr && v.Str() == a.Str()
	case otelstef.AnyValueTypeInt64:
		return v.Type() == pcommon.ValueTypeInt && v.Int() == a.Int64()
	case otelstef.AnyValueTypeFloat64:
		return v.Type() == pcommon.ValueTypeDouble && SameFloat(v.Double(), a.Float64())
	case otelstef.AnyValueTypeBool:
		return v.Type() == pcommon.ValueTypeBool && v.Bool() == a.Bool()
	case otelstef.AnyValueTypeBytes:
		return v.Type() == pcommon.ValueTypeBytes && sameBytes(a.Bytes(), v.Bytes())
	case otelstef.AnyValueTypeArray:
		if v.Type() != pcommon.ValueTypeSlice {
			return false
		}
		array, s := a.Array(), v.Slice()
		if array.Len() != s.Len() {
			return false
		}
		for i := range s.Len() {
			if !SameValue(array.At(i), s.At(i)) {
				return false
			}
		}
		return true
	case otelstef.AnyValueTypeKVList:
		return v.Type() == pcommon.ValueTypeMap && sameList(a.KVList(), v.Map())
	}
	return v.Type() == pcommon.ValueTypeEmpty
}

func sameList(a *otelstef.KeyValueList, m pcommon.Map) bool {
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

func sameBytes(a []byte, b pcommon.ByteSlice) bool {
	if len(a) != b.Len() {
		return false
	}
	for i, x := range a {
		if b.At(i) != x {
			return false
		}
	}
	return true
}

func SameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
)

// Builder builds pdata values from records.
type Builder struct {
	Budget
	slab.Values
}

// Sizes in pdata, in bytes without text. Each is greater than the size in OTLP.
const (
	builtValueBytes     = 64  // an attribute or nested value
	builtBytesBytes     = 32  // the object of a bytes value; the runtime rounds up the sizes of the object and of the bytes
	builtContainerBytes = 192 // a resource, scope or metric
)

// attributes sets dst, which is empty, to the pairs of src.
func (b *Builder) attributes(dst pcommon.Map, src *otelstef.Attributes) {
	n := src.Len()
	if n == 0 {
		return
	}
	b.Spent += n * builtValueBytes
	var pairs slab.Pairs
	b.Begin(&pairs, dst, n)
	for i := range n {
		b.value(pairs.At(i, b.Text(src.Key(i))), src.Value(i))
	}
	pairs.End()
}

// value sets dst, which is empty, to the value of src.
func (b *Builder) value(dst pcommon.Value, src *otelstef.AnyValue) {
	switch src.Type() {
	case otelstef.AnyValueTypeString:
		b.SetStr(dst, b.Text(src.Str()))
	case otelstef.AnyValueTypeInt64:
		b.SetInt(dst, src.Int64())
	case otelstef.AnyValueTypeFloat64:
		b.SetDouble(dst, src.Float64())
	case otelstef.AnyValueTypeBool:
		b.SetBool(dst, src.Bool())
	case otelstef.AnyValueTypeBytes:
		b.Spent += builtBytesBytes + len(src.Bytes())
		dst.SetEmptyBytes().FromRaw(src.Bytes())
	case otelstef.AnyValueTypeArray:
		b.array(dst.SetEmptySlice(), src)
	case otelstef.AnyValueTypeKVList:
		b.list(dst.SetEmptyMap(), src.KVList())
	}
}

func (b *Builder) array(dst pcommon.Slice, src *otelstef.AnyValue) {
	elements := src.Array()
	n := elements.Len()
	b.Spent += (1 + n) * builtValueBytes // plus 1: the array itself is an object, too
	dst.EnsureCapacity(n)
	for i := range n {
		b.value(dst.AppendEmpty(), elements.At(i))
	}
}

func (b *Builder) list(dst pcommon.Map, src *otelstef.KeyValueList) {
	n := src.Len()
	b.Spent += (1 + n) * builtValueBytes
	if n == 0 {
		return
	}
	var pairs slab.Pairs
	b.Begin(&pairs, dst, n)
	for i := range n {
		b.value(pairs.At(i, b.Text(src.Key(i))), src.Value(i))
	}
	pairs.End()
}

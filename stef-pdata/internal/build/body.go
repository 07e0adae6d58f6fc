// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/slab"
)

// body sets dst, which is empty, to the value of src.
func (b *Builder) body(dst pcommon.Value, src *otelstef.BodyValue) {
	switch src.Type() {
	case otelstef.BodyValueTypeString:
		b.SetStr(dst, b.Text(src.Str()))
	case otelstef.BodyValueTypeInt64:
		b.SetInt(dst, src.Int64())
	case otelstef.BodyValueTypeFloat64:
		b.SetDouble(dst, src.Float64())
	case otelstef.BodyValueTypeBool:
		b.SetBool(dst, src.Bool())
	case otelstef.BodyValueTypeBytes:
		b.Spent += builtBytesBytes + len(src.Bytes())
		dst.SetEmptyBytes().FromRaw(src.Bytes())
	case otelstef.BodyValueTypeArray:
		b.bodyArray(dst.SetEmptySlice(), src)
	case otelstef.BodyValueTypeMap:
		b.bodyMap(dst.SetEmptyMap(), src.Map())
	}
}

func (b *Builder) bodyArray(dst pcommon.Slice, src *otelstef.BodyValue) {
	elements := src.Array()
	n := elements.Len()
	b.Spent += (1 + n) * builtValueBytes // plus 1: the array itself is an object, too
	dst.EnsureCapacity(n)
	for i := range n {
		b.body(dst.AppendEmpty(), elements.At(i))
	}
}

func (b *Builder) bodyMap(dst pcommon.Map, src *otelstef.BodyMap) {
	n := src.Len()
	b.Spent += (1 + n) * builtValueBytes
	if n == 0 {
		return
	}
	var pairs slab.Pairs
	b.Begin(&pairs, dst, n)
	for i := range n {
		b.body(pairs.At(i, b.Text(src.Key(i))), src.Value(i))
	}
	pairs.End()
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// body sets dst, which is empty, to the value of src.
func (b *Builder) body(dst pcommon.Value, src *otelstef.BodyValue) {
	switch src.Type() {
	case otelstef.BodyValueTypeString:
		dst.SetStr(b.Text(src.Str()))
	case otelstef.BodyValueTypeInt64:
		dst.SetInt(src.Int64())
	case otelstef.BodyValueTypeFloat64:
		dst.SetDouble(src.Float64())
	case otelstef.BodyValueTypeBool:
		dst.SetBool(src.Bool())
	case otelstef.BodyValueTypeBytes:
		b.Spent += len(src.Bytes())
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
	b.Spent += n * builtValueBytes
	dst.EnsureCapacity(n)
	for i := range n {
		b.body(dst.AppendEmpty(), elements.At(i))
	}
}

func (b *Builder) bodyMap(dst pcommon.Map, src *otelstef.BodyMap) {
	n := src.Len()
	if n == 0 {
		return
	}
	b.Spent += n * builtValueBytes
	var pairs xpdata.MapBuilder
	pairs.EnsureCapacity(n)
	for i := range n {
		b.body(pairs.AppendEmpty(b.Text(src.Key(i))), src.Value(i))
	}
	pairs.UnsafeIntoMap(dst)
}

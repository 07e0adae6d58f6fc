// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// hash computes the hash of values of pdata and of records. It covers everything that a lookup
// compares. If it omitted a part, resources, scopes or metrics that differ only in this part would
// have the same hash, and each lookup would compare all of them.
type hash struct{ codec.Hash }

func (h *hash) attributes(m pcommon.Map) {
	h.Uint64(uint64(m.Len()))
	for k, v := range m.All() {
		h.String(k)
		h.value(v)
	}
}

func (h *hash) value(v pcommon.Value) {
	t := v.Type()
	if t == pcommon.ValueTypeStr {
		h.String(v.Str())
		return
	}
	h.Uint64(uint64(t))
	switch t {
	case pcommon.ValueTypeInt:
		h.Uint64(uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		h.Float64(v.Double())
	case pcommon.ValueTypeBool:
		h.Bool(v.Bool())
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		h.Uint64(uint64(b.Len()))
		for i := range b.Len() {
			h.Uint64(uint64(b.At(i)))
		}
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		h.Uint64(uint64(s.Len()))
		for i := range s.Len() {
			h.value(s.At(i))
		}
	case pcommon.ValueTypeMap:
		h.attributes(v.Map())
	}
}

func (h *hash) entityRefs(refs entity.EntityRefSlice) {
	h.Uint64(uint64(refs.Len()))
	for _, ref := range refs.All() {
		h.String(ref.SchemaUrl())
		h.String(ref.Type())
		for _, keys := range [...]pcommon.StringSlice{ref.IdKeys(), ref.DescriptionKeys()} {
			h.Uint64(uint64(keys.Len()))
			for _, key := range keys.All() {
				h.String(key)
			}
		}
	}
}

// stored hashes the attributes of a record.
func (h *hash) stored(a *otelstef.Attributes) {
	h.Uint64(uint64(a.Len()))
	for i := range a.Len() {
		h.String(a.Key(i))
		h.storedValue(a.Value(i))
	}
}

func (h *hash) storedValue(v *otelstef.AnyValue) {
	h.Uint64(uint64(v.Type()))
	switch v.Type() {
	case otelstef.AnyValueTypeString:
		h.String(v.Str())
	case otelstef.AnyValueTypeInt64:
		h.Uint64(uint64(v.Int64()))
	case otelstef.AnyValueTypeFloat64:
		h.Float64(v.Float64())
	case otelstef.AnyValueTypeBool:
		h.Bool(v.Bool())
	case otelstef.AnyValueTypeBytes:
		h.Bytes(v.Bytes())
	case otelstef.AnyValueTypeArray:
		h.Uint64(uint64(v.Array().Len()))
		for i := range v.Array().Len() {
			h.storedValue(v.Array().At(i))
		}
	case otelstef.AnyValueTypeKVList:
		list := v.KVList()
		h.Uint64(uint64(list.Len()))
		for i := range list.Len() {
			h.String(list.Key(i))
			h.storedValue(list.Value(i))
		}
	}
}

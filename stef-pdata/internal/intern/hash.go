// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/codec"
)

// hash computes the hash of values of pdata.
type hash struct{ codec.Hash }

func (h *hash) attributes(m pcommon.Map) {
	h.Uint64(uint64(m.Len()))
	for k, v := range m.All() {
		h.String(k)
		h.value(v)
	}
}

// pairs hashes a map like attributes, but ignores the order of its pairs.
func (h *hash) pairs(m pcommon.Map) {
	sum := uint64(m.Len())
	for k, v := range m.All() {
		var pair hash
		pair.String(k)
		pair.value(v)
		sum += uint64(pair.Hash)
	}
	h.Uint64(sum)
}

func (h *hash) value(v pcommon.Value) {
	t := v.Type()
	switch t {
	case pcommon.ValueTypeStr:
		h.String(v.Str())
		return
	case pcommon.ValueTypeInt:
		h.Uint64(uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		h.Float64(v.Double())
	case pcommon.ValueTypeBool:
		if v.Bool() {
			h.Uint64(1)
		}
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		for i := range b.Len() {
			h.Uint64(uint64(b.At(i)))
		}
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		for i := range s.Len() {
			h.value(s.At(i))
		}
	case pcommon.ValueTypeMap:
		h.attributes(v.Map())
	}
	h.Uint64(uint64(t))
}

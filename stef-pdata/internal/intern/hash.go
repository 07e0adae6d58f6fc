// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"hash/maphash"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelstef/stef/stef-go/codec"
)

// hash computes the hash of a value. Its seed differs in every process, so that an
// attacker cannot construct values that collide. Values of equal hash are compared,
// so the hash affects only speed.
type hash uint64

var hashSeed = maphash.MakeSeed()

func (h *hash) number(v uint64) {
	x := (uint64(*h) ^ v) * codec.GoldenRatio
	*h = hash(x ^ x>>29)
}

func (h *hash) float(v float64) { h.number(math.Float64bits(v)) }

func (h *hash) text(s string) { h.number(maphash.String(hashSeed, s)) }

func (h *hash) attributes(m pcommon.Map) {
	h.number(uint64(m.Len()))
	for k, v := range m.All() {
		h.text(k)
		h.value(v)
	}
}

// pairs is attributes for maps whose order does not matter.
func (h *hash) pairs(m pcommon.Map) {
	sum := uint64(m.Len())
	for k, v := range m.All() {
		var pair hash
		pair.text(k)
		pair.value(v)
		sum += uint64(pair)
	}
	h.number(sum)
}

func (h *hash) value(v pcommon.Value) {
	t := v.Type()
	switch t {
	case pcommon.ValueTypeStr:
		h.text(v.Str())
		return
	case pcommon.ValueTypeInt:
		h.number(uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		h.float(v.Double())
	case pcommon.ValueTypeBool:
		if v.Bool() {
			h.number(1)
		}
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		for i := range b.Len() {
			h.number(uint64(b.At(i)))
		}
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		for i := range s.Len() {
			h.value(s.At(i))
		}
	case pcommon.ValueTypeMap:
		h.attributes(v.Map())
	}
	h.number(uint64(t))
}

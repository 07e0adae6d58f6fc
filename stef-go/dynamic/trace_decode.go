// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import "github.com/otelstef/stef/stef-go/schema"

// event emits a trace event for the data that was read from c since the last event.
func (d *decoder) event(c *column, detail any) {
	if c.isBits() {
		d.trace.value(c, nil, &c.bitIn, d.index, detail)
		return
	}
	d.trace.value(c, &c.byteIn, nil, d.index, detail)
}

// leaveIndex removes the position in the innermost array or multimap.
func (d *decoder) leaveIndex() { d.index = d.index[:len(d.index)-1] }

func (d *decoder) primitiveDetail(c *column, before deltaState, v any) any {
	switch c.typ.Kind {
	case schema.KindBool:
		return TraceBool{v.(bool)}
	case schema.KindInt64, schema.KindUint64, schema.KindEnum:
		return TraceNumber{Value: v, Change: int64(c.delta.delta - before.delta), Delta: int64(c.delta.delta)}
	case schema.KindFloat64:
		return floatDetail(c, v.(float64))
	}
	text := TraceText{Value: v, Dict: c.dict, Ref: -1, Entry: -1}
	switch {
	case d.code < 0:
		text.Ref = int(-(d.code + 1))
	case c.dict != "" && d.code >= minDictText:
		text.Entry = len(d.dicts.texts[c.dict]) - 1
	}
	return text
}

// floatDetail returns the detail of the event for v. It reads the first bits of the
// event again.
func floatDetail(c *column, v float64) TraceFloat {
	bits := bitReader{data: c.bitIn.data, n: c.bitIn.traced}
	f := TraceFloat{Value: v, Lead: c.xor.lead, Trail: c.xor.trail}
	if changed, _ := bits.bits(1); changed == 0 {
		return f
	}
	window, _ := bits.bits(1)
	f.New = window == 1
	f.Bits = 64 - f.Lead - f.Trail
	return f
}

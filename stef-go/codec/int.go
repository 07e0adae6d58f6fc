// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import "github.com/otelstef/stef/stef-go/bitio"

// Uint64Encoder writes the delta of deltas as a varint: the difference to the last value
// minus the difference before it, in wrapping arithmetic. A value that grows evenly, such
// as many timestamps and counters, needs one zero byte.
//
// spec: #integers
type Uint64Encoder struct {
	bitio.ByteWriter
	last, delta uint64
}

// Encode appends v.
func (e *Uint64Encoder) Encode(v uint64) {
	delta := v - e.last
	u := bitio.Zigzag(int64(delta - e.delta))
	e.last, e.delta = v, delta
	e.Uvarint(u)
}

// Restart forgets the last value and difference.
func (e *Uint64Encoder) Restart() { e.last, e.delta = 0, 0 }

// Uint64Decoder reads what Uint64Encoder writes.
type Uint64Decoder struct {
	bitio.ByteReader
	last, delta uint64
}

// Decode returns the next value.
func (d *Uint64Decoder) Decode() uint64 {
	var u uint64
	if p := d.Pos; p < len(d.Buf) && d.Buf[p] < 0x80 {
		u = uint64(d.Buf[p])
		d.Pos = p + 1
	} else {
		u = d.UvarintLong()
	}
	d.delta += uint64(bitio.Unzigzag(u))
	d.last += d.delta
	return d.last
}

func (d *Uint64Decoder) decodeAll(dst []uint64) {
	last, delta := d.last, d.delta
	for i := range dst {
		var u uint64
		if p := d.Pos; p < len(d.Buf) && d.Buf[p] < 0x80 {
			u = uint64(d.Buf[p])
			d.Pos = p + 1
		} else {
			u = d.UvarintLong()
		}
		delta += uint64(bitio.Unzigzag(u))
		last += delta
		dst[i] = last
	}
	d.last, d.delta = last, delta
}

// Restart forgets the last value and difference.
func (d *Uint64Decoder) Restart() { d.last, d.delta = 0, 0 }

// Int64Encoder writes a signed value as Uint64Encoder writes the same bits.
type Int64Encoder struct{ Uint64Encoder }

// Encode appends v.
func (e *Int64Encoder) Encode(v int64) { e.Uint64Encoder.Encode(uint64(v)) }

// Int64Decoder reads what Int64Encoder writes.
type Int64Decoder struct{ Uint64Decoder }

// Decode returns the next value.
func (d *Int64Decoder) Decode() int64 { return int64(d.Uint64Decoder.Decode()) }

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import "github.com/otelstef/stef/stef-go/bitio"

// BytesEncoder writes bytes as StringEncoder writes text.
//
// spec: #string
type BytesEncoder struct {
	bitio.ByteWriter
	usage *Usage
}

// Init sets the counters of the stream, which Encode updates.
func (e *BytesEncoder) Init(usage *Usage) { e.usage = usage }

// Encode appends v.
func (e *BytesEncoder) Encode(v []byte) {
	e.usage.Frame += len(v)
	e.Room(10 + len(v))
	// Most values are ids of 8 or 16 bytes: copy them without a call.
	n := len(e.Buf)
	switch len(v) {
	case 8:
		e.Buf = e.Buf[:n+9]
		e.Buf[n] = 8 << 1
		*(*[8]byte)(e.Buf[n+1:]) = [8]byte(v)
	case 16:
		e.Buf = e.Buf[:n+17]
		e.Buf[n] = 16 << 1
		*(*[16]byte)(e.Buf[n+1:]) = [16]byte(v)
	default:
		e.Buf = bitio.AppendUvarint(e.Buf, uint64(len(v))<<1)
		e.Buf = append(e.Buf, v...)
	}
}

// Restart does nothing: there is no state.
func (e *BytesEncoder) Restart() {}

// BytesDecoder reads what BytesEncoder writes.
type BytesDecoder struct{ bitio.ByteReader }

// Decode appends the next value to dst, which is usually the emptied buffer of the
// previous value, so that nothing is allocated.
func (d *BytesDecoder) Decode(dst []byte) []byte {
	u := d.Uvarint()
	if u&1 != 0 {
		d.Fail(bitio.FaultLength)
		return dst
	}
	run, _ := d.Next(u >> 1)
	return append(dst, run...)
}

// Restart does nothing: there is no state.
func (d *BytesDecoder) Restart() {}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import "github.com/otelstef/stef/stef-go/bitio"

// BoolEncoder writes one bit per value.
//
// spec: #bool
type BoolEncoder struct{ bitio.BitWriter }

// Encode appends v.
func (e *BoolEncoder) Encode(v bool) {
	var bit uint64
	if v {
		bit = 1
	}
	e.Write(bit, 1)
}

// Restart does nothing: there is no state.
func (e *BoolEncoder) Restart() {}

// BoolDecoder reads what BoolEncoder writes.
type BoolDecoder struct{ bitio.BitReader }

// Decode returns the next value.
func (d *BoolDecoder) Decode() bool { return d.Read(1) != 0 }

// Restart does nothing: there is no state.
func (d *BoolDecoder) Restart() {}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import "github.com/otelstef/stef/stef-go/bitio"

// Bits is the column of a struct, oneof or array. It needs no codec: the generated code
// writes the bits directly.
type Bits struct{ bitio.BitWriter }

// Restart does nothing: there is no state.
func (e *Bits) Restart() {}

// BitsIn is the reading side of Bits.
type BitsIn struct{ bitio.BitReader }

// Restart does nothing: there is no state.
func (d *BitsIn) Restart() {}

// Headers is the column of the headers of a multimap: one varint per value.
type Headers struct{ bitio.ByteWriter }

// Write appends one header.
func (e *Headers) Write(h uint64) { e.Uvarint(h) }

// Restart does nothing: there is no state.
func (e *Headers) Restart() {}

// HeadersIn is the reading side of Headers.
type HeadersIn struct{ bitio.ByteReader }

// Restart does nothing: there is no state.
func (d *HeadersIn) Restart() {}

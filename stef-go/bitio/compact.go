// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package bitio

// MaxCompact is the largest number that the prefix code for sizes, lengths and
// references can represent.
const MaxCompact = 1<<48 - 1

// A compact class is a prefix of zeros that ends with a one, and a plain payload. A
// value is written in the first class whose payload holds it:
//
//	value        0   1..3  4..31  32..4095  ..2^19-1  ..2^26-1  ..2^33-1  ..2^48-1
//	prefix bits  1   2     3      4         5         6         7         8
//	payload bits 0   2     5      12        19        26        33        48
//
// spec: #uvarint-compact
var compactClasses = [8]struct{ prefix, payload uint8 }{
	{1, 0}, {2, 2}, {3, 5}, {4, 12}, {5, 19}, {6, 26}, {7, 33}, {8, 48},
}

// compactClass maps the bit length of a value to its class. Values of more than 48 bits do not fit
// in any class; they map to the last class.
var compactClass = func() (t [65]uint8) {
	class := 0
	for n := range t {
		for class < len(compactClasses)-1 && n > int(compactClasses[class].payload) {
			class++
		}
		t[n] = uint8(class)
	}
	return t
}()

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package codec encodes and decodes the values of a column: booleans, integers
// as differences of differences, floats by XOR, text and bytes as they are or
// by dictionary. It runs at value tempo; each codec is a concrete type with an
// Encode or Decode method that generated code calls once per value.
//
// Encoders and decoders keep state from value to value (the last value, the
// last difference, the dictionary) that lives as long as the stream. Restart
// puts the state of a codec to its beginning; dictionaries are shared by
// columns and restarted on their own.
//
// Nothing here checks for errors at the call: decoders latch the first failure
// in the bitio.Fault of their stream and return zeros afterwards. No type is
// safe for use by several goroutines at once.
package codec

// Usage counts what an encoder takes up, for the stream writer to decide when
// to end a frame and when to restart the dictionaries.
type Usage struct {
	// Frame counts the bytes of items without a fixed size (text, bytes,
	// array elements, multimap pairs; the latter as the most they are likely
	// to take) since the writer last set it to zero.
	Frame int
	// Dict is the memory of all dictionaries of the stream, by the accounting
	// of the specification.
	Dict int
}

// EntryOverhead is what a dictionary entry counts on top of its bytes.
//
// spec: #limits
const EntryOverhead = 16

// MinEntry is the length from which text and bytes enter a dictionary.
//
// spec: #string-dict
const MinEntry = 2

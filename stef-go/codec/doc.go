// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package codec encodes and decodes the values of a column: booleans, integers as differences of
// differences, floats by XOR, and text and bytes in full or as references to a dictionary. Each codec is
// a concrete type with an Encode or Decode method that generated code calls once per value.
//
// Encoders and decoders keep state from value to value (the last value, the last
// difference, the dictionary) for the whole stream. Restart resets the state of a
// codec. Columns share dictionaries, which are restarted separately.
//
// Encode and Decode do not return errors: decoders record the first failure in the
// bitio.Fault of their stream and then return zeros. No type is safe for use by
// several goroutines at once.
package codec

// Usage counts the memory that encoders use. The stream writer compares the counts with
// its limits, to decide when to end a frame and when to restart the dictionaries.
type Usage struct {
	// Frame counts the bytes of text, bytes, array elements and multimap pairs since
	// the writer last set it to zero. Elements and pairs count as their likely maximum
	// size.
	Frame int
	// Dict is the memory of all dictionaries of the stream, by the accounting
	// of the specification.
	Dict int
}

// EntryOverhead is added to the number of bytes of a dictionary entry to compute its size.
//
// spec: #dict-accounting
const EntryOverhead = 16

// MinEntry is the minimum length of text and bytes that enter a dictionary.
//
// spec: #string-dict
const MinEntry = 2

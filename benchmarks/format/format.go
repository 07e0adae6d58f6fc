// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package format puts formats of telemetry behind one interface, a file each,
// so that every benchmark treats them alike:
//
//	enc, err := f.NewEncoder(signal, own)    // one stream of messages
//	message, err := enc.Encode(batch)
//	dec, err := f.NewDecoder(signal, own)
//	batch, err := dec.Decode(message)
//
// A message is what is sent for one batch. Where a format keeps state from
// message to message (STEF, Arrow IPC) they have to be decoded in order, by one
// decoder; the others do not care. Each format is set up as its experts would
// do it, and Setup cites the options. Check proves that a format carries all
// data, or Drops says what it does not carry; the tables print both.
//
// Compression from outside is the same for all formats (type Compression).
package format

import (
	"github.com/otelstef/stef/internal/otlpfile"
)

// Format is a way to turn batches into bytes.
type Format interface {
	// Name is a word or two.
	Name() string
	// Setup says how the format was set up, and why.
	Setup() string
	// Own names the compression that is part of the format, or is "".
	Own() string
	// Drops says what does not come back, or is "".
	Drops() string
	// Stateful says whether a message depends on those before it.
	Stateful() bool
	// NewEncoder begins a stream, compressed by the format itself if own is set.
	NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error)
	// NewDecoder begins to read a stream of NewEncoder with the same arguments.
	NewDecoder(signal otlpfile.Signal, own bool) (Decoder, error)
}

// Native is a batch in the form in which programs that work with a format hold
// it: pdata for OTLP, records, rows, columns.
type Native any

// Encoder writes one stream. A message is valid until the next call.
type Encoder interface {
	// Encode converts and serialises a batch of pdata.
	Encode(b otlpfile.Batch) ([]byte, error)
	// Prepare converts a batch without serialising it, and has no influence on
	// the stream. What it returns can be encoded any number of times.
	Prepare(b otlpfile.Batch) (Native, error)
	// EncodeNative serialises what Prepare returned.
	EncodeNative(n Native) ([]byte, error)
	// Close frees memory; the stream is of no more use.
	Close()
}

// Decoder reads one stream.
type Decoder interface {
	// Decode deserialises a message and converts it to pdata.
	Decode(message []byte) (otlpfile.Batch, error)
	// DecodeNative deserialises a message to the native form and returns the
	// number of items.
	DecodeNative(message []byte) (int, error)
	// Close frees memory; the stream is of no more use.
	Close()
}

// All returns the formats in the order of tables. The first one is what the
// others are compared with.
func All() []Format {
	return []Format{OTLP(), OTLPJSON(), STEF(Ordered), STEF(Sorted), Parquet(Ordered), Parquet(Sorted), Arrow()}
}

// For returns All and the rivals that have the signal: Otel Arrow and the reference
// implementation of STEF.
func For(signal otlpfile.Signal) []Format {
	all := append(All(), OtelArrow())
	for _, order := range []Order{Ordered, Sorted} {
		if f := (reference{order}); f.Carries(signal) {
			all = append(all, f)
		}
	}
	return all
}

// Order is the order of items in a stream.
type Order bool

const (
	// Ordered keeps items in the order of the batch.
	Ordered Order = false
	// Sorted puts them into the order that makes the format small.
	Sorted Order = true
)

func (o Order) String() string {
	if o == Sorted {
		return "sorted"
	}
	return "ordered"
}

// Find returns the format of that name, or nil.
func Find(name string) Format {
	for _, f := range All() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

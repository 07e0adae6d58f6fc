// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package format has one interface for all formats of telemetry, so that every
// benchmark uses all formats in the same way. Each format has its own file.
//
//	enc, err := f.NewEncoder(signal, own)    // one stream of messages
//	message, err := enc.Encode(batch)
//	dec, err := f.NewDecoder(signal, own)
//	batch, err := dec.Decode(message)
//
// A message is the bytes sent for one batch. If a format keeps state between
// messages (STEF, Arrow IPC), one decoder must decode them in order; other
// formats have no such limit. Each format is configured as its experts would
// configure it, and Setup cites the options. Check proves that a format carries all data except
// the data in Drops. The tables print Setup and Drops.
//
// External compression is the same for all formats (type Compression).
package format

import (
	"github.com/otelstef/stef/internal/otlpfile"
)

// Format converts batches to bytes and back.
type Format interface {
	// Name is at most three words, such as STEF full sorted.
	Name() string
	// Setup explains how the format is configured, and why.
	Setup() string
	// Own names the compression that is part of the format, or is "".
	Own() string
	// Drops lists the data of a signal that decoding does not restore, or "" if there is no such
	// data. For otlpfile.SignalUnknown, it lists such data of all signals.
	Drops(otlpfile.Signal) string
	// Stateful reports whether a message depends on earlier messages.
	Stateful() bool
	// NewEncoder begins a stream, compressed by the format itself if own is set.
	NewEncoder(signal otlpfile.Signal, own bool) (Encoder, error)
	// NewDecoder begins to read a stream that NewEncoder created with the same
	// arguments.
	NewDecoder(signal otlpfile.Signal, own bool) (Decoder, error)
}

// Native is a batch in the in-memory form of programs that work with a format, for example pdata
// for OTLP and records for STEF.
type Native any

// Encoder writes one stream. A message is valid until the next call.
type Encoder interface {
	// Encode converts and serialises a batch of pdata.
	Encode(b otlpfile.Batch) ([]byte, error)
	// Prepare converts a batch without serialising it, and does not affect the
	// stream. Its result can be encoded any number of times.
	Prepare(b otlpfile.Batch) (Native, error)
	// EncodeNative serialises the result of Prepare.
	EncodeNative(n Native) ([]byte, error)
	// Close frees memory; the stream cannot be used afterwards.
	Close()
}

// Decoder reads one stream.
type Decoder interface {
	// Decode deserialises a message and converts it to pdata.
	Decode(message []byte) (otlpfile.Batch, error)
	// DecodeNative deserialises a message to the native form and returns the
	// number of items.
	DecodeNative(message []byte) (int, error)
	// Close frees memory; the stream cannot be used afterwards.
	Close()
}

// All returns the formats in the order of the tables. The tables compare the
// other formats with the first format.
func All() []Format {
	return []Format{OTLP(), OTLPJSON(), STEF(Ordered), STEF(Sorted), STEFFull(Sorted), Parquet(Ordered), Parquet(Sorted), Arrow()}
}

// For returns the formats of All and Otel Arrow. If the reference implementation of STEF supports
// the signal, For returns it, too.
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
	// Sorted reorders items to make the output small.
	Sorted Order = true
)

func (o Order) String() string {
	if o == Sorted {
		return "sorted"
	}
	return "ordered"
}

// Find returns the format of All with this name, or nil if there is no such format.
func Find(name string) Format {
	for _, f := range All() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// has reports whether Drops(signal) must list the losses of the signal of. That is so if the two are
// equal, or if signal is SignalUnknown, which stands for all signals.
func has(signal, of otlpfile.Signal) bool {
	return signal == of || signal == otlpfile.SignalUnknown
}

// withoutItems returns the data that a format loses if it writes only items: containers without items.
func withoutItems(signal otlpfile.Signal) string {
	if has(signal, otlpfile.Metrics) {
		return "resources, scopes and metrics without items"
	}
	return "resources and scopes without items"
}

// zeroSigns returns the data that the marshalers of pdata lose: the sign of some zeros of metrics.
func zeroSigns(signal otlpfile.Signal) string {
	if has(signal, otlpfile.Metrics) {
		return "the sign of zero in summaries and zero thresholds"
	}
	return ""
}

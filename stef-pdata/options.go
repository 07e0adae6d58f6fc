// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import "fmt"

// Mode says in which order items are written.
type Mode uint8

// The modes.
const (
	// Sorted puts items in the order that makes the stream small, and the
	// attributes of all but values in the order of their keys. It is the default
	// of metrics and traces.
	Sorted Mode = iota
	// Ordered keeps the order in which items and attributes come.
	Ordered
)

// String returns the name of the mode.
func (m Mode) String() string {
	switch m {
	case Sorted:
		return "sorted"
	case Ordered:
		return "ordered"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

type encoderConfig struct {
	mode      Mode
	templates Templates
}

// EncoderOption changes how an encoder works.
type EncoderOption func(*encoderConfig)

// WithMode sets the order in which items are written.
func WithMode(mode Mode) EncoderOption {
	return func(c *encoderConfig) { c.mode = mode }
}

// DefaultMaxItems is how many items a decoder puts into one batch at most,
// unless told otherwise.
const DefaultMaxItems = 1 << 17

// DefaultMaxBytes is the size that a decoder gives batches at most, unless
// WithMaxBytes says otherwise.
const DefaultMaxBytes = 256 << 20

type decoderConfig struct {
	maxItems, maxBytes int
}

func newDecoderConfig(options []DecoderOption) decoderConfig {
	c := decoderConfig{maxItems: DefaultMaxItems, maxBytes: DefaultMaxBytes}
	for _, option := range options {
		option(&c)
	}
	return c
}

// DecoderOption changes how a decoder works.
type DecoderOption func(*decoderConfig)

// WithMaxItems sets how many items Decode puts into one batch at most. Default
// DefaultMaxItems. A number below 1 is taken as 1.
func WithMaxItems(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxItems = max(n, 1) }
}

// WithMaxBytes bounds the size of the batches that Decode returns. A batch ends
// with the record that reaches n bytes. The bytes are an upper estimate of both
// the size of the batch as OTLP and the memory that it takes; text counts each
// time it is used, although equal texts of a batch share their memory. Default
// DefaultMaxBytes. A number below 1 is taken as 1.
//
// A record that is larger than 32 MiB by the same estimate ends the stream with
// an error that wraps stef.ErrLimit.
func WithMaxBytes(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxBytes = max(n, 1) }
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import "fmt"

// Mode is the order in which items are written.
type Mode uint8

// The values of Mode.
const (
	// Sorted puts items in an order that makes the stream small, and sorts
	// attributes by key, except attributes within values. It is the default for
	// metrics and traces.
	Sorted Mode = iota
	// Ordered keeps the original order of items and attributes.
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

// applyOptions applies options to a configuration that has the defaults.
func applyOptions[C any, O ~func(*C)](c C, options []O) C {
	for _, option := range options {
		if option == nil {
			panic("stefpdata: an option is nil")
		}
		option(&c)
	}
	return c
}

// notNil panics if the writer or reader of a constructor is nil.
func notNil(isNil bool, what string) {
	if isNil {
		panic("stefpdata: the " + what + " is nil")
	}
}

// EncoderOption changes how an encoder works.
type EncoderOption func(*encoderConfig)

// WithMode sets the order in which items are written. It panics if mode is neither
// Sorted nor Ordered.
func WithMode(mode Mode) EncoderOption {
	if mode > Ordered {
		panic("stefpdata: " + mode.String() + " is neither Sorted nor Ordered")
	}
	return func(c *encoderConfig) { c.mode = mode }
}

// DefaultMaxItems is the default maximum number of items that a decoder puts into one
// batch. WithMaxItems changes it.
const DefaultMaxItems = 1 << 17

// DefaultMaxBytes is the default maximum size of a decoded batch. WithMaxBytes
// changes it.
const DefaultMaxBytes = 256 << 20

type decoderConfig struct {
	maxItems, maxBytes int
}

// DecoderOption changes how a decoder works.
type DecoderOption func(*decoderConfig)

// WithMaxItems sets the maximum number of items that Decode puts into one batch. The
// default is DefaultMaxItems. A number below 1 counts as 1.
func WithMaxItems(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxItems = max(n, 1) }
}

// WithMaxBytes limits the size of the batches that Decode returns. A batch ends with
// the record that reaches n bytes. The size is an upper estimate of both the OTLP
// size of the batch and its memory. Each use of a text counts, although equal texts
// of a batch share their memory. The default is DefaultMaxBytes. A number below 1
// counts as 1.
//
// A record that is larger than 32 MiB plus 4 KiB by the same estimate ends the stream with
// an error that wraps stef.ErrLimit. The method SetMaxBytes of a decoder changes the
// limit for its next batches.
func WithMaxBytes(n int) DecoderOption {
	return func(c *decoderConfig) { c.maxBytes = max(n, 1) }
}

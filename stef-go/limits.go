// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/internal/config"
)

// Limits bound what a reader accepts, so that a hostile stream can neither
// exhaust memory nor the stack. A stream beyond a limit ends in an error that
// wraps ErrLimit. A field that is 0 takes its default.
//
// spec: #limits
type Limits struct {
	// HeaderBytes bounds the fixed header and the variable header. Default
	// and maximum 1 MiB, the limit of the format.
	HeaderBytes int
	// FrameBytes bounds a frame, both its compressed and its uncompressed
	// size. Default and maximum 64 MiB, the limit of the format.
	FrameBytes int
	// DictBytes bounds the memory of all dictionaries together: the bytes of
	// an entry and 16 for text, an estimate of its memory for a struct.
	// Default 64 MiB, far above what a writer with the default limit of 4 MiB
	// can reach.
	DictBytes int
	// RecordBytes bounds the memory that the arrays, multimaps and oneofs of
	// one record newly take, roughly. Default 32 MiB.
	RecordBytes int
	// Depth bounds how many values of recursive types may enclose each other;
	// an array in an array of AnyValue counts as two, the value and the array.
	// Default 1024.
	Depth int
	// WindowBytes bounds the zstd window, which is most of a reader's memory.
	// Default 8 MiB, the window of the reference implementation's writer.
	WindowBytes int
}

// Limits of the format itself.
//
// spec: #limits
const (
	// MaxPairs is the most pairs of a multimap.
	MaxPairs = 1023
	// MaxFrameBytes is the most bytes of a frame.
	MaxFrameBytes = 64 << 20
	// MaxHeaderBytes is the most bytes of a header.
	MaxHeaderBytes = 1 << 20
	// MaxUserData is the most pairs of user data.
	MaxUserData = 1024
	// MaxUserDataBytes is the most bytes of a key or a value of user data.
	MaxUserDataBytes = 256
)

// DefaultLimits returns the limits of a reader that was made without WithLimits.
func DefaultLimits() Limits {
	return Limits{
		HeaderBytes: MaxHeaderBytes,
		FrameBytes:  MaxFrameBytes,
		DictBytes:   64 << 20,
		RecordBytes: 32 << 20,
		Depth:       1024,
		WindowBytes: 8 << 20,
	}
}

// maxMemoryBytes bounds limits of memory: 1 TiB, or what an int holds.
const maxMemoryBytes = min(1<<40, math.MaxInt)

// apply sets the fields of c that are not 0 in l.
func (l Limits) apply(c *config.Reader) error {
	for _, f := range []struct {
		name  string
		value int
		dst   *int
		max   int
	}{
		{"HeaderBytes", l.HeaderBytes, &c.HeaderBytes, MaxHeaderBytes},
		{"FrameBytes", l.FrameBytes, &c.FrameBytes, MaxFrameBytes},
		{"DictBytes", l.DictBytes, &c.DictBytes, maxMemoryBytes},
		{"RecordBytes", l.RecordBytes, &c.RecordBytes, maxMemoryBytes},
		{"Depth", l.Depth, &c.Depth, 100_000},
		{"WindowBytes", l.WindowBytes, &c.WindowBytes, 512 << 20},
	} {
		if f.value < 0 || f.value > f.max {
			return fmt.Errorf("stef: WithLimits: %s is %d, not between 1 and %d, or 0 for the default", f.name, f.value, f.max)
		}
		if f.value != 0 {
			*f.dst = f.value
		}
	}
	return nil
}

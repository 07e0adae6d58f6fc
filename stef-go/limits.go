// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/internal/config"
)

// Limits bound what a reader accepts, so that a hostile stream can exhaust neither
// memory nor the stack. A stream that exceeds a limit ends in an error that wraps
// ErrLimit. A field that is 0 selects its default, or keeps the value of an earlier
// WithLimits.
//
// spec: #limits
type Limits struct {
	// HeaderBytes bounds the fixed header and the variable header. Default
	// and maximum 1 MiB, the limit of the format.
	HeaderBytes int
	// FrameBytes bounds a frame, both its compressed and its uncompressed
	// size. Default and maximum 64 MiB, the limit of the format. A smaller limit must be at
	// least the frame size of the writers (WithFrameBytes, by default almost 4 MiB) plus their
	// largest record, because a frame holds whole records. Encoders of package stefpdata write
	// frames of at most 36 MiB with the default frame size: the last record can add 8 MiB each for
	// its item, resource, scope and metric. If only the item has 8 MiB, the frame has at most 12
	// MiB. A reader refuses a frame over the limit with all of its records.
	FrameBytes int
	// DictBytes bounds the memory of all dictionaries together. A text entry counts as
	// its length plus 16 bytes, a struct entry as an estimate of its memory without absent
	// fields. The memory that the entries need in addition to this estimate may be up to 16
	// times the limit. Default 64 MiB, which is far more than the 4 MiB at which writers
	// restart their dictionaries by default.
	DictBytes int
	// RecordBytes bounds the estimated memory that a reader newly allocates for the
	// arrays, multimaps and oneofs of one record, and for copies of bytes fields that
	// have a dictionary. Default 32 MiB.
	RecordBytes int
	// Depth bounds how deep values of recursive types may be nested. An array of
	// AnyValue in another array counts as two levels: the AnyValue and its array. A
	// limit of 400 accepts everything that encoders of package stefpdata write: they
	// nest at most 200 arrays and maps. Default 1024.
	Depth int
	// WindowBytes bounds the zstd window, which is most of a reader's memory.
	// Default 8 MiB, the window of the reference implementation's writer.
	WindowBytes int
}

// Limits of the format itself.
//
// spec: #limits
const (
	// MaxPairs is the maximum number of pairs in a multimap.
	MaxPairs = 1023
	// MaxFrameBytes is the maximum size of a frame in bytes. Writers check the size of a record
	// only if it has a new text of 64 KiB or more, and then add up only its texts. So they accept a
	// record of more than 32 MiB that is too large for its frame because of shorter texts or
	// numbers. The frame then fails with ErrFrameTooLarge, and the writer is unusable afterwards.
	MaxFrameBytes = 64 << 20
	// MaxHeaderBytes is the maximum size of a header in bytes.
	MaxHeaderBytes = 1 << 20
	// MaxUserDataPairs is the maximum number of pairs of user data.
	MaxUserDataPairs = 1024
	// MaxUserDataBytes is the maximum size of a key or a value of user data.
	MaxUserDataBytes = 256
)

// DefaultLimits returns the limits of a reader that has no WithLimits option.
func DefaultLimits() Limits {
	return Limits{
		HeaderBytes: MaxHeaderBytes,
		FrameBytes:  MaxFrameBytes,
		DictBytes:   64 << 20,
		RecordBytes: 32 << 20,
		Depth:       1024,
		WindowBytes: config.MaxWindow,
	}
}

// maxMemoryBytes is the maximum of limits of memory: 1 TiB, or the largest int if that is less.
const maxMemoryBytes = min(1<<40, math.MaxInt)

// apply copies the fields of l that are not 0 to c.
func (l Limits) apply(c *config.Reader) error {
	for _, f := range []struct {
		name  string
		value int
		dst   *int
		min   int
		max   int
	}{
		{"HeaderBytes", l.HeaderBytes, &c.HeaderBytes, 1, MaxHeaderBytes},
		{"FrameBytes", l.FrameBytes, &c.FrameBytes, 1, MaxFrameBytes},
		{"DictBytes", l.DictBytes, &c.DictBytes, 1, maxMemoryBytes},
		{"RecordBytes", l.RecordBytes, &c.RecordBytes, 1, maxMemoryBytes},
		{"Depth", l.Depth, &c.Depth, 1, 100_000},
		{"WindowBytes", l.WindowBytes, &c.WindowBytes, config.MinWindow, 512 << 20},
	} {
		if f.value != 0 && (f.value < f.min || f.value > f.max) {
			return fmt.Errorf("stef: WithLimits: %s is %d, but must be between %d and %d, or 0 for the default", f.name, f.value, f.min, f.max)
		}
		if f.value != 0 {
			*f.dst = f.value
		}
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"
	"math"

	"github.com/otelstef/stef/stef-go/schema"
)

// The defaults of the limits.
const (
	// DefaultMaxRecordBytes is the default of WithMaxRecordBytes.
	DefaultMaxRecordBytes = 64 << 20
	// DefaultMaxDictBytes is the default of WithMaxDictBytes.
	DefaultMaxDictBytes = 64 << 20
	// DefaultFrameBytes is the default of WithFrameBytes.
	DefaultFrameBytes = 4<<20 - 1024
	// DefaultDictBytes is the default of WithDictBytes.
	DefaultDictBytes = 4 << 20

	// maxWriteBytes limits the size of a record of a Writer, and the configured sizes of
	// its frames and dictionaries. It is half of the default limits of a Reader, because
	// one record can exceed a configured size, and because sizes are estimates.
	maxWriteBytes = 32 << 20

	// maxReadDepth is the maximum of WithMaxDepth.
	maxReadDepth = 100_000
)

// ReaderOption sets up a Reader.
type ReaderOption func(*readerConfig) error

type readerConfig struct {
	wire      schema.WireSchema
	maxRecord int
	maxDict   int
	maxDepth  int
	onFrame   func(*Frame)
	trace     func(*Event)
}

func applyOptions[C any, O ~func(*C) error](config *C, options []O) error {
	for _, option := range options {
		if option == nil {
			return errors.New("stef: an option is nil")
		}
		if err := option(config); err != nil {
			return err
		}
	}
	return nil
}

// WithAssumedSchema sets the schema that is assumed for streams that do not announce a
// wire schema. The default is all fields of the schema.
func WithAssumedSchema(w schema.WireSchema) ReaderOption {
	return func(c *readerConfig) error {
		c.wire = w
		return nil
	}
}

// WithMaxRecordBytes limits the estimated memory of a record including its strings, and
// the memory that decoding one record adds. The default is 64 MiB. This default exceeds the
// limit of the format, which is 32 MiB without strings.
//
// spec: #limits
func WithMaxRecordBytes(n int) ReaderOption {
	return func(c *readerConfig) error {
		c.maxRecord = n
		return inRange("WithMaxRecordBytes", n, 1, math.MaxInt)
	}
}

// WithMaxDictBytes limits the memory of all dictionaries together, by an estimate.
// The default is 64 MiB; by default writers restart dictionaries at 4 MiB.
func WithMaxDictBytes(n int) ReaderOption {
	return func(c *readerConfig) error {
		c.maxDict = n
		return inRange("WithMaxDictBytes", n, 1, math.MaxInt)
	}
}

// WithMaxDepth limits how deep values of types that can contain themselves are nested.
// The comment of MaxDepth, the default, says which levels count. Each level uses stack,
// so n is at most 100,000.
func WithMaxDepth(n int) ReaderOption {
	return func(c *readerConfig) error {
		c.maxDepth = n
		return inRange("WithMaxDepth", n, 1, maxReadDepth)
	}
}

// WithFrameFunc makes the Reader call f after it reads a data frame and before it
// decodes the records. The Frame belongs to f.
func WithFrameFunc(f func(*Frame)) ReaderOption {
	return func(c *readerConfig) error {
		c.onFrame = f
		return nil
	}
}

// WithTrace makes the Reader call f for each element of the stream in the order of
// reading, beginning with the signature. If an element has an error, its event is the
// last event. f must not keep the Event, or anything that the Event refers to. The
// exception is the Value of a Detail: f may keep it, but must not modify it.
func WithTrace(f func(*Event)) ReaderOption {
	return func(c *readerConfig) error {
		c.trace = f
		return nil
	}
}

// WriterOption sets up a Writer.
type WriterOption func(*writerConfig) error

type writerConfig struct {
	compression   Compression
	level, window int
	wire          schema.WireSchema
	recordWire    bool
	userData      map[string]string
	restart       FrameFlags
	frameBytes    int
	dictBytes     int
}

// WithCompression sets the compression. The default is none.
func WithCompression(c Compression) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.compression = c
		if c > Zstd {
			return fmt.Errorf("stef: WithCompression(%d): %w: the compression must be None or Zstd", c, ErrVersion)
		}
		return nil
	}
}

// WithZstdLevel sets the zstd level, from 1 to 22. 0 is the default level.
func WithZstdLevel(level int) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.level = level
		return inRange("WithZstdLevel", level, 0, 22)
	}
}

// WithWindowBytes sets the zstd window in bytes, a power of two up to
// MaxWindowBytes. 0 is the window of the level.
func WithWindowBytes(n int) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.window = n
		return inRange("WithWindowBytes", n, 0, MaxWindowBytes)
	}
}

// WithSchema makes the Writer write only the fields of w. Choices that are not in w
// become none. By default all fields are written.
//
// spec: #evolution
func WithSchema(w schema.WireSchema) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.wire = w
		return nil
	}
}

// WithSchemaHeader makes the Writer announce its wire schema in the stream. A reader
// needs the wire schema, unless it learns the wire schema by other means or its own schema
// has exactly the fields that are written.
func WithSchemaHeader() WriterOption {
	return func(cfg *writerConfig) error {
		cfg.recordWire = true
		return nil
	}
}

// WithUserData writes keys and values for the reader into the header, up to 1024
// pairs of up to 256 bytes each.
func WithUserData(data map[string]string) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.userData = data
		return nil
	}
}

// WithRestart sets the flags of every data frame after the first. With RestartAll
// frames are self-contained: they can be decoded with the headers, without the
// frames before them.
//
// spec: #restart
func WithRestart(f FrameFlags) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.restart = f
		if f&^RestartAll != 0 {
			return fmt.Errorf("stef: WithRestart(%#x) has unknown flags: %w", uint8(f), ErrLimit)
		}
		return nil
	}
}

// WithFrameBytes sets the size, up to 32 MiB, at which a frame ends. The record with which the frame
// reaches about n bytes is its last record. The default, also for 0, is 4 MiB minus 1 KiB.
func WithFrameBytes(n int) WriterOption {
	return func(cfg *writerConfig) error {
		if n != 0 {
			cfg.frameBytes = n
		}
		return inRange("WithFrameBytes", n, 0, maxWriteBytes)
	}
}

// WithDictBytes sets the size of all dictionaries, up to 32 MiB, at which the writer restarts them. The
// record with which they reach n bytes is still written before the restart. The default, also for 0, is 4
// MiB.
func WithDictBytes(n int) WriterOption {
	return func(cfg *writerConfig) error {
		if n != 0 {
			cfg.dictBytes = n
		}
		return inRange("WithDictBytes", n, 0, maxWriteBytes)
	}
}

func inRange(option string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("stef: %s(%d): %w: the value must be from %d to %d", option, n, ErrLimit, least, most)
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
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

	// maxWriteBytes limits what a Writer may be asked to put into a record, a
	// frame or the dictionaries. Half of what a Reader takes leaves room for
	// the record that goes beyond, and for sizes that are estimates.
	maxWriteBytes = 32 << 20
)

// ReaderOption sets up a Reader.
type ReaderOption func(*readerConfig) error

type readerConfig struct {
	wire      schema.WireSchema
	maxRecord int
	maxDict   int
	onFrame   func(*Frame)
	trace     func(*Event)
}

// WithAssumedWire says which fields streams have that do not record a wire
// schema. By default it is all fields of the schema.
func WithAssumedWire(w schema.WireSchema) ReaderOption {
	return func(c *readerConfig) error {
		c.wire = w
		return nil
	}
}

// WithMaxRecordBytes limits the memory of a record, by an estimate that counts
// strings, and of what a single record adds. The default is 64 MiB. The limit
// of the format, 32 MiB that do not count strings, is below that.
//
// spec: #limits
func WithMaxRecordBytes(n int) ReaderOption {
	return func(c *readerConfig) error {
		c.maxRecord = n
		return positive("record bytes", n)
	}
}

// WithMaxDictBytes limits the memory of all dictionaries together, by an
// estimate. The default is 64 MiB; writers restart dictionaries of 4 MiB unless
// they are told otherwise.
func WithMaxDictBytes(n int) ReaderOption {
	return func(c *readerConfig) error {
		c.maxDict = n
		return positive("dictionary bytes", n)
	}
}

// WithFrameFunc has f called for each data frame when it was read, before its
// records are decoded. The Frame belongs to f.
func WithFrameFunc(f func(*Frame)) ReaderOption {
	return func(c *readerConfig) error {
		c.onFrame = f
		return nil
	}
}

// WithTrace has f called for each element of the stream, from the signature on,
// in the order in which reading comes by them; what an error is in comes last.
// The Event and what it refers to are valid until f returns. Values in it must
// not be modified, but may be kept.
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
	restart       Flags
	frameBytes    int
	dictBytes     int
}

// WithCompression sets the compression. The default is none.
func WithCompression(c Compression) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.compression = c
		if c > CompressionZstd {
			return fault(ErrVersion, "compression %d", c)
		}
		return nil
	}
}

// WithZstdLevel sets the zstd level, from 1 to 22. 0 is the default level.
func WithZstdLevel(level int) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.level = level
		if level < 0 || level > 22 {
			return fault(ErrLimit, "zstd level %d", level)
		}
		return nil
	}
}

// WithZstdWindow sets the zstd window in bytes, a power of two up to
// MaxZstdWindow. 0 is the window of the level.
func WithZstdWindow(n int) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.window = n
		if n < 0 || n > MaxZstdWindow {
			return fault(ErrLimit, "zstd window %d, the limit is %d", n, MaxZstdWindow)
		}
		return nil
	}
}

// WithWire makes the Writer write the fields of w only. Choices that are not
// in w become none. By default all fields are written.
//
// spec: #evolution
func WithWire(w schema.WireSchema) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.wire = w
		return nil
	}
}

// WithRecordedWire makes the Writer record its wire schema in the stream. A
// reader that is not told in another way needs that unless its own schema has
// just the fields that are written.
func WithRecordedWire() WriterOption {
	return func(cfg *writerConfig) error {
		cfg.recordWire = true
		return nil
	}
}

// WithUserData leaves keys and values for the reader in the header, up to 1024
// pairs of up to 256 bytes each.
func WithUserData(data map[string]string) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.userData = data
		return nil
	}
}

// WithRestart sets the flags of every data frame after the first. Frames that
// restart all are self-contained: they can be decoded, with the headers, in
// the absence of the frames before.
//
// spec: #restart
func WithRestart(f Flags) WriterOption {
	return func(cfg *writerConfig) error {
		cfg.restart = f
		if f&^RestartAll != 0 {
			return fault(ErrLimit, "frame flags %#02x", f)
		}
		return nil
	}
}

// WithFrameBytes ends a frame with the record that brings its content to about
// n bytes, up to 32 MiB. The default, for 0 as well, is 4 MiB less 1 KiB.
func WithFrameBytes(n int) WriterOption {
	return func(cfg *writerConfig) error {
		if n != 0 {
			cfg.frameBytes = n
		}
		return writable("frame bytes", n)
	}
}

// WithDictBytes restarts the dictionaries after the record that brings them to
// about n bytes, up to 32 MiB. The default, for 0 as well, is 4 MiB.
func WithDictBytes(n int) WriterOption {
	return func(cfg *writerConfig) error {
		if n != 0 {
			cfg.dictBytes = n
		}
		return writable("dictionary bytes", n)
	}
}

func positive(what string, n int) error {
	if n <= 0 {
		return fault(ErrLimit, "%d %s", n, what)
	}
	return nil
}

func writable(what string, n int) error {
	if n < 0 || n > maxWriteBytes {
		return fault(ErrLimit, "%d %s, the limit is %d", n, what, maxWriteBytes)
	}
	return nil
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/schema"
)

// WriterOption changes how a writer writes.
type WriterOption func(*config.Writer) error

// Defaults of a writer.
const (
	// DefaultFrameBytes is 64 KiB less than 4 MiB, the default limit of gRPC for
	// received messages. The 64 KiB are space for the part of the last record that
	// exceeds the frame size.
	DefaultFrameBytes = 4<<20 - 64<<10
	// DefaultDictBytes is also the default of the reference implementation.
	DefaultDictBytes = 4 << 20
	// DefaultWindowBytes is the zstd window. The documentation of package stefrt has
	// the measurements of size, memory and time behind this choice.
	DefaultWindowBytes = 1 << 20
)

// WithCompression sets how frames are compressed. The default is None. The headers of the
// stream name the compression.
func WithCompression(compression Compression) WriterOption {
	return func(c *config.Writer) error {
		if compression > Zstd {
			return fmt.Errorf("stef: WithCompression(%d): unknown compression", compression)
		}
		c.Compression = uint8(compression)
		return nil
	}
}

// WithCompressionLevel sets the effort of zstd compression. The default is LevelDefault.
// Readers read every level without an option. Without WithCompression(Zstd), this option and
// the options of the window have no effect. That is not an error, so that programs can pass a
// configured level without looking at the configured compression. WithChecksums is different: if
// a writer ignored WithChecksums, callers would not notice that nothing protects the stream.
func WithCompressionLevel(level Level) WriterOption {
	return func(c *config.Writer) error {
		if level < LevelFastest || level > LevelAuto {
			return fmt.Errorf("stef: WithCompressionLevel(%d): unknown level", level)
		}
		c.Level = uint8(level)
		return nil
	}
}

// WithWindowBytes sets the zstd window in bytes, a power of two from 1 KiB to 8 MiB.
// zstd finds repetitions only within this distance. The window is most of the memory of
// a writer and of the readers of its stream. The default is DefaultWindowBytes.
func WithWindowBytes(bytes int) WriterOption {
	return func(c *config.Writer) error {
		if bytes < config.MinWindow || bytes > config.MaxWindow || bytes&(bytes-1) != 0 {
			return fmt.Errorf("stef: WithWindowBytes(%d): not a power of two from 1 KiB to 8 MiB", bytes)
		}
		c.WindowBytes = bytes
		return nil
	}
}

// WithMaxWindowBytes makes the writer choose the zstd window by the size of its frames:
// the window has space for 16 frames, or for 2 when only the first frame is known. Its
// maximum is the smaller of bytes, rounded down to a power of two, and the window of
// WithWindowBytes. Its minimum is 16 KiB, if the maximum is not smaller. When frames grow,
// the writer restarts the compression with a larger window. Servers with many streams announce
// a maximum, so that their clients use this option. bytes must be at least 1 KiB. By default
// the window is fixed.
func WithMaxWindowBytes(bytes int) WriterOption {
	return func(c *config.Writer) error {
		if bytes < config.MinWindow {
			return fmt.Errorf("stef: WithMaxWindowBytes(%d): below 1 KiB", bytes)
		}
		c.WindowLimit = 1 << (bits.Len(uint(bytes)) - 1)
		return nil
	}
}

// WithChecksums ends the zstd data of each frame with the content checksum of zstd, so
// that readers detect frames that a fault of a disk or of memory has changed. The
// headers of streams and frames, some bytes each, have no checksum. Without
// WithCompression(Zstd), creating the writer fails, because only zstd data can have a
// checksum. Each frame is compressed independently of earlier frames, which makes frames
// larger. Compared with frames without checksums, frames of 100 records have 1.04 to 9 times the
// bytes, frames of 1,000 records 1.006 to 12 times, and frames of 10,000 records 1.002 to 2.3
// times. Frames whose records repeat grow most
// (go test -run '^$' -bench Checksums -benchtime 1x ./stef-go/rotate). So write large
// frames. Every reader of the format accepts frames with checksums; readers of this package
// verify the checksum before they deliver the records of the frame. Default off.
func WithChecksums() WriterOption {
	return func(c *config.Writer) error {
		c.Checksums = true
		return nil
	}
}

// WithFrameBytes sets the uncompressed size at which a frame ends, from 1 byte to 63
// MiB. Default DefaultFrameBytes. A frame holds whole records, so it can exceed this
// size by a part of its last record. If bytes is more than 31 MiB, a frame ends at 31 MiB. It then
// has space for any record of 32 MiB, the largest of package stefpdata.
func WithFrameBytes(bytes int) WriterOption {
	return func(c *config.Writer) error {
		if bytes < 1 || bytes > MaxFrameBytes-1<<20 {
			return fmt.Errorf("stef: WithFrameBytes(%d): not between 1 and %d", bytes, MaxFrameBytes-1<<20)
		}
		c.FrameBytes = min(bytes, 31<<20)
		return nil
	}
}

// WithDictBytes sets the total size of all dictionaries at which the writer empties and
// restarts them, in bytes by the accounting of the specification. Default
// DefaultDictBytes. Over gRPC, a server may announce a lower limit, which clients follow.
// Readers refuse dictionaries larger than Limits.DictBytes, by default 64 MiB. So bytes must be
// smaller than this limit, by the size of the entries of the largest record.
func WithDictBytes(bytes int) WriterOption {
	return func(c *config.Writer) error {
		if bytes < 1 {
			return fmt.Errorf("stef: WithDictBytes(%d): must be at least 1", bytes)
		}
		c.DictBytes = bytes
		return nil
	}
}

// WithRestart selects the state that the writer resets at the start of each frame, except the
// first. The default is none. With all flags, every frame can be decoded without the earlier frames.
// RestartCompression has no effect in streams without compression.
func WithRestart(flags FrameFlags) WriterOption {
	return func(c *config.Writer) error {
		if !flags.Valid() {
			return fmt.Errorf("stef: WithRestart(%#x): unknown flags", uint8(flags))
		}
		c.Restart = uint8(flags)
		return nil
	}
}

// WithSchema makes the writer write in an older schema: fields and choices that wire
// does not have are omitted. wire must be the writer's own schema without some of the
// last fields of its structs and oneofs; otherwise creating the writer fails with
// ErrSchema. The default is the whole schema; a nil wire keeps it.
func WithSchema(wire schema.WireSchema) WriterOption {
	return func(c *config.Writer) error {
		if wire != nil { // nil keeps the default, which omits the compact form
			c.Schema = slices.Clone(wire)
		}
		return nil
	}
}

// WithSchemaHeader makes the writer always announce its schema in the variable header.
// Without this option, a writer announces its schema only if it differs from the default:
// the schema that readers assume if a stream announces no schema.
func WithSchemaHeader() WriterOption {
	return func(c *config.Writer) error {
		c.WriteSchema = true
		return nil
	}
}

// SchemaChecker is implemented by destinations that accept only some schemas, such as the stream of
// a transport. When a writer is created with such a destination or reset to it, the writer calls
// CheckSchema before it writes anything. If CheckSchema returns an error, creating or resetting the
// writer fails with this error. CheckSchema is not called if the writer has the option
// WithSchemaCheck.
type SchemaChecker interface {
	CheckSchema(wire schema.WireSchema) error
}

// WithSchemaCheck makes the writer call check with the wire schema of the stream before
// it writes anything. If check returns an error, creating the writer fails with this error.
// Transports use this option to refuse a schema that their peer cannot read, even if a later
// option selects it.
func WithSchemaCheck(check func(wire schema.WireSchema) error) WriterOption {
	return func(c *config.Writer) error {
		c.CheckSchema = check
		return nil
	}
}

// WithUserData sets the pairs of the variable header: at most MaxUserDataPairs pairs, with at
// most MaxUserDataBytes in a key or a value. They are written in the order of their
// keys. The map is copied when the writer is created, and the last such option counts.
// Default none.
func WithUserData(pairs map[string]string) WriterOption {
	return func(c *config.Writer) error {
		if len(pairs) > MaxUserDataPairs {
			return fmt.Errorf("stef: WithUserData: there are %d pairs, at most %d are allowed", len(pairs), MaxUserDataPairs)
		}
		for k, v := range pairs {
			if len(k) > MaxUserDataBytes || len(v) > MaxUserDataBytes {
				return fmt.Errorf("stef: WithUserData: the key or the value of %.32q has more than %d bytes", k, MaxUserDataBytes)
			}
		}
		c.UserData = maps.Clone(pairs)
		return nil
	}
}

// ReaderOption changes how a reader reads.
type ReaderOption func(*config.Reader) error

// WithLimits bounds what the reader accepts. A field that is 0 keeps the value of an
// earlier WithLimits option, or the default if there is no such option.
func WithLimits(limits Limits) ReaderOption {
	return func(c *config.Reader) error { return limits.apply(c) }
}

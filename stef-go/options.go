// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"fmt"
	"maps"

	"github.com/otelstef/stef/stef-go/schema"
)

// WriterConfig is what the options of a writer come to. Writers made by stefc
// use it; other code sets options.
type WriterConfig struct {
	Compression Compression
	Level       Level
	WindowBytes int
	FrameBytes  int
	DictBytes   int
	Restart     FrameFlags
	Schema      schema.WireSchema // nil is the writer's own, whole
	WriteSchema bool
	UserData    map[string]string
}

// WriterOption changes how a writer writes.
type WriterOption func(*WriterConfig) error

// Defaults of a writer.
const (
	// DefaultFrameBytes leaves a frame, with the record that crosses it, below
	// the 4 MiB that gRPC receives by default.
	DefaultFrameBytes = 4<<20 - 64<<10
	// DefaultDictBytes is the default of the reference implementation too.
	DefaultDictBytes = 4 << 20
	// DefaultWindowBytes is the zstd window; package stefrt has the table of
	// sizes, memory and time that it was chosen by.
	DefaultWindowBytes = 1 << 20
)

// NewWriterConfig applies options to the defaults.
func NewWriterConfig(options ...WriterOption) (WriterConfig, error) {
	c := WriterConfig{
		Level:       LevelDefault,
		WindowBytes: DefaultWindowBytes,
		FrameBytes:  DefaultFrameBytes,
		DictBytes:   DefaultDictBytes,
	}
	for _, option := range options {
		if err := option(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// WithCompression sets how frames are compressed. Default None. It reaches the
// wire.
func WithCompression(compression Compression) WriterOption {
	return func(c *WriterConfig) error {
		if compression > Zstd {
			return fmt.Errorf("stef: compression %d is not known", compression)
		}
		c.Compression = compression
		return nil
	}
}

// WithLevel sets how hard zstd tries. Default LevelDefault. It does not reach
// the wire.
func WithLevel(level Level) WriterOption {
	return func(c *WriterConfig) error {
		if level < LevelFastest || level > LevelBest {
			return fmt.Errorf("stef: compression level %d is not known", level)
		}
		c.Level = level
		return nil
	}
}

// WithWindow sets the zstd window in bytes, a power of two from 1 KiB to
// 8 MiB: how far back repetition is found, and most of the memory of a writer
// and of the readers of its stream. Default DefaultWindowBytes.
func WithWindow(bytes int) WriterOption {
	return func(c *WriterConfig) error {
		if bytes < 1<<10 || bytes > 8<<20 || bytes&(bytes-1) != 0 {
			return fmt.Errorf("stef: window of %d bytes is not a power of two from 1 KiB to 8 MiB", bytes)
		}
		c.WindowBytes = bytes
		return nil
	}
}

// WithFrameSize sets the uncompressed bytes at which a frame ends by itself,
// from 1 to 64 MiB less 1 MiB. Default DefaultFrameBytes. A frame holds whole
// records, so it can be larger by the record that reached the size.
func WithFrameSize(bytes int) WriterOption {
	return func(c *WriterConfig) error {
		if bytes < 1 || bytes > MaxFrameBytes-1<<20 {
			return fmt.Errorf("stef: frame size of %d bytes is not between 1 and %d", bytes, MaxFrameBytes-1<<20)
		}
		c.FrameBytes = bytes
		return nil
	}
}

// WithDictSize sets the memory of all dictionaries together, in bytes by the
// accounting of the specification, at which they are emptied and begun anew.
// Default DefaultDictBytes. A receiver may advertise a limit of its own.
func WithDictSize(bytes int) WriterOption {
	return func(c *WriterConfig) error {
		if bytes < 1 {
			return fmt.Errorf("stef: dictionary size of %d bytes is not positive", bytes)
		}
		c.DictBytes = bytes
		return nil
	}
}

// WithRestart sets what starts anew with every frame but the first. Default
// nothing. With all flags (RestartCompression counts only where there is
// compression) every frame can be decoded on its own.
func WithRestart(flags FrameFlags) WriterOption {
	return func(c *WriterConfig) error {
		if !flags.Valid() {
			return fmt.Errorf("stef: frame flags %#x are not known", uint8(flags))
		}
		c.Restart = flags
		return nil
	}
}

// WithSchema makes the writer write in an older schema: fields and choices
// beyond it are left out. It must be a cut of the writer's
// own, or making the writer fails with ErrSchema. Default the whole schema.
func WithSchema(wire schema.WireSchema) WriterOption {
	return func(c *WriterConfig) error {
		c.Schema = append(schema.WireSchema(nil), wire...)
		return nil
	}
}

// WithSchemaHeader makes the writer announce its schema in the variable
// header in any case. Without it a writer announces its schema only if that is
// not the one which streams that announce nothing are taken to be in.
func WithSchemaHeader() WriterOption {
	return func(c *WriterConfig) error {
		c.WriteSchema = true
		return nil
	}
}

// WithUserData puts pairs into the variable header, at most MaxUserData of at
// most MaxUserDataBytes a key and a value. They are written in the order of
// their keys. Default none.
func WithUserData(pairs map[string]string) WriterOption {
	return func(c *WriterConfig) error {
		if len(pairs) > MaxUserData {
			return fmt.Errorf("stef: %d pairs of user data are over the limit of %d", len(pairs), MaxUserData)
		}
		for k, v := range pairs {
			if len(k) > MaxUserDataBytes || len(v) > MaxUserDataBytes {
				return fmt.Errorf("stef: user data %.32q has a key or value over %d bytes", k, MaxUserDataBytes)
			}
		}
		c.UserData = maps.Clone(pairs)
		return nil
	}
}

// ReaderConfig is what the options of a reader come to. Readers made by stefc
// use it; other code sets options.
type ReaderConfig struct {
	Limits Limits
}

// ReaderOption changes how a reader reads.
type ReaderOption func(*ReaderConfig) error

// NewReaderConfig applies options to the defaults.
func NewReaderConfig(options ...ReaderOption) (ReaderConfig, error) {
	c := ReaderConfig{Limits: DefaultLimits()}
	for _, option := range options {
		if err := option(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// WithLimits bounds what the reader accepts. Default DefaultLimits.
func WithLimits(limits Limits) ReaderOption {
	return func(c *ReaderConfig) (err error) {
		c.Limits, err = limits.withDefaults()
		return err
	}
}

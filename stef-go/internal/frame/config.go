// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"cmp"
	"errors"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/config"
)

var (
	errNilOption   = errors.New("stef: an option is nil")
	errNoChecksums = errors.New("stef: WithChecksums needs WithCompression(stef.Zstd): frames without compression have no checksum")
)

// WriterConfig applies options to the defaults of a writer.
func WriterConfig(options []stef.WriterOption) (config.Writer, error) {
	var c config.Writer
	for _, option := range options {
		if option == nil {
			return c, errNilOption
		}
		if err := option(&c); err != nil {
			return c, err
		}
	}
	if c.Checksums && c.Compression == uint8(stef.None) {
		return c, errNoChecksums
	}
	c.Level = cmp.Or(c.Level, uint8(stef.LevelDefault))
	c.WindowBytes = cmp.Or(c.WindowBytes, stef.DefaultWindowBytes)
	if c.WindowLimit > 0 {
		c.WindowBytes = min(c.WindowBytes, c.WindowLimit)
	}
	c.FrameBytes = cmp.Or(c.FrameBytes, stef.DefaultFrameBytes)
	c.DictBytes = cmp.Or(c.DictBytes, stef.DefaultDictBytes)
	return c, nil
}

// ReaderConfig applies options to the default limits of a reader, and returns them
// with its zstd dictionaries.
func ReaderConfig(options []stef.ReaderOption) (stef.Limits, config.ZstdDicts, error) {
	var c config.Reader
	for _, option := range options {
		if option == nil {
			return stef.Limits{}, c.ZstdDicts, errNilOption
		}
		if err := option(&c); err != nil {
			return stef.Limits{}, c.ZstdDicts, err
		}
	}
	d := stef.DefaultLimits()
	return stef.Limits{
		HeaderBytes: cmp.Or(c.HeaderBytes, d.HeaderBytes),
		FrameBytes:  cmp.Or(c.FrameBytes, d.FrameBytes),
		DictBytes:   cmp.Or(c.DictBytes, d.DictBytes),
		RecordBytes: cmp.Or(c.RecordBytes, d.RecordBytes),
		Depth:       cmp.Or(c.Depth, d.Depth),
		WindowBytes: cmp.Or(c.WindowBytes, d.WindowBytes),
	}, c.ZstdDicts, nil
}

// ReaderLimits is like ReaderConfig, but does not return the dictionaries.
func ReaderLimits(options []stef.ReaderOption) (stef.Limits, error) {
	limits, _, err := ReaderConfig(options)
	return limits, err
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package config has the settings that the options of package stef set. Readers and
// writers use these settings. The fields do not have types of package stef, because
// package stef imports this package. A field that is 0 selects the default.
package config

import "github.com/otelstef/stef/stef-go/schema"

// Writer has the settings of a writer.
type Writer struct {
	Compression uint8 // a stef.Compression
	Level       uint8 // a stef.Level
	Restart     uint8 // stef.FrameFlags
	WindowBytes int
	WindowLimit int // maximum of WindowBytes, a power of two
	FrameBytes  int
	DictBytes   int
	Schema      schema.WireSchema // nil: the whole schema of the writer
	WriteSchema bool
	CheckSchema func(schema.WireSchema) error // nil accepts every schema
	UserData    map[string]string
	ZstdDict    *ZstdDict // nil: no dictionary
	Checksums   bool
}

// Reader has the settings of a reader: the fields of stef.Limits, and its zstd
// dictionaries.
type Reader struct {
	HeaderBytes int
	FrameBytes  int
	DictBytes   int
	RecordBytes int
	Depth       int
	WindowBytes int
	ZstdDicts   ZstdDicts
}

// The zstd windows that a writer can have, in bytes. They are powers of two.
const (
	MinWindow = 1 << 10
	MaxWindow = 8 << 20
)

// MaxZstdDicts is the maximum number of dictionaries of a reader.
const MaxZstdDicts = 4

// ZstdDicts are the dictionaries of a reader, followed by nil. It is an array, not a
// slice, because it is a key of the pools of decoders.
type ZstdDicts [MaxZstdDicts]*ZstdDict

// ZstdDict is the content of a stef.ZstdDict.
type ZstdDict struct {
	ID      uint32
	Content []byte
}

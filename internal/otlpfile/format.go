// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// A Format is the layout of OTLP messages in a file.
type Format uint8

// The formats. FormatUnknown makes Open guess.
const (
	FormatUnknown Format = iota
	Parts
	Proto
	JSON
)

var formatNames = [...]string{"unknown", "otlp-parts", "otlp", "otlp-json"}

// String returns the name: otlp-parts, otlp or otlp-json.
func (f Format) String() string { return nameOf(uint8(f), formatNames[:], "Format") }

// nameOf returns the name of a value of an enumeration, or the type and the number of a value
// that has no name.
func nameOf(value uint8, names []string, typeName string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", typeName, value)
}

// A Signal is the kind of telemetry in a file.
type Signal uint8

// The signals. SignalUnknown makes Open guess.
const (
	SignalUnknown Signal = iota
	Metrics
	Traces
	Logs
)

// Signals returns all signals.
func Signals() []Signal { return []Signal{Metrics, Traces, Logs} }

var signalNames = [...]string{"unknown", "metrics", "traces", "logs"}

// String returns the name: metrics, traces or logs.
func (s Signal) String() string { return nameOf(uint8(s), signalNames[:], "Signal") }

// A Compression is the compression of a file.
type Compression uint8

// The compressions.
const (
	None Compression = iota
	Zstd
	Gzip
)

var compressionNames = [...]string{"none", "zstd", "gzip"}

// String returns the name of the compression.
func (c Compression) String() string { return nameOf(uint8(c), compressionNames[:], "Compression") }

// CompressionOf returns the compression that a file name implies: Zstd for .zst
// and .zstd, Gzip for .gz, and None for other names.
func CompressionOf(name string) Compression {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".zst", ".zstd":
		return Zstd
	case ".gz":
		return Gzip
	}
	return None
}

// baseName is the last element of a path in lower case, without the suffix of
// the compression. Both kinds of slash are separators, on every platform.
func baseName(name string) string {
	base := strings.ToLower(path.Base(filepath.ToSlash(strings.ReplaceAll(name, `\`, "/"))))
	if CompressionOf(base) != None {
		base = strings.TrimSuffix(base, path.Ext(base))
	}
	return base
}

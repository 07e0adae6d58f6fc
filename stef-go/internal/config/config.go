// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package config has the settings that the options of package stef make, for the
// packages that carry them out. Its fields have plain types because package stef
// imports it; a field that is 0 takes the default.
package config

import "github.com/otelstef/stef/stef-go/schema"

// Writer has the settings of a writer.
type Writer struct {
	Compression uint8 // a stef.Compression
	Level       uint8 // a stef.Level
	Restart     uint8 // stef.FrameFlags
	WindowBytes int
	FrameBytes  int
	DictBytes   int
	Schema      schema.WireSchema // nil is the writer's own, whole
	WriteSchema bool
	UserData    map[string]string
}

// Reader has the settings of a reader: the fields of stef.Limits.
type Reader struct {
	HeaderBytes int
	FrameBytes  int
	DictBytes   int
	RecordBytes int
	Depth       int
	WindowBytes int
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

// FrameFlags select the state that is reset at the start of a frame.
//
// spec: #frame-flags
type FrameFlags uint8

// The frame flags.
const (
	// RestartDictionaries empties all dictionaries.
	RestartDictionaries FrameFlags = 1 << iota
	// RestartCompression begins a new zstd stream. It has no effect without
	// compression.
	RestartCompression
	// RestartCodecs resets the state of all codecs.
	RestartCodecs

	// RestartAll makes frames that can be decoded on their own: a writer with
	// these flags also sends every field in the first record of a frame.
	RestartAll = RestartDictionaries | RestartCompression | RestartCodecs
)

// Valid reports whether f has only flags that are defined.
func (f FrameFlags) Valid() bool { return f&^RestartAll == 0 }

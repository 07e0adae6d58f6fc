// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import "fmt"

// Compression is the method by which the frames of a stream are compressed.
//
// spec: #compression
type Compression uint8

// The compressions. The numbers are those of the fixed header.
const (
	// None does not compress frames.
	None Compression = 0
	// Zstd compresses the frames of a stream as one zstd stream, so that a frame can
	// refer to repeated data in earlier frames.
	Zstd Compression = 1
)

// String returns "none" or "zstd".
func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

// Level is the effort of zstd compression: LevelFastest, LevelDefault, LevelBetter,
// LevelBest or LevelAuto. The stream does not contain it: every reader reads every level.
type Level uint8

// The levels. All but LevelAuto are those of github.com/klauspost/compress/zstd.
const (
	// LevelFastest needs the least CPU time. In streams of frames below 4 KiB it stores the
	// literals of zstd without Huffman codes if the codes would save less than 1 % of the bytes.
	LevelFastest Level = iota + 1
	// LevelDefault is the level without WithCompressionLevel.
	LevelDefault
	// LevelBetter saves 0.5 to 3.5 % of the bytes for up to 28 % more CPU time
	// than LevelDefault: docs/compact-form.md has the measurements.
	LevelBetter
	// LevelBest needs up to 3.6 times the CPU time of LevelDefault. Use it for files.
	LevelBest
	// LevelAuto is LevelFastest until the uncompressed size of a frame exceeds 64 KiB.
	// The writer then restarts the compression, and uses LevelDefault from that frame
	// on. The tables of LevelDefault have 1.25 MiB, those of LevelFastest 0.25 MiB. For
	// small frames, the larger tables cost time and save few bytes:
	// docs/compact-form.md has the measurements.
	LevelAuto
)

// String returns the name of the level, such as "default".
func (l Level) String() string {
	switch l {
	case LevelFastest:
		return "fastest"
	case LevelDefault:
		return "default"
	case LevelBetter:
		return "better"
	case LevelBest:
		return "best"
	case LevelAuto:
		return "auto"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel returns the level of that name: fastest, default, better, best or auto.
func ParseLevel(name string) (Level, error) {
	for l := LevelFastest; l <= LevelAuto; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("stef: compression level %q is not fastest, default, better, best or auto", name)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stef

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/otelstef/stef/stef-go/internal/config"
)

// MaxZstdDictBytes is the maximum size of the content of a ZstdDict.
const MaxZstdDictBytes = 1 << 20

// ZstdDict is text that both ends of a stream have in advance, so that zstd refers to it instead of
// sending it. It makes short streams smaller, such as messages that are decoded without earlier messages.
// In long streams it saves little.
//
// Good content is what the streams are likely to contain: the bytes of an
// uncompressed stream of typical records, with the most frequent text at the end. A
// ZstdDict is immutable and safe for use by several goroutines at once. Create it
// once, because encoders and decoders are pooled by its pointer.
//
// spec: #compression
type ZstdDict struct{ dict config.ZstdDict }

// NewZstdDict returns a dictionary with a copy of content, which must have from 8 to
// MaxZstdDictBytes bytes.
func NewZstdDict(content []byte) (*ZstdDict, error) {
	if len(content) < 8 || len(content) > MaxZstdDictBytes {
		return nil, fmt.Errorf("stef: NewZstdDict: the content has %d bytes, from 8 to %d are allowed", len(content), MaxZstdDictBytes)
	}
	// RFC 8878 reserves ids below 32768 and from 2^31 on for registered
	// dictionaries.
	const first, end = 1 << 15, 1 << 31
	sum := sha256.Sum256(content)
	id := first + binary.LittleEndian.Uint32(sum[:])%(end-first)
	return &ZstdDict{config.ZstdDict{ID: id, Content: append([]byte(nil), content...)}}, nil
}

// ID returns the number by which streams name the dictionary. It is computed from a
// hash of the content, so equal contents have equal ids.
func (d *ZstdDict) ID() uint32 { return d.dict.ID }

// WithZstdDict lets zstd refer to a dictionary, which readers of the stream must
// also have. Default none. It has no effect without compression.
func WithZstdDict(dict *ZstdDict) WriterOption {
	return func(c *config.Writer) error {
		if dict == nil || dict.dict.Content == nil {
			return fmt.Errorf("stef: WithZstdDict: the dictionary is nil or empty: create it with NewZstdDict")
		}
		c.ZstdDict = &dict.dict
		return nil
	}
}

// WithZstdDicts sets the dictionaries that streams may refer to, at most 4. Reading a stream
// that needs another dictionary fails with ErrZstdDict. Default none.
func WithZstdDicts(dicts ...*ZstdDict) ReaderOption {
	return func(c *config.Reader) error {
		if len(dicts) > config.MaxZstdDicts {
			return fmt.Errorf("stef: WithZstdDicts: there are %d dictionaries, at most %d are allowed", len(dicts), config.MaxZstdDicts)
		}
		c.ZstdDicts = config.ZstdDicts{}
		for i, d := range dicts {
			if d == nil || d.dict.Content == nil {
				return fmt.Errorf("stef: WithZstdDicts: dictionary %d is nil or empty: create it with NewZstdDict", i+1)
			}
			c.ZstdDicts[i] = &d.dict
		}
		return nil
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/config"
)

// Encoders use megabytes of memory, so a stream without data frames has no encoder. A
// stream gets an encoder from a pool at its first data frame, and returns it at Close.
// There is one pool per setting, because Reset cannot change a setting.
var encoderPools sync.Map // encoderSetting -> *sync.Pool

type encoderSetting struct {
	level  stef.Level
	window int
	dict   *config.ZstdDict
	crc    bool
	raw    bool // literals get no Huffman code
}

func (s encoderSetting) pool() *sync.Pool {
	p, ok := encoderPools.Load(s)
	if !ok {
		p, _ = encoderPools.LoadOrStore(s, new(sync.Pool))
	}
	return p.(*sync.Pool)
}

// encoder returns a pooled or new encoder that writes a new zstd stream to w.
func (s encoderSetting) encoder(w io.Writer) (*zstd.Encoder, error) {
	if e, ok := s.pool().Get().(*zstd.Encoder); ok {
		e.Reset(w)
		return e, nil
	}
	level := map[stef.Level]zstd.EncoderLevel{
		stef.LevelFastest: zstd.SpeedFastest,
		stef.LevelDefault: zstd.SpeedDefault,
		stef.LevelBetter:  zstd.SpeedBetterCompression,
		stef.LevelBest:    zstd.SpeedBestCompression,
	}[s.level]
	// Columns of differences often have bytes that do not repeat in sequences, but are not equally
	// frequent. Without WithAllLitEntropyCompression, levels below LevelBetter would not compress
	// such bytes.
	options := []zstd.EOption{zstd.WithEncoderLevel(level), zstd.WithAllLitEntropyCompression(!s.raw), zstd.WithNoEntropyCompression(s.raw),
		zstd.WithWindowSize(s.window), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(s.crc)}
	if s.dict != nil {
		options = append(options, zstd.WithEncoderDictRaw(s.dict.ID, s.dict.Content))
	}
	return zstd.NewWriter(w, options...)
}

func (s encoderSetting) release(e *zstd.Encoder) {
	e.Reset(nil)
	s.pool().Put(e)
}

// Decoders are pooled like encoders, with one pool for each setting.
var decoderPools sync.Map // decoderSetting -> *sync.Pool

type decoderSetting struct {
	window int // the largest allowed window
	dicts  config.ZstdDicts
}

func (s decoderSetting) pool() *sync.Pool {
	p, ok := decoderPools.Load(s)
	if !ok {
		p, _ = decoderPools.LoadOrStore(s, new(sync.Pool))
	}
	return p.(*sync.Pool)
}

// zstdDecoder is a decoder and the size of the largest window that it has used. The
// decoder keeps the memory of this window.
type zstdDecoder struct {
	*zstd.Decoder
	window int
}

// need stores the largest window that zstd data needs. first says that data begins with a zstd
// frame. A zstd frame that does not state its window counts with the largest allowed window.
func (d *zstdDecoder) need(data []byte, first bool, limit int) {
	at := 0
	if !first {
		at = bytes.Index(data, zstdMagic)
	}
	for at >= 0 {
		var h zstd.Header
		window := limit
		if h.Decode(data[at:]) == nil && !h.Skippable {
			size := h.WindowSize
			if h.SingleSegment {
				size = h.FrameContentSize
			}
			window = int(min(size, uint64(limit)))
		}
		if d.window = max(d.window, window); d.window >= limit {
			return
		}
		// Our writers put one zstd frame into data; a hostile writer could add a zstd frame with
		// a larger window.
		next := bytes.Index(data[at+1:], zstdMagic)
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

// zstdMagic begins each zstd frame. RFC 8878, section 3.1.1.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// zstdEnd returns the compressed bytes after the content of a frame, without the skippable frames
// at their end, which can be large. ok is false if more than maxZstdTail bytes are left. The
// number at the start of a skippable frame cannot begin a block: the block would be too large.
//
// RFC 8878, section 3.1.2.
func zstdEnd(b []byte) (end []byte, ok bool) {
	if len(b) <= maxZstdTail {
		return b, true
	}
	for n := range maxZstdTail + 1 {
		if skippable(b[n:]) {
			return b[:n], true
		}
	}
	return b, false
}

// skippable reports whether b consists of complete skippable frames of zstd.
func skippable(b []byte) bool {
	const magic, head = 0x184d2a50, 8
	for len(b) >= head {
		size := uint64(binary.LittleEndian.Uint32(b[4:]))
		if binary.LittleEndian.Uint32(b)&^0xf != magic || size > uint64(len(b)-head) {
			return false
		}
		b = b[head+size:]
	}
	return len(b) == 0
}

// decoder returns a pooled or new decoder that reads a new zstd stream from r.
func (s decoderSetting) decoder(r io.Reader) (*zstdDecoder, error) {
	if d, ok := s.pool().Get().(*zstdDecoder); ok {
		if err := d.Reset(r); err != nil {
			return nil, err
		}
		return d, nil
	}
	// Concurrency 1 makes the decoder synchronous: it reads a block only when its bytes are
	// needed. A flushed frame ends without a last block, and reading ahead there would fail.
	// WithDecoderMaxMemory limits the window, too.
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(s.window)), zstd.WithDecoderMaxMemory(uint64(max(stef.MaxFrameBytes*2, s.window)))}
	for _, d := range s.dicts {
		if d != nil {
			options = append(options, zstd.WithDecoderDictRaw(d.ID, d.Content))
		}
	}
	d, err := zstd.NewReader(r, options...)
	if err != nil {
		return nil, err
	}
	return &zstdDecoder{Decoder: d}, nil
}

// release returns a decoder to its pool. It drops a decoder with a larger window than streams have
// by default: the next stream would hold the memory of this window without using it.
func (s decoderSetting) release(d *zstdDecoder) {
	if d.Reset(nil) == nil && d.window <= stef.DefaultWindowBytes {
		s.pool().Put(d)
	}
}

// rawZstd returns the content of a zstd frame that stores n bytes uncompressed, as writers store
// the variable header. The window limit does not apply to such a frame, because it needs no
// decoder. For other zstd frames, ok is false.
func rawZstd(coded []byte, n int) (content []byte, ok bool) {
	const head, most = 9, 255
	if n > most {
		return longRawZstd(coded, n)
	}
	if len(coded) != head+n {
		return nil, false
	}
	var frame [head + most]byte
	content = coded[head:]
	return content, bytes.Equal(coded, appendRawZstd(frame[:0], content))
}

// longRawZstd is like rawZstd, for zstd frames whose size field has 4 bytes.
func longRawZstd(coded []byte, n int) (content []byte, ok bool) {
	const head, blockHead = 4 + 1 + 4, 3
	blocks := (n + maxRawBlock - 1) / maxRawBlock
	if len(coded) != head+n+blocks*blockHead {
		return nil, false
	}
	content = make([]byte, 0, n)
	for rest := coded[head:]; len(rest) > 0; {
		size := min(n-len(content), maxRawBlock)
		content = append(content, rest[blockHead:blockHead+size]...)
		rest = rest[blockHead+size:]
	}
	return content, bytes.Equal(coded, appendRawZstd(nil, content))
}

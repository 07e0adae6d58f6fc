// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	stef "github.com/otelstef/stef/stef-go"
)

// Encoders hold megabytes, so an idle stream has none, a stream takes one from
// a pool at its first compressed frame, and gives it back when it is closed.
// Pools are per setting, as a setting cannot be changed by Reset.
var encoderPools sync.Map // encoderSetting -> *sync.Pool

type encoderSetting struct {
	level  stef.Level
	window int
}

func (s encoderSetting) pool() *sync.Pool {
	p, ok := encoderPools.Load(s)
	if !ok {
		p, _ = encoderPools.LoadOrStore(s, new(sync.Pool))
	}
	return p.(*sync.Pool)
}

// encoder takes an encoder that writes a new zstd stream to w.
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
	return zstd.NewWriter(w, zstd.WithEncoderLevel(level), zstd.WithWindowSize(s.window),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
}

func (s encoderSetting) release(e *zstd.Encoder) {
	e.Reset(nil)
	s.pool().Put(e)
}

// Decoders are pooled too, per window limit.
var decoderPools sync.Map // int -> *sync.Pool

func decoderPool(window int) *sync.Pool {
	p, ok := decoderPools.Load(window)
	if !ok {
		p, _ = decoderPools.LoadOrStore(window, new(sync.Pool))
	}
	return p.(*sync.Pool)
}

func newDecoder(r io.Reader, window int) (*zstd.Decoder, error) {
	if d, ok := decoderPool(window).Get().(*zstd.Decoder); ok {
		if err := d.Reset(r); err != nil {
			return nil, err
		}
		return d, nil
	}
	// Concurrency 1 makes the decoder synchronous: it reads no block before
	// it is asked for its bytes, and the stream never ends its last block.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(window)), zstd.WithDecoderMaxMemory(uint64(stef.MaxFrameBytes)*2))
}

func releaseDecoder(d *zstd.Decoder, window int) {
	if d.Reset(nil) == nil {
		decoderPool(window).Put(d)
	}
}

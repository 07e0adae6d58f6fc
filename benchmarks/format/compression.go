// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Compression is the compression of messages. Own is the compression that is part of a format. For
// each of the other compressions, all formats use the same library.
type Compression string

// None, Gzip and Zstd are the compressions of gRPC and HTTP: each message is compressed
// separately. ZstdStream keeps one zstd context across messages. Each message ends a block and
// is preceded by its size. No OTLP transport keeps a context. ZstdStream shows how much of the gain
// of a streaming format is due to the context. Own is the compression that is part of a format.
const (
	None       Compression = "none"
	Gzip       Compression = "gzip"
	Zstd       Compression = "zstd"
	ZstdStream Compression = "zstd-stream"
	Own        Compression = "own"
	// Snappy and the other levels of zstd are only in the frontier charts, which show bytes against
	// CPU time.
	Snappy      Compression = "snappy"
	ZstdFastest Compression = "zstd-fastest"
	ZstdBetter  Compression = "zstd-better"
	ZstdBest    Compression = "zstd-best"
)

// levels are the levels of zstd when each message is compressed separately.
var levels = map[Compression]zstd.EncoderLevel{
	ZstdFastest: zstd.SpeedFastest, Zstd: zstd.SpeedDefault, ZstdBetter: zstd.SpeedBetterCompression, ZstdBest: zstd.SpeedBestCompression,
}

// Compressions returns the compressions that are measured with a format.
func Compressions(f Format) []Compression {
	all := []Compression{None, Gzip, Zstd, ZstdStream}
	if f.Own() != "" {
		all = append(all, Own)
	}
	return all
}

// BestZstd returns the zstd variant that suits a format best: Own if zstd is part of the format.
// Messages of Arrow and Otel Arrow are compressed as a whole, because their many small buffers
// compress better together.
func BestZstd(f Format) Compression {
	switch f.(type) {
	case arrowFormat, otelArrow:
		return Zstd
	}
	if f.Own() == "" {
		return Zstd
	}
	return Own
}

// Describe explains each compression.
func Describe() string {
	return "none; gzip (level 6) and zstd (SpeedDefault) each message by itself, as gRPC and HTTP do; zstd-stream: one zstd context over " +
		"all messages, a flush after each; own: the compression of the format (STEF: a zstd context over the stream, at the level that the exporter selects for the compact form, " +
		"at level default in the full form, window 1 MiB; Parquet: zstd per page; Arrow: zstd per buffer). All by github.com/klauspost/compress, one goroutine."
}

// Compressor compresses the messages of one stream. Its result is valid until
// the next call.
type Compressor interface {
	Compress(message []byte) ([]byte, error)
	// Begin ends the stream and begins an independent stream.
	Begin()
}

// Decompressor reverses a Compressor.
type Decompressor interface {
	Decompress(packed []byte) ([]byte, error)
}

// NewCompressor begins a stream.
func (c Compression) NewCompressor() (Compressor, error) {
	switch c {
	case None, Own:
		return same{}, nil
	case Gzip:
		return &gzipEnd{w: gzip.NewWriter(nil)}, nil
	case Snappy:
		return &snappyEnd{}, nil
	case Zstd, ZstdFastest, ZstdBetter, ZstdBest:
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(levels[c]))
		return &zstdEnd{enc: enc}, err
	case ZstdStream:
		z := &zstdStreamWriter{}
		enc, err := zstd.NewWriter(&z.out, zstd.WithEncoderConcurrency(1))
		z.enc = enc
		return z, err
	}
	return nil, fmt.Errorf("format: unknown compression %q", c)
}

// NewDecompressor begins to read a stream.
func (c Compression) NewDecompressor() (Decompressor, error) {
	switch c {
	case None, Own:
		return same{}, nil
	case Gzip:
		return &gzipEnd{}, nil
	case Snappy:
		return &snappyEnd{}, nil
	case Zstd, ZstdFastest, ZstdBetter, ZstdBest:
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		return &zstdEnd{dec: dec}, err
	case ZstdStream:
		return &zstdStreamReader{}, nil
	}
	return nil, fmt.Errorf("format: unknown compression %q", c)
}

type same struct{}

func (same) Begin()                                   {}
func (same) Compress(message []byte) ([]byte, error)  { return message, nil }
func (same) Decompress(packed []byte) ([]byte, error) { return packed, nil }

// snappyEnd uses the snappy block format. The Collector's gRPC codec puts such blocks into
// frames.
type snappyEnd struct{ out []byte }

func (z *snappyEnd) Begin() {}

func (z *snappyEnd) Compress(message []byte) ([]byte, error) {
	z.out = s2.EncodeSnappy(z.out[:cap(z.out)], message)
	return z.out, nil
}

func (z *snappyEnd) Decompress(packed []byte) (_ []byte, err error) {
	z.out, err = s2.Decode(z.out[:cap(z.out)], packed)
	return z.out, err
}

type gzipEnd struct {
	w   *gzip.Writer
	r   gzip.Reader
	out bytes.Buffer
}

func (g *gzipEnd) Begin() {}

func (g *gzipEnd) Compress(message []byte) ([]byte, error) {
	g.out.Reset()
	g.w.Reset(&g.out)
	if _, err := g.w.Write(message); err != nil {
		return nil, err
	}
	err := g.w.Close()
	return g.out.Bytes(), err
}

func (g *gzipEnd) Decompress(packed []byte) ([]byte, error) {
	g.out.Reset()
	if err := g.r.Reset(bytes.NewReader(packed)); err != nil {
		return nil, err
	}
	_, err := g.out.ReadFrom(&g.r)
	return g.out.Bytes(), err
}

type zstdEnd struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	out []byte
}

func (z *zstdEnd) Begin() {}

func (z *zstdEnd) Compress(message []byte) ([]byte, error) {
	z.out = z.enc.EncodeAll(message, z.out[:0])
	return z.out, nil
}

func (z *zstdEnd) Decompress(packed []byte) (_ []byte, err error) {
	z.out, err = z.dec.DecodeAll(packed, z.out[:0])
	return z.out, err
}

type zstdStreamWriter struct {
	enc *zstd.Encoder
	out bytes.Buffer
}

func (z *zstdStreamWriter) Begin() { z.enc.Reset(&z.out) }

func (z *zstdStreamWriter) Compress(message []byte) ([]byte, error) {
	z.out.Reset()
	var head [binary.MaxVarintLen64]byte
	z.out.Write(head[:binary.PutUvarint(head[:], uint64(len(message)))])
	if _, err := z.enc.Write(message); err != nil {
		return nil, err
	}
	err := z.enc.Flush()
	return z.out.Bytes(), err
}

type zstdStreamReader struct {
	dec *zstd.Decoder
	in  bytes.Buffer
	out []byte
}

func (z *zstdStreamReader) Decompress(packed []byte) ([]byte, error) {
	size, n := binary.Uvarint(packed)
	if n <= 0 {
		return nil, io.ErrUnexpectedEOF
	}
	z.in.Write(packed[n:])
	if z.dec == nil {
		// Hide the type: the decoder would read a *bytes.Buffer as the whole stream.
		dec, err := zstd.NewReader(struct{ io.Reader }{&z.in}, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		z.dec = dec
	}
	z.out = slices.Grow(z.out[:0], int(size))[:size]
	_, err := io.ReadFull(z.dec, z.out)
	return z.out, err
}

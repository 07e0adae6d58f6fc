// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
)

// maxRequestBytes is the maximum size of a decompressed OTLP request. The gRPC server of
// stef record has the same limit.
const maxRequestBytes = 64 << 20

// grpcZstd implements the compression zstd for gRPC messages. Senders of OTLP may use it.
type grpcZstd struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// registerZstd registers zstd with gRPC. Call it before the first connection.
var registerZstd = sync.OnceValue(func() error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRequestBytes))
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	encoding.RegisterCompressor(&grpcZstd{encoder, decoder})
	return nil
})

func (*grpcZstd) Name() string { return "zstd" }

func (z *grpcZstd) Compress(w io.Writer) (io.WriteCloser, error) {
	return &zstdMessage{z: z, w: w}, nil
}

func (z *grpcZstd) Decompress(r io.Reader) (io.Reader, error) {
	packed, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	message, err := z.decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return bytes.NewReader(message), nil
}

// zstdMessage collects a message and compresses it as a whole.
type zstdMessage struct {
	z     *grpcZstd
	w     io.Writer
	plain bytes.Buffer
}

func (m *zstdMessage) Write(p []byte) (int, error) { return m.plain.Write(p) }

func (m *zstdMessage) Close() error {
	_, err := m.w.Write(m.z.encoder.EncodeAll(m.plain.Bytes(), nil))
	return err
}

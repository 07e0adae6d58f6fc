// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"
)

func TestGRPCZstd(t *testing.T) {
	require.NoError(t, registerZstd())
	z := encoding.GetCompressor("zstd")
	packed := func(size int) *bytes.Buffer {
		var out bytes.Buffer
		w, err := z.Compress(&out)
		require.NoError(t, err)
		_, err = w.Write(make([]byte, size))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return &out
	}
	for _, size := range []int{0, 1, 100_000} {
		r, err := z.Decompress(packed(size))
		require.NoError(t, err)
		plain, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Len(t, plain, size)
	}
	_, err := z.Decompress(packed(maxRequestBytes + 1))
	require.ErrorIs(t, err, zstd.ErrDecoderSizeExceeded)
	_, err = z.Decompress(bytes.NewReader([]byte("no zstd")))
	require.ErrorIs(t, err, zstd.ErrMagicMismatch)
}

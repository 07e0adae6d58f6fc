// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// WholeBlocks is true for a compressed file that was cut at the end of a block, and only then. In
// this test, a block ends at each flush of the writer.
func TestWholeBlocks(t *testing.T) {
	noise := make([]byte, 300)
	for i := range noise {
		noise[i] = byte(rand.New(rand.NewPCG(1, uint64(i))).Uint32())
	}
	contents := [][]byte{noise, bytes.Repeat([]byte("text "), 200), bytes.Repeat([]byte("x"), 5000), []byte("a")}
	type writer interface {
		io.WriteCloser
		Flush() error
	}
	for _, packed := range []string{"zstd", "zstd without checksums", "gzip"} {
		var data bytes.Buffer
		var ends []int
		var w writer = gzip.NewWriter(&data)
		if packed != "gzip" {
			var err error
			w, err = zstd.NewWriter(&data, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(packed == "zstd"))
			require.NoError(t, err)
		}
		for range 2 { // two frames
			for _, c := range contents {
				_, err := w.Write(c)
				require.NoError(t, err)
				require.NoError(t, w.Flush())
				ends = append(ends, data.Len())
			}
			require.NoError(t, w.Close())
			if packed == "gzip" {
				ends = append(ends, data.Len()-8) // the last block is whole, and only the trailer is missing
				w.(*gzip.Writer).Reset(&data)
			} else {
				data.Write([]byte{0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9}) // a skippable frame
				w.(*zstd.Encoder).Reset(&data)
			}
		}
		next := 0
		for n := ends[0] - 2; n <= ends[len(ends)-1]; n++ {
			if n%9 != 0 && !slices.ContainsFunc(ends, func(end int) bool { return end-4 <= n && n <= end+4 }) {
				continue
			}
			in, err := file.Open("-", bytes.NewReader(data.Bytes()[:n]))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, in)
			whole := in.WholeBlocks() && err != nil
			require.Equal(t, n == ends[next], whole, "%s, %d bytes, flushed at %d", packed, n, ends)
			if n == ends[next] {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				next++
			}
			in.Close()
		}
		require.Equal(t, len(ends), next)
	}
	in, err := file.Open("-", bytes.NewReader([]byte("not compressed")))
	require.NoError(t, err)
	defer in.Close()
	require.False(t, in.WholeBlocks())
}

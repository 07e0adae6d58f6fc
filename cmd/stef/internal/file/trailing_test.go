// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// TestTrailing reads compressed files with bytes after their end: zeros, other bytes, the beginning of another
// member or frame, and whole ones.
func TestTrailing(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 1000)
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7}
	for packed, whole := range map[string][]byte{"gzip": gz.Bytes(), "zstd": z.EncodeAll(content, nil)} {
		read := func(tail []byte) error {
			t.Helper()
			in, err := file.Open("-", bytes.NewReader(append(bytes.Clone(whole), tail...)))
			require.NoError(t, err)
			defer in.Close()
			got, err := io.ReadAll(in)
			require.Equal(t, content, got[:len(content)])
			return err
		}
		require.NoError(t, read(nil))
		require.NoError(t, read(whole))
		for _, n := range []int{1, 2, 3, 4, 9, 10, 17, 100_000} {
			for _, fill := range []byte{0, 'x'} {
				var at *file.TrailingError
				require.ErrorAs(t, read(bytes.Repeat([]byte{fill}, n)), &at, "%s, %d bytes", packed, n)
				require.Equal(t, &file.TrailingError{Packed: packed, Bytes: int64(n)}, at)
			}
		}
		for n := 1; n < 12; n++ { // a cut file
			require.ErrorIs(t, read(whole[:n]), io.ErrUnexpectedEOF, "%s, %d bytes", packed, n)
		}
		if packed == "zstd" {
			require.NoError(t, read(skippable))
			for n := 1; n < len(skippable); n++ {
				require.ErrorIs(t, read(skippable[:n]), io.ErrUnexpectedEOF, "%d bytes", n)
			}
		}
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/cmd/stef/internal/file"
)

// Files whose messages are compressed alone, as the Collector's file exporter writes them, are
// read like files without compression.
func TestEachMessagePacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "telemetry")
	read := func(data []byte) (string, error) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, data, 0o666))
		in, err := file.Open(path, nil)
		require.NoError(t, err)
		defer in.Close()
		require.Equal(t, "zstd", in.Packed)
		require.True(t, in.Each)
		got, err := io.ReadAll(in)
		return string(got), in.Blame(err)
	}
	part := func(content []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
	}
	packed := func(messages ...string) (b []byte) {
		for _, m := range messages {
			b = append(b, part(zstdOf(t, m))...)
		}
		return b
	}
	got, err := read(packed(`{"a":1}`, `{"b":2}`))
	require.NoError(t, err)
	require.Equal(t, "{\"a\":1}\n{\"b\":2}\n", got)

	got, err = read(packed("\x0a\x02one", "", "\x0a\x00"))
	require.NoError(t, err)
	require.Equal(t, string(bytes.Join([][]byte{part([]byte("\x0a\x02one")), part(nil), part([]byte("\x0a\x00"))}, nil)), got)

	whole := packed(`{"a":1}`, `{"b":2}`)
	for _, cut := range []int{1, 5, len(whole)/2 - 1} {
		got, err = read(whole[:len(whole)-cut])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "message 2, which is compressed separately with zstd: ")
		require.Equal(t, "{\"a\":1}\n", got)
	}
	whole[len(whole)-3] ^= 0xff
	_, err = read(whole)
	require.ErrorContains(t, err, "message 2, which is compressed separately with zstd: ")
	_, err = read(append(packed(`{"a":1}`), 0xff, 0, 0, 0))
	require.ErrorContains(t, err, "the message has 4278190080 bytes, at most 268435456 are allowed")
}

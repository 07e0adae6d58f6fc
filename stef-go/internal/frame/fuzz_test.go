// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
)

// FuzzStream reads any bytes as a stream. The reader must not panic, and its errors must have a known kind
// and a location. The result must be the same if the source returns one byte at a time. If the stream is
// truncated, the reader must return some of its first frames and nothing else.
func FuzzStream(f *testing.F) {
	f.Add([]byte("STEF\x02\x00\x00\x00\x02\x00\x00"), uint16(0))
	f.Add([]byte("STEF\x02\x00\x00\x00\x09\x02\x01\x09\x01\x01k\x02vv\x07\x03abc\x00\x01d"), uint16(20))
	f.Add([]byte("STEF\x82\x00\xf0\xfc\x00\x02\x00\x00"), uint16(5))
	c := newCoder(f)
	head := []byte("STEF\x02\x00\x01")
	f.Add(join(head, c.flushed(0, "\x00\x00"), c.flushed(0, "hello"), c.flushed(2, "hello"), c.flushed(0, "x")), uint16(30))
	f.Add(join(head, c.complete(0, "\x00\x00"), c.complete(0, "hello"), c.complete(2, "x")), uint16(30))
	f.Add(join(head, c.complete(0, "\x00\x00"), codedFrame(2, 3, c.complete(0, "hello")[2:])), uint16(30))

	limits := stef.DefaultLimits()
	limits.FrameBytes = 1 << 16
	limits.WindowBytes = 1 << 16
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		if len(data) > 1<<14 {
			return
		}
		parts, r, err := readAll(bytes.NewReader(data), limits)
		if err != nil {
			requirePlaced(t, err, len(data))
		} else {
			require.Equal(t, int64(len(data)), r.Offset())
		}
		for _, p := range parts {
			require.LessOrEqual(t, len(p.content), limits.FrameBytes)
			require.True(t, p.flags.Valid())
		}
		slowly, _, slowErr := readAll(iotest.OneByteReader(bytes.NewReader(data)), limits)
		require.Equal(t, parts, slowly)
		require.Equal(t, err == nil, slowErr == nil)

		before, _, _ := readAll(bytes.NewReader(data[:min(int(cut), len(data))]), limits)
		require.LessOrEqual(t, len(before), len(parts))
		if len(before) > 0 {
			require.Equal(t, parts[:len(before)], before)
		}
	})
}

// requirePlaced checks that an error has a location and a known kind.
func requirePlaced(t *testing.T, err error, size int) {
	t.Helper()
	var at *stef.FormatError
	require.ErrorAs(t, err, &at)
	require.NotEqual(t, io.EOF, err)
	require.GreaterOrEqual(t, at.Offset, int64(0))
	require.LessOrEqual(t, at.Offset, int64(size))
	require.GreaterOrEqual(t, at.Frame, -1)
	kinds := 0
	for _, kind := range []error{stef.ErrCorrupt, stef.ErrLimit, stef.ErrVersion, stef.ErrZstdDict} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	require.Equal(t, 1, kinds, err)
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

const (
	plainHead = "53544546 02 00 00"
	zstdHead  = "53544546 02 00 01"
)

func plainFrame(flags byte, content string) []byte {
	b := binary.AppendUvarint([]byte{flags}, uint64(len(content)))
	return append(b, content...)
}

func codedFrame(flags byte, size int, coded []byte) []byte {
	b := binary.AppendUvarint([]byte{flags}, uint64(size))
	b = binary.AppendUvarint(b, uint64(len(coded)))
	return append(b, coded...)
}

// coder compresses the contents of several frames as one zstd stream.
type coder struct {
	t   testing.TB
	buf bytes.Buffer
	enc *zstd.Encoder
}

func newCoder(t testing.TB, options ...zstd.EOption) *coder {
	t.Helper()
	c := &coder{t: t}
	var err error
	c.enc, err = zstd.NewWriter(&c.buf, append([]zstd.EOption{zstd.WithEncoderConcurrency(1)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { c.enc.Reset(nil) })
	return c
}

// flushed returns a frame whose zstd data is flushed and continues in the next frame,
// as the reference implementation writes frames.
func (c *coder) flushed(flags byte, content string) []byte {
	c.t.Helper()
	if flags&byte(stef.RestartCompression) != 0 {
		c.enc.Reset(&c.buf)
	}
	_, err := c.enc.Write([]byte(content))
	require.NoError(c.t, err)
	require.NoError(c.t, c.enc.Flush())
	return codedFrame(flags, len(content), c.taken())
}

// complete returns a frame of STEF that contains one whole zstd frame.
func (c *coder) complete(flags byte, content string) []byte {
	c.t.Helper()
	c.enc.Reset(&c.buf)
	_, err := c.enc.Write([]byte(content))
	require.NoError(c.t, err)
	require.NoError(c.t, c.enc.Close())
	return codedFrame(flags, len(content), c.taken())
}

// flushedAndComplete is like complete, but flushes the encoder before it ends the zstd frame. So the zstd
// frame ends with an empty block.
func (c *coder) flushedAndComplete(flags byte, content string) []byte {
	c.t.Helper()
	c.enc.Reset(&c.buf)
	_, err := c.enc.Write([]byte(content))
	require.NoError(c.t, err)
	require.NoError(c.t, c.enc.Flush())
	require.NoError(c.t, c.enc.Close())
	return codedFrame(flags, len(content), c.taken())
}

func (c *coder) taken() []byte {
	b := bytes.Clone(c.buf.Bytes())
	c.buf.Reset()
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

type part struct {
	flags   stef.FrameFlags
	content string
}

func readAll(src io.Reader, limits stef.Limits) (parts []part, r *frame.Reader, err error) {
	r, err = frame.NewReader(src, limits)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		flags, payload, err := r.Next()
		if err == io.EOF {
			return parts, r, nil
		}
		if err != nil {
			return parts, r, err
		}
		parts = append(parts, part{flags, string(payload)})
	}
}

func read(b []byte) ([]part, error) {
	parts, _, err := readAll(bytes.NewReader(b), stef.DefaultLimits())
	return parts, err
}

func requireError(t testing.TB, err, kind error, offset int64, frame int, text string) {
	t.Helper()
	require.Error(t, err)
	require.ErrorIs(t, err, kind)
	var at *stef.FormatError
	require.ErrorAs(t, err, &at)
	require.Equal(t, offset, at.Offset, err)
	require.Equal(t, frame, at.Frame, err)
	require.ErrorContains(t, err, text)
	for _, other := range []error{stef.ErrCorrupt, stef.ErrLimit, stef.ErrVersion, stef.ErrSchema} {
		require.Equal(t, other == kind, errors.Is(err, other), "%v is of one kind", err)
	}
}

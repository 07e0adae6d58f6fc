// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/steftest"
)

// TestSlowSources reads from sources that return fewer bytes than requested.
func TestSlowSources(t *testing.T) {
	sources := map[string]func(io.Reader) io.Reader{
		"one byte":       iotest.OneByteReader,
		"half":           iotest.HalfReader,
		"data and error": iotest.DataErrReader,
		"one and error":  func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) },
		"stutter":        func(r io.Reader) io.Reader { return &stutter{r: r} },
	}
	eachStream(t, 4, func(t *testing.T, root *steftest.Root, s stream) {
		for name, source := range sources {
			recs, err := root.Read(source(bytes.NewReader(s.bytes)))
			require.NoError(t, err, name)
			require.Empty(t, steftest.DiffAll(root.Schema, s.recs, recs), name)
		}
	})
}

// stutter is a source. Every second call of Read returns no bytes and no error.
type stutter struct {
	r    io.Reader
	turn bool
}

func (s *stutter) Read(b []byte) (int, error) {
	if s.turn = !s.turn; s.turn {
		return 0, nil
	}
	return s.r.Read(b[:min(len(b), 3)])
}

// TestTruncation truncates streams at every offset. If the offset is the end of a frame, the stream ends
// without an error. Otherwise the reader returns an error, and no record of the incomplete frame.
func TestTruncation(t *testing.T) {
	eachStream(t, 3, func(t *testing.T, root *steftest.Root, s stream) {
		complete := 0
		for end := range len(s.bytes) + 1 {
			records, border := s.borders[end]
			if border {
				complete = records
				recs, err := root.Read(bytes.NewReader(s.bytes[:end]))
				require.NoError(t, err, "cut at %d", end)
				require.Empty(t, steftest.DiffAll(root.Schema, s.recs[:records], recs), "cut at %d", end)
				continue
			}
			n, err := drain(root, s.bytes[:end])
			require.Error(t, err, "cut at %d of %d", end, len(s.bytes))
			require.ErrorIs(t, err, stef.ErrCorrupt)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			requireTyped(t, err)
			require.Equal(t, uint64(complete), n, "cut at %d", end)
		}
	})
}

var errSource = errors.New("the source is gone")

// TestFailingSource makes the source fail at every offset of a stream. The reader must never report this as
// the end of the stream.
func TestFailingSource(t *testing.T) {
	eachStream(t, 2, func(t *testing.T, root *steftest.Root, s stream) {
		complete := 0
		for end := range len(s.bytes) + 1 {
			if records, border := s.borders[end]; border {
				complete = records
			}
			source := io.MultiReader(bytes.NewReader(s.bytes[:end]), iotest.ErrReader(errSource))
			recs, err := root.Read(source)
			require.ErrorIs(t, err, errSource, "after %d bytes", end)
			require.NotErrorIs(t, err, stef.ErrCorrupt)
			require.Len(t, recs, complete, "after %d bytes", end)
		}
	})
}

// TestErrorsLast: after the end of a stream or an error, further calls of Next return false, and Err does
// not change.
func TestErrorsLast(t *testing.T) {
	eachStream(t, 2, func(t *testing.T, root *steftest.Root, s stream) {
		f := func(stream []byte, want error) {
			t.Helper()
			r, err := root.NewReader(bytes.NewReader(stream))
			require.NoError(t, err)
			for r.Next() {
			}
			for range 3 {
				require.False(t, r.Next())
				require.ErrorIs(t, r.Err(), want)
				require.Zero(t, r.BufferedRecords())
				require.Zero(t, r.Run(0))
			}
			r.Close()
			r.Close()
			require.False(t, r.Next())
			require.ErrorIs(t, r.Err(), want)
		}
		f(s.bytes, nil)
		f(s.bytes[:len(s.bytes)-1], stef.ErrCorrupt)
		f(append(bytes.Clone(s.bytes), 0xff), stef.ErrCorrupt)
	})
}

func TestEarlyClose(t *testing.T) {
	eachStream(t, 2, func(t *testing.T, root *steftest.Root, s stream) {
		r, err := root.NewReader(bytes.NewReader(s.bytes))
		require.NoError(t, err)
		require.True(t, r.Next())
		r.Close()
		require.False(t, r.Next())
		require.NoError(t, r.Err())
		require.Equal(t, uint64(1), r.Stats().Records)
	})
}

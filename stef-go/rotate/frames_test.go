// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// stream returns a stream of logs, and the offsets at which each header and each frame ends.
func stream(t testing.TB, options ...stef.WriterOption) (b []byte, ends []int64) {
	t.Helper()
	var chunks chunkLog
	w, err := otelstef.NewLogsWriter(&chunks, options...)
	require.NoError(t, err)
	for i := uint64(1); i < 2000; i *= 3 {
		require.NoError(t, putLogs(w, i, 2*i))
		require.NoError(t, w.Flush())
	}
	return chunks.Bytes(), chunks.ends
}

type chunkLog struct {
	bytes.Buffer
	ends []int64
}

func (c *chunkLog) Write(b []byte) (int, error) {
	n, err := c.Buffer.Write(b)
	c.ends = append(c.ends, int64(c.Len()))
	return n, err
}

// TestFrames: while a file grows byte by byte, Frames finds each frame as soon as the
// frame is complete.
func TestFrames(t *testing.T) {
	for _, options := range [][]stef.WriterOption{nil, {stef.WithCompression(stef.Zstd)}, {otelstef.CompactLogs(), stef.WithSchemaHeader()}} {
		b, ends := stream(t, options...)
		var f Frames
		next := 0
		require.Equal(t, -1, f.Count())
		for size := int64(0); size <= int64(len(b)); size++ {
			for {
				ok, err := f.Next(bytes.NewReader(b[:size]), size)
				require.NoError(t, err)
				if !ok {
					break
				}
				require.Equal(t, ends[next], f.End())
				next++
			}
			if next < len(ends) {
				require.Less(t, size, ends[next])
			}
		}
		require.Len(t, ends, next)
		require.Equal(t, len(ends)-2, f.Count())
	}
}

func TestFramesRefuse(t *testing.T) {
	f := func(want error, b string) {
		t.Helper()
		var frames Frames
		for {
			ok, err := frames.Next(strings.NewReader(b), int64(len(b)))
			if !ok {
				require.ErrorIs(t, err, want)
				return
			}
		}
	}
	f(nil, "")
	f(nil, "STEF\x02\x00\x00")
	f(stef.ErrCorrupt, "STEG")
	f(stef.ErrCorrupt, "STEF\x01\x00\x00")
	f(stef.ErrLimit, "STEF\xff\xff\xff\x7f\x00\x00")
	f(stef.ErrCorrupt, "STEF\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f(stef.ErrVersion, "STEF\x02\x01\x00")
	f(stef.ErrVersion, "STEF\x02\x00\x03")
	f(stef.ErrCorrupt, "STEF\x02\x00\x00\x08")
	f(stef.ErrCorrupt, "STEF\x02\x00\x00\x00\x00")
	f(stef.ErrLimit, "STEF\x02\x00\x00\x00\xff\xff\xff\x01")
	f(stef.ErrLimit, "STEF\x02\x00\x01\x00\x01\xff\xff\xff\xff\x01")
	whole := "STEF\x02\x00\x00\x00\x02\x00\x00"
	var frames Frames
	ok, err := frames.Next(strings.NewReader(whole+whole), int64(2*len(whole)))
	for ok {
		ok, err = frames.Next(strings.NewReader(whole+whole), int64(2*len(whole)))
	}
	require.ErrorContains(t, err, "a second stream may begin here")
	require.EqualValues(t, len(whole), frames.End())
	frames = Frames{}
	_, err = frames.Next(failing{}, 10)
	require.ErrorIs(t, err, errRead)
}

var errRead = errors.New("read")

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errRead }

// FuzzFrames compares Frames with the reader: Frames finds every frame that the reader reads
// without an error.
func FuzzFrames(f *testing.F) {
	for _, c := range []stef.Compression{stef.None, stef.Zstd} {
		b, ends := stream(f, stef.WithCompression(c))
		f.Add(b)
		f.Add(b[:ends[2]])
		f.Add(b[:ends[2]+1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var frames Frames
		var err error
		for ok := true; ok && err == nil; {
			before := frames.End()
			ok, err = frames.Next(bytes.NewReader(b), int64(len(b)))
			require.LessOrEqual(t, frames.End(), int64(len(b)))
			require.Equal(t, ok, frames.End() > before)
		}
		r, startErr := otelstef.NewLogsReader(bytes.NewReader(b))
		if startErr != nil {
			return
		}
		defer r.Close()
		for r.Next() {
		}
		// The reader may stop earlier, at a frame that it cannot decode. It never reads
		// beyond the frames that Frames found.
		require.GreaterOrEqual(t, frames.Count(), r.Stats().Frames-1)
		if r.Err() == nil {
			require.NoError(t, err)
			require.Equal(t, int64(len(b)), frames.End())
			require.Equal(t, r.Stats().Frames, frames.Count())
		}
	})
}

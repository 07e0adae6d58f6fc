// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
)

// randomBytes returns n random bytes below most. Smaller values are more frequent.
func randomBytes(r *rand.Rand, n, most int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(min(r.IntN(most), r.IntN(most)))
	}
	return b
}

// compressBlock returns data as one zstd block, without the header of the zstd frame.
func compressBlock(t *testing.T, data []byte, raw bool) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithNoEntropyCompression(raw), zstd.WithAllLitEntropyCompression(!raw), zstd.WithEncoderCRC(false))
	require.NoError(t, err)
	defer e.Reset(nil)
	_, err = e.Write(data)
	require.NoError(t, err)
	require.NoError(t, e.Flush())
	var h zstd.Header
	require.NoError(t, h.Decode(out.Bytes()))
	return out.Bytes()[h.HeaderSize:]
}

// savedBytes returns how many bytes Huffman codes of literals save, exactly or as an estimate.
// TestSavedBytes compares the result with the sizes that two encoders return for the same data, with and
// without codes. The sizes cover all formats of literals in RFC 8878, section 3.1.1.3.1.1.
func TestSavedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{20, 31, 33, 100, 500, 1000, 1100, 4000, 16_000, 17_000, 100_000} {
		for _, most := range []int{4, 60, 200, 256} {
			for _, matches := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d bytes below %d, matches %t", size, most, matches), func(t *testing.T) {
					data := randomBytes(r, size, most)
					if matches { // the block has sequences
						data = append(data, bytes.Repeat([]byte("sequences "), 9)...)
					}
					coded, raw := compressBlock(t, data, false), compressBlock(t, data, true)
					saved := len(raw) - len(coded)
					// The heads of literals have different sizes, so the difference is not exact.
					require.InDelta(t, saved, savedBytes(coded, false), 6+float64(size)/8000)
					require.Zero(t, savedBytes(raw, false))
					require.InDelta(t, saved, savedBytes(raw, true), 14+float64(size)/25)
				})
			}
		}
	}
}

// TestSavedBytesOfAnything: savedBytes does not panic for truncated blocks and random bytes. Its result is
// at most the size of the content that the blocks can have.
func TestSavedBytesOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	block := compressBlock(t, randomBytes(r, 3000, 60), true)
	for i := range block {
		savedBytes(block[:i], true)
	}
	for range 20_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		if len(b) > 2 { // make a short block, which is often complete
			b[1], b[2] = byte(r.IntN(2)), 0
		}
		require.LessOrEqual(t, savedBytes(b, r.IntN(2) == 0), 20*maxRawBlock*2)
	}
}

// smallFrames is a writer of small frames with one column.
type smallFrames struct {
	t    *testing.T
	w    *Writer
	out  bytes.Buffer
	root codec.Headers
	tree column.WriteTree
	want []string
}

func newSmallFrames(t *testing.T, options ...stef.WriterOption) *smallFrames {
	t.Helper()
	f := &smallFrames{t: t}
	c, err := WriterConfig(append(options, stef.WithCompression(stef.Zstd)))
	require.NoError(t, err)
	f.w, err = NewWriter(&f.out, &c, &VarHeader{})
	require.NoError(t, err)
	t.Cleanup(f.w.Close)
	f.tree.Open("root", &f.root)
	f.tree.Close()
	return f
}

func (f *smallFrames) write(flags stef.FrameFlags, content []byte) {
	f.t.Helper()
	f.tree.Reset()
	f.root.Buf = append(f.root.Buf, content...)
	head, _ := f.tree.AppendSizes([]byte{1})
	f.want = append(f.want, string(head)+string(content))
	_, err := f.w.Frame(flags, 1, &f.tree)
	require.NoError(f.t, err)
}

// restarts reads all frames. It returns the numbers of the frames that restart the compression.
func (f *smallFrames) restarts() (numbers []int) {
	f.t.Helper()
	r, err := NewReader(bytes.NewReader(f.out.Bytes()), stef.DefaultLimits())
	require.NoError(f.t, err)
	defer r.Close()
	for i := 0; ; i++ {
		flags, content, err := r.Next()
		if err == io.EOF {
			require.Len(f.t, f.want, i)
			return numbers
		}
		require.NoError(f.t, err)
		require.Equal(f.t, f.want[i], string(content), i)
		if flags&stef.RestartCompression != 0 {
			numbers = append(numbers, i)
		}
	}
}

// TestRawLiterals: in a stream of small frames, a writer first measures whether Huffman codes of literals
// save bytes. If not, it stops using codes. If codes would save bytes later, it uses them again.
func TestRawLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ids := func() []byte { return randomBytes(r, 900, 256) }
	words := func() []byte { return randomBytes(r, 900, 30) }
	for i := range 4 { // a code saves nothing, because ids are random
		require.Equal(t, 900, codedSize(uniform(r, 900)), i)
	}
	require.Less(t, codedSize(words()), 700)

	fastest := stef.WithCompressionLevel(stef.LevelFastest)
	t.Run("ids, then words", func(t *testing.T) {
		f := newSmallFrames(t, fastest)
		for range 100 {
			f.write(0, uniform(r, 900))
		}
		require.Equal(t, []int{0, 4}, f.restarts(), "frames 1 to 3 are measured")
		for range 100 {
			f.write(0, words())
		}
		got := f.restarts()
		require.Len(t, got, 3)
		require.InDelta(t, 110, got[2], 10)
		for range 100 {
			f.write(0, uniform(r, 900))
		}
		require.Len(t, f.restarts(), 3, "literals stay coded")
		f.write(stef.RestartDictionaries, words())
		for range 10 {
			f.write(0, uniform(r, 900))
		}
		require.Len(t, f.restarts(), 4, "after a restart of dictionaries, literals are measured again")
	})
	t.Run("words", func(t *testing.T) {
		f := newSmallFrames(t, fastest)
		for range 50 {
			f.write(0, words())
		}
		require.Equal(t, []int{0}, f.restarts())
	})
	t.Run("a large frame", func(t *testing.T) {
		f := newSmallFrames(t, fastest)
		for range 20 {
			f.write(0, uniform(r, 900))
		}
		f.write(0, randomBytes(r, codedFrame, 30))
		require.Contains(t, f.restarts(), 20, "has coded literals")
		require.Less(t, f.out.Len(), 20*1000+codedFrame*3/4)
	})
	t.Run("a few small frames", func(t *testing.T) {
		f := newSmallFrames(t, fastest)
		for i := range 30 {
			f.write(0, uniform(r, 900+i%3/2*rawFrame*3))
		}
		require.Equal(t, []int{0}, f.restarts(), "the mean size is too large")
	})
	t.Run("large frames", func(t *testing.T) {
		f := newSmallFrames(t, fastest, stef.WithWindowBytes(1<<20))
		for range 20 {
			f.write(0, uniform(r, rawFrame))
		}
		require.Equal(t, []int{0}, f.restarts())
	})
	t.Run("the automatic level", func(t *testing.T) {
		f := newSmallFrames(t, stef.WithCompressionLevel(stef.LevelAuto))
		for range 20 {
			f.write(0, uniform(r, 900))
		}
		require.Equal(t, []int{0, 4}, f.restarts())
	})
	for level := stef.LevelDefault; level <= stef.LevelBest; level++ {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			f := newSmallFrames(t, stef.WithCompressionLevel(level))
			for range 20 {
				f.write(0, ids())
			}
			require.Equal(t, []int{0}, f.restarts())
		})
	}
}

// uniform returns n random bytes.
func uniform(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

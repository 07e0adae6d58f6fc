// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/column"
	conf "github.com/otelstef/stef/stef-go/internal/config"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

type chunks [][]byte

func (c *chunks) Write(b []byte) (int, error) {
	*c = append(*c, bytes.Clone(b))
	return len(b), nil
}

func config(t testing.TB, options ...stef.WriterOption) *conf.Writer {
	t.Helper()
	c, err := frame.WriterConfig(options)
	require.NoError(t, err)
	return &c
}

// tree is a root column of bytes with a column of floats below it, so that frames contain both
// kinds of data.
type tree struct {
	column.WriteTree
	root   codec.Headers
	floats codec.Float64Encoder
}

func newTree() *tree {
	t := new(tree)
	t.Open("root", &t.root)
	t.Add("floats", &t.floats)
	t.Close()
	return t
}

// fill writes the data of a frame to the columns and returns its content.
func (t *tree) fill(records uint64, root string, floats ...float64) string {
	t.Reset()
	t.root.Buf = append(t.root.Buf, root...)
	for _, v := range floats {
		t.floats.Encode(v)
	}
	content := []byte{byte(records)}
	content, _ = t.AppendSizes(content)
	content = t.root.AppendTo(content)
	if root != "" {
		content = t.floats.AppendTo(content)
	}
	return string(content)
}

func TestWriterHeads(t *testing.T) {
	f := func(want []string, h frame.VarHeader, options ...stef.WriterOption) {
		t.Helper()
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, options...), &h)
		require.NoError(t, err)
		w.Close()
		require.Len(t, dst, 2, "every header is one Write")
		for i := range want {
			require.Equal(t, unhex(t, want[i]), dst[i])
		}
		r, err := frame.NewReader(bytes.NewReader(join(dst...)), stef.DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, h, *r.Header())
		_, _, err = r.Next()
		require.Equal(t, io.EOF, err)
	}
	data := map[string]string{"k": "vv"}
	f([]string{plainHead, "00 02 00 00"}, frame.VarHeader{})
	f([]string{plainHead, "00 09 02 01 09 01 01 6b 02 76 76"}, frame.VarHeader{Schema: []int{9}, UserData: data})
	// A zstd frame of its own: magic, a single segment of 2 bytes, and one raw
	// block, which is the last.
	f([]string{zstdHead, "00 02 0b 28b52ffd 20 02 110000 0000"}, frame.VarHeader{}, stef.WithCompression(stef.Zstd))
}

// TestWriterLargeHeader: this package and other decoders can read headers of more than 255 bytes, and
// headers that are larger than a zstd block.
func TestWriterLargeHeader(t *testing.T) {
	for _, pairs := range []int{1, 2, 600} {
		h := frame.VarHeader{UserData: map[string]string{}}
		for i := range pairs {
			h.UserData[strings.Repeat("k", i%256)+string(rune('a'+i/256))] = strings.Repeat("v", 255)
		}
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompression(stef.Zstd)), &h)
		require.NoError(t, err)
		w.Close()
		r, err := frame.NewReader(bytes.NewReader(join(dst...)), stef.DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, h, *r.Header())

		// The header has no zstd blocks that need a window, so the limit of the window does not
		// apply to it.
		limits := stef.DefaultLimits()
		limits.WindowBytes = 1 << 10
		stream := join(dst...)
		r, err = frame.NewReader(bytes.NewReader(stream), limits)
		require.NoError(t, err)
		require.Equal(t, h, *r.Header())
		for at := len(stream) - 1; at >= 0 && at >= len(stream)-200; at-- { // damage must not cause a panic
			stream[at] ^= 1
			_, _ = frame.NewReader(bytes.NewReader(stream), limits)
		}

		magic := bytes.Index(dst[1], unhex(t, "28b52ffd"))
		d, err := zstd.NewReader(nil)
		require.NoError(t, err)
		plain, err := d.DecodeAll(dst[1][magic:], nil)
		d.Close()
		require.NoError(t, err)
		want, err := h.Append(nil)
		require.NoError(t, err)
		require.Equal(t, want, plain)
	}
}

func TestWriterRefusesHeaders(t *testing.T) {
	h := frame.VarHeader{UserData: map[string]string{"k": strings.Repeat("v", stef.MaxHeaderBytes)}}
	var dst chunks
	_, err := frame.NewWriter(&dst, config(t), &h)
	require.ErrorIs(t, err, stef.ErrLimit)
	_, err = frame.NewWriter(&dst, config(t), &frame.VarHeader{Schema: []int{-1}})
	require.ErrorIs(t, err, stef.ErrSchema)
	require.Empty(t, dst, "nothing is written if the header is invalid")
}

func TestWriterFrames(t *testing.T) {
	var dst chunks
	w, err := frame.NewWriter(&dst, config(t), new(frame.VarHeader))
	require.NoError(t, err)
	f := func(want string, flags stef.FrameFlags, records uint64, root string, floats ...float64) {
		t.Helper()
		tree := newTree()
		tree.fill(records, root, floats...)
		n, err := w.Frame(flags, records, &tree.WriteTree)
		require.NoError(t, err)
		require.Equal(t, unhex(t, want), dst[len(dst)-1])
		require.Equal(t, len(dst[len(dst)-1]), n)
	}
	f("00 03 00 01 80", 0, 0, "")
	f("00 04 01 01 58 61", 0, 1, "a")
	f("05 08 02 01 67 61 62 c4 4f fe", 5, 2, "ab", 1)
	// Without compression, the writer does not set the flag RestartCompression.
	f("05 08 02 01 67 61 62 c4 4f fe", 7, 2, "ab", 1)
	f("01 0a 80 80 80 80 80 80 01 01 58 61", 1, 1<<42, "a")
}

// TestWriterAndReader writes random frames with all settings and reads them again.
func TestWriterAndReader(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	contents := texts(30, 3000)
	for range 60 {
		compression := stef.Compression(rnd.IntN(2))
		level := stef.Level(1 + rnd.IntN(4))
		options := []stef.WriterOption{
			stef.WithCompression(compression), stef.WithCompressionLevel(level), stef.WithWindowBytes(1 << (10 + rnd.IntN(8))),
		}
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, options...), new(frame.VarHeader))
		require.NoError(t, err)
		var want []part
		tree := newTree()
		for range rnd.IntN(12) {
			flags := stef.FrameFlags(rnd.IntN(8))
			var floats []float64
			for range rnd.IntN(3) * rnd.IntN(1500) {
				floats = append(floats, rnd.NormFloat64())
			}
			root := strings.Repeat(contents[rnd.IntN(len(contents))], 1+rnd.IntN(20)/19*20)[rnd.IntN(2000):]
			content := tree.fill(uint64(len(want)), root, floats...)
			before := len(dst)
			n, err := w.Frame(flags, uint64(len(want)), &tree.WriteTree)
			require.NoError(t, err)
			require.Len(t, dst, before+1, "every frame is one Write")
			require.Len(t, dst[before], n)
			switch {
			case compression == stef.None:
				flags &^= stef.RestartCompression
			case len(want) == 0:
				flags |= stef.RestartCompression // the header is a zstd frame of its own
			case level == stef.LevelFastest: // can change whether literals are coded
				flags |= stef.FrameFlags(dst[before][0]) & stef.RestartCompression
			}
			want = append(want, part{flags, content})
		}
		w.Close()
		got, err := read(join(dst...))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// blocksIn returns the number of zstd blocks of a frame that continues the compression.
func blocksIn(t *testing.T, frame []byte) (n int) {
	t.Helper()
	content := frame[1:] // skip the flags
	for range 2 {        // skip the sizes
		_, n := bitio.Uvarint(content)
		require.Positive(t, n)
		content = content[n:]
	}
	for ; len(content) > 0; n++ {
		head := int(content[0]) | int(content[1])<<8 | int(content[2])<<16
		size := head >> 3
		if head>>1&3 == 1 { // one byte, repeated
			size = 1
		}
		content = content[3+size:]
	}
	return n
}

// TestSharedBlocks: if a large column compresses to few bytes, it has its own zstd block only in
// every eighth frame. When the writer detects that the column no longer compresses well, the column
// has its own block in all frames.
func TestSharedBlocks(t *testing.T) {
	for name, options := range map[string][]stef.WriterOption{
		"continued": {stef.WithCompression(stef.Zstd)},
		"checksums": {stef.WithCompression(stef.Zstd), stef.WithChecksums()},
	} {
		t.Run(name, func(t *testing.T) {
			var dst chunks
			w, err := frame.NewWriter(&dst, config(t, options...), &frame.VarHeader{})
			require.NoError(t, err)
			defer w.Close()
			write := func() (contents []string) {
				r := rand.New(rand.NewPCG(7, 7))
				tree := newTree()
				for i := range 40 {
					root := strings.Repeat("repeated text ", 300)
					if i >= 20 {
						random := make([]byte, 4000)
						for i := range random {
							random[i] = byte(r.IntN(64))
						}
						root = string(random)
					}
					floats := make([]float64, 900)
					for i := range floats {
						floats[i] = r.Float64()
					}
					contents = append(contents, tree.fill(1, root, floats...))
					_, err := w.Frame(0, 1, &tree.WriteTree)
					require.NoError(t, err)
				}
				return contents
			}
			contents := write()
			parts, _, err := readAll(bytes.NewReader(bytes.Join(dst, nil)), stef.DefaultLimits())
			require.NoError(t, err)
			require.Len(t, parts, len(contents))
			for i := range parts {
				require.Equal(t, contents[i], string(parts[i].content))
			}
			if name == "continued" {
				frames := dst[2:] // without the headers
				own := blocksIn(t, frames[8])
				for i := 1; i < len(frames); i++ {
					// Frame 20 changes the content; the writer notices the change in frame 24.
					want := own
					if i < 24 && i%8 != 0 {
						want--
					}
					require.Equal(t, want, blocksIn(t, frames[i]), i)
				}
			}
			first := bytes.Join(dst, nil)
			dst = nil
			require.NoError(t, w.Reset(&dst))
			write()
			require.Equal(t, first, bytes.Join(dst, nil), "the next stream does not depend on this one")
		})
	}
}

// TestBlocksOfTexts: a column has its own zstd block if the column is large enough. At
// LevelFastest, a column of texts must be larger for this than a column of floats, and larger than
// at other levels.
func TestBlocksOfTexts(t *testing.T) {
	f := func(want int, level stef.Level, texts, floats int) {
		t.Helper()
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(level)), &frame.VarHeader{})
		require.NoError(t, err)
		defer w.Close()
		var root codec.Headers
		var text codec.StringEncoder
		var float codec.Float64Encoder
		var usage codec.Usage
		text.Init(&usage)
		var tree column.WriteTree
		tree.Open("root", &root)
		tree.Add("text", &text)
		tree.Add("float", &float)
		tree.Close()
		r := rand.New(rand.NewPCG(7, 7))
		for range 2 {
			tree.Reset()
			root.Buf = append(root.Buf, "root"...)
			random := make([]byte, texts)
			for i := range random {
				random[i] = 'a' + byte(r.IntN(16))
			}
			text.Encode(string(random))
			for range floats {
				float.Encode(r.Float64())
			}
			_, err := w.Frame(0, 1, &tree)
			require.NoError(t, err)
		}
		require.Equal(t, want, blocksIn(t, dst[len(dst)-1]))
	}
	// The blocks are those of the root, the texts, and one for each 4 KiB of floats.
	f(1+1+2, stef.LevelDefault, 4<<10, 900)
	f(1+0+2, stef.LevelFastest, 4<<10, 900)
	f(1+0+2, stef.LevelFastest, 7<<10, 1000) // a frame below 16 KiB
	f(1+1+1, stef.LevelFastest, 5<<10, 450)  // more than half of the frame
	f(1+1+4, stef.LevelFastest, 7<<10, 2000)
	f(1+0+4, stef.LevelFastest, 4<<10, 2000)
}

// TestLiterals: at every level, random bytes below 64 are compressed to little more than 6 bits each, by
// Huffman codes. No sequences of these bytes repeat.
func TestLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	column := make([]byte, 20_000)
	for i := range column {
		column[i] = byte(r.IntN(64))
	}
	for level := stef.LevelFastest; level <= stef.LevelBest; level++ {
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompression(stef.Zstd), stef.WithCompressionLevel(level)), &frame.VarHeader{})
		require.NoError(t, err)
		tree := newTree()
		tree.fill(1, string(column))
		_, err = w.Frame(0, 1, &tree.WriteTree)
		require.NoError(t, err)
		w.Close()
		require.Less(t, len(dst[2]), len(column)*3/4+200, "level %v", level)
	}
}

// TestWriterIsRepeatable: the bytes of a stream depend neither on earlier streams of the writer, nor on
// the use of its pooled encoder for other streams.
func TestWriterIsRepeatable(t *testing.T) {
	write := func() []byte {
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompression(stef.Zstd)), new(frame.VarHeader))
		require.NoError(t, err)
		defer w.Close()
		tree := newTree()
		for i, s := range texts(5, 20_000) {
			tree.fill(1, s, 1, 2, 3)
			_, err := w.Frame(stef.FrameFlags(i%2*2), 1, &tree.WriteTree)
			require.NoError(t, err)
		}
		return join(dst...)
	}
	first := write()
	for range 3 {
		require.Equal(t, first, write())
	}
}

// failing is a destination that fails after some bytes, with an error or by a short
// write.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	if len(b) <= f.left {
		f.left -= len(b)
		return len(b), nil
	}
	n := f.left
	f.left = 0
	return n, f.err
}

func TestWriterFailingDestination(t *testing.T) {
	full := errors.New("the disk is full")
	f := func(want, failure error) {
		t.Helper()
		for left := range 11 {
			_, err := frame.NewWriter(&failing{left, failure}, config(t), new(frame.VarHeader))
			require.ErrorIs(t, err, want, "%d bytes", left)
		}
		for left := 11; left < 15; left++ {
			w, err := frame.NewWriter(&failing{left, failure}, config(t), new(frame.VarHeader))
			require.NoError(t, err)
			tree := newTree()
			tree.fill(1, "ab")
			_, err = w.Frame(0, 1, &tree.WriteTree)
			require.ErrorIs(t, err, want)
		}
	}
	f(full, full)
	f(io.ErrShortWrite, nil)
}

func TestWriterRefusesFrames(t *testing.T) {
	for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
		var dst chunks
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompression(compression)), new(frame.VarHeader))
		require.NoError(t, err)
		tree := newTree()
		tree.root.Buf = make([]byte, stef.MaxFrameBytes)
		_, err = w.Frame(0, 1, &tree.WriteTree)
		require.ErrorIs(t, err, stef.ErrFrameTooLarge)
		require.Len(t, dst, 2)
		w.Close()
	}
}

// TestWriterWindowLimit: with WithMaxWindowBytes, a writer chooses the zstd window by the sizes of its
// frames. Each restart of the compression writes a zstd header, which states the window.
func TestWriterWindowLimit(t *testing.T) {
	f := func(want []int, sizes []int, options ...stef.WriterOption) {
		t.Helper()
		write := func(w *frame.Writer, dst *chunks) []string {
			tree := newTree()
			var contents []string
			for i, size := range sizes {
				contents = append(contents, tree.fill(1, strings.Repeat(string(rune('a'+i)), size), float64(i)))
				_, err := w.Frame(0, 1, &tree.WriteTree)
				require.NoError(t, err)
			}
			w.Close()
			return contents
		}
		var dst, again chunks
		w, err := frame.NewWriter(&dst, config(t, append(options, stef.WithCompression(stef.Zstd))...), &frame.VarHeader{})
		require.NoError(t, err)
		contents := write(w, &dst)
		r, err := frame.NewReader(bytes.NewReader(join(dst...)), stef.DefaultLimits())
		require.NoError(t, err)
		var windows []int
		for i, content := range contents {
			flags, payload, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, content, string(payload))
			window := 0
			if flags&stef.RestartCompression != 0 {
				var h zstd.Header
				at := bytes.Index(dst[2+i], []byte("\x28\xb5\x2f\xfd"))
				require.NoError(t, h.Decode(dst[2+i][at:]))
				window = int(h.WindowSize) >> 10
			}
			windows = append(windows, window)
		}
		require.Equal(t, want, windows)
		require.NoError(t, w.Reset(&again))
		write(w, &again)
		require.Equal(t, dst, again, "the same records give the same bytes")
	}
	limit := stef.WithMaxWindowBytes
	f([]int{1024, 0, 0}, []int{100, 100, 200_000})
	f([]int{16, 0, 0}, []int{100, 100, 900}, limit(1<<20))
	f([]int{32, 0, 0}, []int{10_000, 100, 900}, limit(1<<20))
	f([]int{64, 0, 128, 0, 1024}, []int{30_000, 3000, 7000, 7000, 70_000}, limit(1<<20))
	f([]int{64, 0, 0}, []int{300_000, 100, 300_000}, limit(100_000))
	f([]int{16, 0}, []int{100, 70_000}, limit(16<<10))
	f([]int{16, 32}, []int{100, 70_000}, limit(1<<20), stef.WithWindowBytes(32<<10))
	auto := stef.WithCompressionLevel(stef.LevelAuto)
	f([]int{1024, 0, 1024, 0, 0}, []int{100, 60_000, 70_000, 70_000, 100}, auto)
	f([]int{1024, 0, 0}, []int{70_000, 100, 70_000}, auto)
	f([]int{16, 0, 1024, 0}, []int{100, 900, 70_000, 100}, auto, limit(1<<20))
}

// TestWriterLevelAuto: with LevelAuto, a stream of small frames has the same bytes as with LevelFastest. A
// stream with a large first frame has the same bytes as with LevelDefault. After Reset, the next stream
// starts with LevelFastest again.
func TestWriterLevelAuto(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(size int) string { // compresses to different bytes at the two levels
		words := make([]string, 0, size/4)
		for n := 0; n < size; n += 6 {
			words = append(words, strconv.Itoa(10_000+r.IntN(3000))+" ")
		}
		return strings.Join(words, "")[:size]
	}
	small, large := []string{text(60_000), text(60_000)}, []string{text(70_000), text(100), text(60_000)}
	write := func(w *frame.Writer, contents []string) {
		tree := newTree()
		for i, content := range contents {
			tree.fill(1, content, float64(i))
			_, err := w.Frame(0, 1, &tree.WriteTree)
			require.NoError(t, err)
		}
	}
	stream := func(level stef.Level, contents []string) (dst chunks) {
		w, err := frame.NewWriter(&dst, config(t, stef.WithCompressionLevel(level), stef.WithCompression(stef.Zstd)), &frame.VarHeader{})
		require.NoError(t, err)
		write(w, contents)
		w.Close()
		return dst
	}
	require.NotEqual(t, stream(stef.LevelDefault, small), stream(stef.LevelFastest, small))
	require.NotEqual(t, stream(stef.LevelDefault, large), stream(stef.LevelFastest, large))
	require.Equal(t, stream(stef.LevelFastest, small), stream(stef.LevelAuto, small))
	require.Equal(t, stream(stef.LevelDefault, large), stream(stef.LevelAuto, large))

	var first, second chunks
	w, err := frame.NewWriter(&first, config(t, stef.WithCompressionLevel(stef.LevelAuto), stef.WithCompression(stef.Zstd)), &frame.VarHeader{})
	require.NoError(t, err)
	write(w, large)
	require.NoError(t, w.Reset(&second))
	write(w, small)
	w.Close()
	require.Equal(t, stream(stef.LevelFastest, small), second)
}

// The first frame of a stream reuses the pooled buffer of an earlier stream with frames of this size. This
// works even if append made the buffer larger than the frames.
func TestWriterBuffer(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector empties the pool
	tree := newTree()
	for _, size := range []int{1000, 2040, 30_000, 60_000, 131_060} {
		tree.fill(1, strings.Repeat("x", size))
		w, err := frame.NewWriter(io.Discard, config(t, stef.WithCompression(stef.None)), new(frame.VarHeader))
		require.NoError(t, err)
		least := uint64(math.MaxUint64)
		for range 40 { // the race detector sometimes empties the pool
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, w.Reset(io.Discard))
			_, err := w.Frame(0, 1, &tree.WriteTree)
			require.NoError(t, err)
			w.Close()
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		require.Less(t, least, uint64(size/2), size)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

// TestHeld compares the memory that readers report with the heap.
func TestHeld(t *testing.T) {
	const readers = 16
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, 200<<10)
	_, _ = random.Read(content)
	for _, window := range []int{32 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			c := newCoder(t, zstd.WithWindowSize(window))
			header := c.flushed(0, "\x00\x00")
			stream := append(unhex(t, "53 54 45 46 02 00 01"), join(header, c.flushed(0, string(content)))...)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&before)
			held, open := 0, make([]*frame.Reader, readers)
			for i := range open {
				r, err := frame.NewReader(bytes.NewReader(stream), stef.DefaultLimits())
				require.NoError(t, err)
				_, _, err = r.Next()
				require.NoError(t, err)
				held += r.Held()
				open[i] = r
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			heap := int(after.HeapAlloc) - int(before.HeapAlloc)
			for _, r := range open {
				r.Close()
			}
			t.Logf("%d readers hold %d KiB each, and say %d KiB", readers, heap/readers>>10, held/readers>>10)
			require.Less(t, heap, held*5/4)
			require.Less(t, held, 2*heap)
		})
	}
}

// TestHeldWindows: a zstd decoder keeps the memory of the largest window that its stream has had,
// and the reader counts this memory. When another stream reuses the decoder, the decoder no longer
// holds this memory.
func TestHeldWindows(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, 200<<10)
	_, _ = random.Read(content)
	const small, large = 1 << 10, 8 << 20
	whole := func(window int) []byte {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		_, err = w.Write(content) // the encoder does not know the size, so the zstd frame states its window
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	zframe := func(flags stef.FrameFlags, coded []byte, plain int) []byte {
		b := []byte{byte(flags)}
		b = binary.AppendUvarint(b, uint64(plain))
		b = binary.AppendUvarint(b, uint64(len(coded)))
		return append(b, coded...)
	}
	header := append(unhex(t, "53 54 45 46 02 00 01"), newCoder(t, zstd.WithWindowSize(small)).flushed(0, "\x00\x00")...)
	restart := stef.RestartCompression
	var closed []byte // a stream that the decoders read before, or nil
	f := func(name string, frames ...[]byte) {
		t.Run(name, func(t *testing.T) {
			stream := append(bytes.Clone(header), bytes.Join(frames, nil)...)
			const readers = 8
			var before, after runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&before)
			held, open := 0, make([]*frame.Reader, readers)
			for i := 0; i < readers && closed != nil; i++ {
				r, err := frame.NewReader(bytes.NewReader(closed), stef.DefaultLimits())
				require.NoError(t, err)
				_, _, err = r.Next()
				require.NoError(t, err)
				open[i] = r
			}
			for i := range open {
				if open[i] != nil {
					open[i].Close()
				}
			}
			for i := range open {
				r, err := frame.NewReader(bytes.NewReader(stream), stef.DefaultLimits())
				require.NoError(t, err)
				for range frames {
					_, _, err = r.Next()
					require.NoError(t, err)
				}
				held += r.Held()
				open[i] = r
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			heap := int(after.HeapAlloc) - int(before.HeapAlloc)
			for _, r := range open {
				r.Close()
			}
			t.Logf("%d readers hold %d KiB each, and say %d KiB", readers, heap/readers>>10, held/readers>>10)
			require.Less(t, heap, held*5/4)
		})
	}
	n := len(content)
	f("a smaller window after a restart", zframe(restart, whole(large), n), zframe(restart, whole(small), n))
	f("a larger window in the same frame", zframe(restart, append(whole(small), whole(large)...), 2*n))
	closed = append(bytes.Clone(header), zframe(restart, whole(large), n)...)
	f("decoders of streams that ended", zframe(restart, whole(small), n))
}

// TestHeldBuffer: a stream of small frames does not get a large buffer from the pool. Otherwise a receiver
// would count the large buffer as memory of this stream's client.
func TestHeldBuffer(t *testing.T) {
	for _, compression := range []stef.Compression{stef.None, stef.Zstd} {
		t.Run(fmt.Sprint(compression), func(t *testing.T) {
			stream := func(size int) []byte {
				content := make([]byte, size)
				if compression == stef.None {
					fixed := []byte("STEF\x02\x00\x00")
					data := binary.AppendUvarint([]byte{0}, uint64(size))
					return append(append(fixed, 0, 2, 0, 0), append(data, content...)...)
				}
				c := newCoder(t)
				header := c.flushed(0, "\x00\x00")
				return append(unhex(t, "53 54 45 46 02 00 01"), join(header, c.flushed(0, string(content)))...)
			}
			held := func(size int) int {
				r, err := frame.NewReader(bytes.NewReader(stream(size)), stef.DefaultLimits())
				require.NoError(t, err)
				defer r.Close()
				_, payload, err := r.Next()
				require.NoError(t, err)
				require.Len(t, payload, size)
				return r.Held()
			}
			alone := held(5000)
			for range 8 { // the race detector and the garbage collector may empty the pool
				require.GreaterOrEqual(t, held(4<<20), 4<<20)
				require.Less(t, held(5000), alone+16<<10)
			}
		})
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package frame_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/internal/frame"
)

// TestHeld compares what readers say they hold with the heap.
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

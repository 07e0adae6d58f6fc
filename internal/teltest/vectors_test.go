// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package teltest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The peak includes memory that is garbage at the end.
func TestWatchHeap(t *testing.T) {
	peak := WatchHeap(t)
	require.Less(t, peak(), uint64(4<<20))
	held := make([]byte, 8<<20)
	require.GreaterOrEqual(t, peak(), uint64(8<<20))
	runtime.KeepAlive(held)
	runtime.GC()
	require.GreaterOrEqual(t, peak(), uint64(8<<20))
}

func TestFirstDifference(t *testing.T) {
	require.Equal(t, "want\nb\nhave\nc", FirstDifference([]byte("a\nb\n"), []byte("a\nc\n")))
	require.Equal(t, "want\nb\nhave\n", FirstDifference([]byte("a\nb"), []byte("a")))
	require.Equal(t, "more records than wanted", FirstDifference([]byte("a"), []byte("a\nb")))
}

func TestVectors(t *testing.T) {
	for _, v := range Vectors(t, "edge") {
		require.NotEmpty(t, v.Stream(t), v.Name)
		if v.Records > 0 && v.ReferenceError == "" {
			require.NotEmpty(t, v.JSON(t), v.Name)
		}
	}
}

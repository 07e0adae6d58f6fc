// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The table distinguishes traces even if a sender chooses trace ids with equal hashes.
func TestTraceTable(t *testing.T) {
	var table TraceTable
	for range 3 {
		counts := map[pcommon.TraceID]int{}
		r := rand.New(rand.NewPCG(1, 2))
		for n := range ChunkSpans {
			x := byte(r.IntN(200))
			id := pcommon.TraceID{0: x, 8: x, 15: byte(n % 2)} // the two halves have the same XOR, whatever x is
			counts[id]++
			require.Equal(t, id, table.Known[table.Find(id)].id)
		}
		require.Len(t, table.Known, len(counts))
		for _, info := range table.Known {
			require.Equal(t, counts[info.id], int(info.Spans))
		}
		table.Reset()
	}
}

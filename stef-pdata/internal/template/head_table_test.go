// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeadTable compares a headTable with an array. Both hold the last two shapes for each beginning
// of a text. The test resets the table several times.
func TestHeadTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var table headTable
	for range 3 {
		var want [headCount][2]*textShape
		for range 10 * headCount {
			head := rnd.Uint32N(headCount)
			shape := new(textShape)
			table.put(head, shape)
			want[head] = [2]*textShape{shape, want[head][0]}
		}
		for head, shapes := range want {
			x := table.at(uint32(head))
			require.Same(t, shapes[0], x[0])
			require.Same(t, shapes[1], x[1])
		}
		require.Len(t, table.shapes, headCount, "a pair for each beginning that occurred")
		table.reset()
		require.Empty(t, table.at(0))
	}
}

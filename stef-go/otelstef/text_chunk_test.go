// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts that share an allocation, a chunk, do not overlap. Chunks are small, so a program that keeps one
// text keeps only little memory of other texts.
func TestTextChunk(t *testing.T) {
	var c textChunk
	r := rand.New(rand.NewPCG(1, 2))
	var texts, want []string
	b := []byte{}
	for i := range 3000 {
		b = append(b[:0], strings.Repeat(string(rune('a'+i%26)), r.IntN(1<<r.IntN(13)))...)
		texts, want = append(texts, c.text(b)), append(want, string(b))
		require.LessOrEqual(t, c.chunk.Cap(), chunkTexts)
	}
	require.Equal(t, want, texts)
	b = b[:min(len(b), 40)]
	require.Less(t, testing.AllocsPerRun(1000, func() { c.text(b) }), 0.1)
}

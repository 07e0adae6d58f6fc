// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The placeholders of a large template are counted once, not for each record that has the template.
// This also holds if templates alternate.
func TestPlaceholdersAreCountedOnce(t *testing.T) {
	var p Placeholders
	require.Equal(t, 2, p.Count("a\x00b\x00"))
	require.Nil(t, p.counts)
	text := strings.Repeat("\x00", 10*rememberedTemplate)
	first, second := text, text[1:]
	for TextSlot(second, placeholderBits) == TextSlot(first, placeholderBits) {
		second = second[1:]
	}
	for _, template := range []string{first, second} {
		require.Equal(t, len(template), p.Count(template))
	}
	for i := range p.counts {
		p.counts[i].n = 7
	}
	for range 3 {
		require.Equal(t, 7, p.Count(first))
		require.Equal(t, 7, p.Count(second))
	}
	shorter := first[:rememberedTemplate] // begins at the address of first
	require.Equal(t, len(shorter), p.Count(shorter))
	p.Reset()
	require.Equal(t, len(second), p.Count(second))
}

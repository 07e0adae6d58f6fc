// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/otelstef/stef/stef-go/steftest"
)

// FuzzSplice joins frames of two streams with the same root and settings, in any order. No writer writes
// such streams. The generated reader and package dynamic must still return the same records.
func FuzzSplice(f *testing.F) {
	roots := []*steftest.Root{metricsRoot(f), spansRoot(f), logsRoot(f)}
	names := slices.Sorted(maps.Keys(settings))
	f.Add(uint8(0), uint8(1), uint8(1), uint8(2), []byte{0, 1, 2})
	f.Add(uint8(1), uint8(1), uint8(3), uint8(4), []byte{0, 129, 1, 0, 130, 2})
	f.Add(uint8(2), uint8(3), uint8(5), uint8(6), []byte{128, 129, 0, 1, 1})
	f.Add(uint8(0), uint8(4), uint8(7), uint8(8), []byte{0, 0, 0, 128, 2})
	f.Fuzz(func(t *testing.T, kind, form, a, b uint8, picks []byte) {
		root, options := roots[int(kind)%len(roots)], settings[names[int(form)%len(names)]]
		const frames = 3
		parts := func(seed uint8) (cut [][]byte) {
			s := writeStream(t, root, uint64(seed), frames, options...)
			from := 0
			for _, at := range slices.Sorted(maps.Keys(s.borders)) {
				cut = append(cut, s.bytes[from:at])
				from = at
			}
			return cut
		}
		x, y := parts(a), parts(b)
		stream := slices.Clone(x[0])
		for _, pick := range picks[:min(len(picks), 12)] {
			from := x
			if pick >= 128 {
				from = y
			}
			stream = append(stream, from[1+int(pick)%frames]...)
		}
		readBothWays(t, root, stream)
	})
}

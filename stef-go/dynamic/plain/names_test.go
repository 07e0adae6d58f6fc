// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package plain_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// A stream learns from the spans of each name what the next spans are like: its habits (see nameHabits).
// TestForgottenNames writes more names than a stream keeps habits for. The writer and both readers must
// discard all habits at the same record, whatever their caches contain. Then the readers return all
// parents and times unchanged.
func TestForgottenNames(t *testing.T) {
	const kept = 4096
	id := func(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	f := func(name string, number func(i int) int) {
		t.Run(name, func(t *testing.T) {
			const spans = 3 * kept
			parent := func(i int) []byte { return id(max(i-i%3, 1)) }
			var stream bytes.Buffer
			w, err := otelstef.NewSpansWriter(&stream, otelstef.CompactSpans())
			require.NoError(t, err)
			seen := map[int]bool{}
			for i := range spans {
				n := number(i)
				seen[n] = true
				s := w.Record().Span()
				s.SetName(fmt.Sprintf("name-%d", n))
				s.SetTraceID(append(id(1), id(2)...))
				s.SetSpanID(id(i + 1))
				s.SetParentSpanID(parent(i))
				s.SetStartTimeUnixNano(uint64(1000 + i))
				s.SetEndTimeUnixNano(uint64(1010 + i))
				require.NoError(t, w.Write())
			}
			require.NoError(t, w.Close())
			require.Greater(t, len(seen), kept)

			r, err := otelstef.NewSpansReader(bytes.NewReader(stream.Bytes()))
			require.NoError(t, err)
			for i := range spans {
				require.True(t, r.Next(), "span %d: %v", i, r.Err())
				s := r.Record().Span()
				require.Equal(t, id(i+1), s.SpanID(), "span %d", i)
				require.Equal(t, parent(i), s.ParentSpanID(), "span %d", i)
				require.Equal(t, uint64(1000+i), s.StartTimeUnixNano(), "span %d", i)
			}
			n, err := requireSame(t, fastOf("Spans"), stream.Bytes())
			require.NoError(t, err)
			require.EqualValues(t, spans, n)
		})
	}
	// After the habits are discarded, the earlier names are used again, in reverse order.
	f("back and forth", func(i int) int {
		if i <= kept {
			return i
		}
		return 2*kept - i%(2*kept)
	})
	r := rand.New(rand.NewPCG(1, 1))
	f("at random", func(int) int { return r.IntN(kept + kept/4) })
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// TestCompactKeepsOddIDs writes spans in the compact form. Some of their ids are missing, at random. The
// reader must return all ids unchanged.
func TestCompactKeepsOddIDs(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		id := func(n int) []byte {
			b := make([]byte, n*r.IntN(2))
			if len(b) > 0 {
				b[n-1] = byte(1 + r.IntN(2))
			}
			return b
		}
		ids := func(s *otelstef.Span) string {
			return fmt.Sprintf("%x/%x/%x", s.TraceID(), s.SpanID(), s.ParentSpanID())
		}
		var buf bytes.Buffer
		w, err := otelstef.NewSpansWriter(&buf, otelstef.CompactSpans())
		require.NoError(t, err)
		var want, got []string
		for range 1 + r.IntN(6) {
			s := w.Record().Span()
			s.SetTraceID(id(16))
			s.SetSpanID(id(8))
			s.SetParentSpanID(id(8))
			want = append(want, ids(s))
			require.NoError(t, w.Write())
		}
		require.NoError(t, w.Close())
		reader, err := otelstef.NewSpansReader(&buf)
		require.NoError(t, err)
		for reader.Next() {
			got = append(got, ids(reader.Record().Span()))
		}
		require.NoError(t, reader.Err())
		require.Equal(t, want, got, "seed %d", seed)
	}
}

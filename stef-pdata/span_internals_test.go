// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// Spans are ordered by name if traces have few spans, then by the starts of their
// traces, by trace, and by their own starts.
func TestSpanChunkSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	c := spanChunk{names: &intern.Names{}}
	var lists intern.KeySorter
	for range 200 {
		n, traces, times := 1+r.IntN(order.ChunkSpans), 1+r.IntN(300), uint64(1)<<r.IntN(64)
		starts := map[pcommon.TraceID]uint64{}
		for i := range n {
			span := ptrace.NewSpan()
			span.SetName(fmt.Sprint("name", r.IntN(5)))
			span.SetTraceID(pcommon.TraceID{1: byte(r.IntN(traces))})
			span.SetStartTimestamp(pcommon.Timestamp(r.Uint64N(times)))
			start := uint64(span.StartTimestamp())
			if old, ok := starts[span.TraceID()]; ok {
				start = min(start, old)
			}
			starts[span.TraceID()] = start
			c.add(&lists, span, 0, i)
		}
		byName := n < sparse*len(starts)
		keys := c.sort()
		require.Len(t, keys, n)
		done := map[uint32]bool{}
		for i := 1; i < n; i++ {
			a, b := &c.items[keys[i-1].Item], &c.items[keys[i].Item]
			order := cmp.Compare(starts[a.TraceID()], starts[b.TraceID()])
			if a.trace == b.trace {
				order = cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.index, b.index))
			}
			if byName {
				order = cmp.Or(cmp.Compare(a.name, b.name), order)
			} else if a.trace != b.trace {
				require.False(t, done[b.trace], "the spans of a trace are adjacent")
				done[a.trace] = true
			}
			require.LessOrEqual(t, order, 0)
		}
		c.reset()
	}
}

// Pools do not grow over the life of an encoder, and emptying them does not change
// the output.
func TestPoolsOfTracesAreBounded(t *testing.T) {
	for _, mode := range []Mode{Sorted, Ordered} {
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out)
		require.NoError(t, err)
		e := NewTracesEncoder(w, WithMode(mode))
		n := int64(0)
		for range 2*intern.MaxContainers/1000 + 2 {
			td := ptrace.NewTraces()
			for range 1000 {
				n++
				rs := td.ResourceSpans().AppendEmpty()
				rs.Resource().Attributes().PutInt("n", n)
				span := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
				span.SetName(fmt.Sprint(n))
				span.Attributes().PutInt(fmt.Sprint("n", n), n)
			}
			require.NoError(t, e.Encode(td))
			require.LessOrEqual(t, e.resources.Size(), intern.MaxContainers+1000)
			require.LessOrEqual(t, e.write.Keys.Keys(), intern.MaxKeys+1000)
		}
		require.NoError(t, w.Close())
		r, err := otelstef.NewSpansReader(&out)
		require.NoError(t, err)
		seen := map[int64]bool{}
		for r.Next() {
			rec := r.Record()
			id := rec.Resource().Attributes().Value(0).Int64()
			seen[id] = true
			require.Equal(t, id, rec.Span().Attributes().Value(0).Int64())
			require.Equal(t, fmt.Sprint(id), rec.Span().Name())
		}
		require.NoError(t, r.Err())
		require.Len(t, seen, int(n))
	}
}

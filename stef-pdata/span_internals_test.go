// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/intern"
	"github.com/otelstef/stef/stef-pdata/internal/order"
)

// Spans are sorted by the first span of their trace, so that traces stay together, and then by their
// own start. If traces have few spans, spans are first sorted by name. Spans with equal starts keep
// their order.
func TestSpanChunkSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	c := spanChunk{names: &intern.Names{}}
	var lists intern.KeySorter
	for range 400 {
		n, traces, times := 1+r.IntN(order.ChunkSpans), 1+r.IntN(1+r.IntN(300)), uint64(1)<<r.IntN(64)
		type span struct {
			start uint64
			index uint32
		}
		less := func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.index, b.index)) }
		first := map[pcommon.TraceID]span{} // the first span of each trace
		for i := range n {
			s := ptrace.NewSpan()
			s.SetName(fmt.Sprint("name", r.IntN(5)))
			s.SetTraceID(pcommon.TraceID{1: byte(r.IntN(traces))})
			s.SetStartTimestamp(pcommon.Timestamp(r.Uint64N(times)))
			x := span{uint64(s.StartTimestamp()), uint32(i)}
			if old, ok := first[s.TraceID()]; !ok || less(x, old) < 0 {
				first[s.TraceID()] = x
			}
			c.add(&lists, s, 0, i)
		}
		var want []uint32
		for i := range n {
			want = append(want, uint32(i))
		}
		slices.SortFunc(want, func(i, j uint32) int {
			a, b := &c.items[i], &c.items[j]
			byTrace := cmp.Or(less(first[a.TraceID()], first[b.TraceID()]), less(span{a.start, i}, span{b.start, j}))
			if n < sparse*len(first) {
				return cmp.Or(cmp.Compare(a.name, b.name), byTrace)
			}
			return byTrace
		})
		var got []uint32
		for _, key := range c.sort() {
			got = append(got, key.Item)
		}
		require.Equal(t, want, got)
		c.reset()
	}
}

// The pools of an encoder are bounded. When a full pool is emptied, all spans are still written
// correctly.
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

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
	"go.opentelemetry.io/collector/pdata/xpdata"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Places are those of a stable sort, whatever came before.
func TestKeySorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s keySorter
	for n := range 20_000 {
		m := pcommon.NewMap()
		var b xpdata.MapBuilder
		var keys, values []string
		size := r.IntN(6)
		if n%1000 == 0 {
			size = 62 + r.IntN(5)
		}
		for range size {
			key := fmt.Sprint("key", r.IntN(8))
			if size > 8 || n%50 == 0 {
				key = fmt.Sprint("k", r.IntN(20_000))
			}
			value := fmt.Sprint("value", r.IntN(8))
			keys, values = append(keys, key), append(values, value)
			b.AppendEmpty(key).SetStr(value)
		}
		b.UnsafeIntoMap(m)
		if len(keys) == 0 {
			continue
		}
		var found sortedPairs
		store := pairStore{make([]stef.Text, 1), make([]uint8, 1)}
		s.find(&found, m, &store)
		want := slices.Sorted(slices.Values(keys))
		if distinct := len(slices.Compact(slices.Clone(want))) == len(want); !distinct || len(keys) > maxSetKeys {
			require.Nil(t, found.set)
			require.Len(t, store.values, 1)
			continue
		}
		for i, key := range want {
			require.Equal(t, key, found.set.keys[i].Text)
		}
		require.Equal(t, uint32(1), found.from)
		require.Len(t, store.values, 1+len(keys))
		for i, key := range keys {
			place := store.places[1+i]
			require.Equal(t, key, found.set.keys[place].Text)
			require.Equal(t, values[i], store.values[1+place].Text)
		}
		require.LessOrEqual(t, s.Keys(), maxKeys+maxSetKeys)
	}
}

// The table tells traces apart even if their ids are made to collide.
func TestTraceTable(t *testing.T) {
	var table traceTable
	for range 3 {
		counts := map[pcommon.TraceID]int{}
		r := rand.New(rand.NewPCG(1, 2))
		for n := range chunkSpans {
			x := byte(r.IntN(200))
			id := pcommon.TraceID{0: x, 8: x, 15: byte(n % 2)} // the halves cancel out
			counts[id]++
			require.Equal(t, id, table.known[table.find(id)].id)
		}
		require.Len(t, table.known, len(counts))
		for _, info := range table.known {
			require.Equal(t, counts[info.id], int(info.spans))
		}
		table.reset()
	}
}

// Spans are in the order of their names, if they have few a trace, of the starts of
// their traces, of their traces, and of their own starts.
func TestSpanChunkSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	c := spanChunk{names: &names{}}
	var lists keySorter
	for range 200 {
		n, traces, times := 1+r.IntN(chunkSpans), 1+r.IntN(300), uint64(1)<<r.IntN(64)
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
			a, b := &c.items[keys[i-1].entry], &c.items[keys[i].entry]
			order := cmp.Compare(starts[a.TraceID()], starts[b.TraceID()])
			if a.trace == b.trace {
				order = cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.index, b.index))
			}
			if byName {
				order = cmp.Or(cmp.Compare(a.name, b.name), order)
			} else if a.trace != b.trace {
				require.False(t, done[b.trace], "a trace is in one piece")
				done[a.trace] = true
			}
			require.LessOrEqual(t, order, 0)
		}
		c.reset()
	}
}

// Names have one number each, as long as there are any left.
func TestNames(t *testing.T) {
	var n names
	seen := map[uint32]string{}
	for i := range maxNames + 100 {
		name := fmt.Sprint("name", i)
		id := n.id(name)
		require.Equal(t, id, n.id(name))
		require.LessOrEqual(t, id, uint32(maxNames))
		if i < maxNames {
			require.Empty(t, seen[id])
			seen[id] = name
		}
	}
	require.Equal(t, uint32(1), n.id("name0"))
}

// Pools do not grow with the life of an encoder, and emptying them changes
// nothing that is written.
func TestPoolsOfTracesAreBounded(t *testing.T) {
	for _, mode := range []Mode{Sorted, Ordered} {
		var out bytes.Buffer
		w, err := otelstef.NewSpansWriter(&out)
		require.NoError(t, err)
		e := NewTracesEncoder(w, WithMode(mode))
		n := int64(0)
		for range 2*maxContainers/1000 + 2 {
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
			require.LessOrEqual(t, e.resources.size(), maxContainers+1000)
			require.LessOrEqual(t, e.keys.Keys(), maxKeys+1000)
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

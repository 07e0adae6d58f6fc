// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelstef/stef/stef-go/codec"
	"github.com/otelstef/stef/stef-go/idl"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/schema"

	"github.com/otelstef/stef/internal/teltest"
)

// spanKeptOf reads wire schemas as package schema does, whatever is cut off.
func TestSpanKeptOf(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(teltest.Root(t), "stef-spec", "otel.stef"))
	require.NoError(t, err)
	parsed, err := idl.Parse("otel.stef", src)
	require.NoError(t, err)
	root := parsed.Root("Spans")
	full, err := schema.Keep(root, otelstef.SpansWireSchema())
	require.NoError(t, err)
	named := map[string]*schema.Struct{}
	var structs []*schema.Struct
	for s := range full {
		named[s.Name] = s
		structs = append(structs, s)
	}
	slices.SortFunc(structs, func(a, b *schema.Struct) int { return cmp.Compare(a.Name, b.Name) })
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		kept := schema.Kept{}
		for _, s := range structs {
			kept[s] = full[s]
			if r.IntN(3) == 0 {
				kept[s] = r.IntN(full[s] + 1)
			}
		}
		kept[root] = max(kept[root], 1)
		wire := kept.Wire(root)
		again, err := schema.Keep(root, wire)
		require.NoError(t, err)
		fields := again[named["Span"]]
		require.Equal(t, spanKept{
			entityRefs: again[named["Resource"]] >= 4, rawIDs: fields > 14, droppedEvents: fields >= 15, droppedLinks: fields >= 16,
		}, spanKeptOf(wire), "%v", wire)
	}
	require.Equal(t, spanKept{true, true, true, true}, spanKeptOf(otelstef.SpansWireSchema()))
	require.Equal(t, spanKept{}, spanKeptOf(otelstef.SpansBaseSchema()))
}

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
		store := pairStore{make([]codec.Text, 1), make([]uint8, 1)}
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
		starts := map[pcommon.TraceID]uint64{}
		counts := map[pcommon.TraceID]int{}
		r := rand.New(rand.NewPCG(1, 2))
		for n := range chunkSpans {
			x := byte(r.IntN(200))
			id := pcommon.TraceID{0: x, 8: x, 15: byte(n % 2)} // the halves cancel out
			start := r.Uint64N(50)
			if old, ok := starts[id]; ok {
				starts[id] = min(old, start)
			} else {
				starts[id] = start
			}
			counts[id]++
			require.Equal(t, id, table.known[table.find(id, start)].id)
		}
		require.Len(t, table.known, len(starts))
		last := traceInfo{}
		for _, n := range table.sort() {
			info := table.known[n]
			require.Equal(t, starts[info.id], info.start)
			require.Equal(t, counts[info.id], info.spans)
			require.GreaterOrEqual(t, info.start, last.start)
			last = info
		}
		table.reset()
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

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/xpdata"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/values"
)

// Sets are different if any byte of a key differs, however long the key is.
func TestSetsDifferInKeys(t *testing.T) {
	for n := range 40 {
		var p Sets
		var c values.Copier
		key := strings.Repeat("k", n)
		m := pcommon.NewMap()
		m.PutStr(key, "v")
		id, err := p.Find(&c, m, 0)
		require.NoError(t, err)
		i, _, _ := p.differ(id, m)
		require.Equal(t, -1, i)
		others := []string{key + "k"}
		for at := range n {
			others = append(others, key[:at]+"x"+key[at+1:])
		}
		for _, other := range others {
			m := pcommon.NewMap()
			m.PutStr(other, "v")
			i, k, _ := p.differ(id, m)
			require.Zero(t, i)
			require.Equal(t, other, k)
		}
	}
}

// TestSetsChange: after Change, a record has the attributes of the second set. This also holds
// if the same change recurs: then only the values that differ are written.
func TestSetsChange(t *testing.T) {
	var p Sets
	var c values.Copier
	r := rand.New(rand.NewPCG(7, 8))
	var ids []uint32
	var want []map[string]any
	for i := range 24 {
		m := pcommon.NewMap()
		for k := range []int{3, 5, 70}[i%3] { // for 70 attributes, the set does not store which of them differ
			m.PutInt(fmt.Sprintf("key%02d", k), int64(r.IntN(2)))
		}
		m.PutStr("text", someText(r))
		id, err := p.Find(&c, m, 0)
		require.NoError(t, err)
		ids, want = append(ids, id), append(want, m.AsRaw())
	}
	dst := otelstef.NewAttributes()
	last := uint32(0)
	for range 2000 {
		n := r.IntN(len(ids))
		p.Change(dst, last, ids[n])
		last = ids[n]
		got := map[string]any{}
		for i := range dst.Len() {
			if got[dst.Key(i)] = dst.Value(i).Int64(); dst.Key(i) == "text" {
				got["text"] = dst.Value(i).Str()
			}
		}
		require.Equal(t, want[n], got)
	}
	remembered := 0
	for i := range p.entries {
		if p.entries[i].before != 0 {
			remembered++
		}
	}
	require.Positive(t, remembered)
}

// TestRefusedSetsTakeNoMemory: the next set reuses the memory of a set that exceeds a limit.
func TestRefusedSetsTakeNoMemory(t *testing.T) {
	var p Sets
	var c values.Copier
	good := pcommon.NewMap()
	good.PutInt("key", 1)
	_, err := p.Find(&c, good, 0)
	require.NoError(t, err)
	deep := pcommon.NewMap()
	for v, n := deep.PutEmptySlice("key"), 0; n < 2000; n++ {
		v = v.AppendEmpty().SetEmptySlice()
	}
	free := len(p.free)
	for range 100 {
		_, err = p.Find(&c, deep, 0)
		require.Error(t, err)
	}
	require.Equal(t, free, len(p.free))
	require.Equal(t, 1, p.Size())
}

// TestRankOfNewSets: sets are ranked by value. If most sets of the batches so far were new, sets
// are ranked by arrival instead.
func TestRankOfNewSets(t *testing.T) {
	var p Sets
	var c values.Copier
	n := 0
	find := func(value int) {
		m := pcommon.NewMap()
		m.PutInt("key", int64(value))
		_, err := p.Find(&c, m, 0)
		require.NoError(t, err)
	}
	batch := func() {
		for range 2000 {
			n++
			find(-n) // the values descend
		}
		p.RankByValue()
		require.EqualValues(t, n, p.Top)
	}
	for range 4 {
		batch()
		require.EqualValues(t, n, p.Ranks[1], "by value")
	}
	for range 2 {
		batch()
		require.EqualValues(t, 1, p.Ranks[1], "by arrival")
		require.EqualValues(t, n, p.Ranks[n])
	}
	p.Reset()
	n = 0
	for range 6 {
		for range 2000 { // half of the lookups find a set
			n++
			find(-n)
			find(-n)
		}
		p.RankByValue()
		require.EqualValues(t, n, p.Ranks[1], "by value")
	}
}

// The keys have the order of a stable sort, regardless of earlier maps.
func TestKeySorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s KeySorter
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
		var found SortedPairs
		store := PairStore{make([]stef.Text, 1), make([]otelstef.AnyValueType, 1), make([]uint8, 1)}
		s.Find(&found, m, &store, uint32(r.IntN(2)))
		want := slices.Sorted(slices.Values(keys))
		if distinct := len(slices.Compact(slices.Clone(want))) == len(want); !distinct || len(keys) > MaxSetKeys {
			require.Nil(t, found.Set)
			require.Len(t, store.Values, 1)
			continue
		}
		for i, key := range want {
			require.Equal(t, key, found.Set.Keys[i].Text)
		}
		require.Equal(t, uint32(1), found.From)
		require.Len(t, store.Values, 1+len(keys))
		for i, key := range keys {
			place := store.Places[1+i]
			require.Equal(t, key, found.Set.Keys[place].Text)
			require.Equal(t, values[i], store.Values[1+place].Text)
		}
		require.LessOrEqual(t, s.Keys(), MaxKeys+MaxSetKeys)
	}
}

// TestKeySorterForgets: a sorter with too many keys drops its numbers of keys. Stored sets contain
// the dropped numbers. The sorter must not find such a set for other keys, to which it has assigned
// the same numbers since then.
func TestKeySorterForgets(t *testing.T) {
	var s KeySorter
	find := func(context uint32, keys ...string) {
		t.Helper()
		m := pcommon.NewMap()
		for _, key := range keys {
			m.PutStr(key, "value of "+key)
		}
		var found SortedPairs
		var store PairStore
		s.Find(&found, m, &store, context)
		for i, key := range slices.Sorted(slices.Values(keys)) {
			require.Equal(t, key, found.Set.Keys[i].Text)
			require.Equal(t, "value of "+key, store.Values[i].Text)
		}
	}
	for range 3 {
		find(1, "a", "b", "c")
		for i := 0; s.Keys() <= MaxKeys; i++ {
			find(2, fmt.Sprint("key", i))
		}
		find(1, "c", "a", "b")
		find(1, "b", "c", "a")
		for i := 0; s.Keys() <= MaxKeys; i++ {
			find(2, fmt.Sprint("key", i))
		}
		find(1, "x", "y", "z")
	}
}

// A sorter first guesses that a map has the keys of an earlier map in the same order. The result
// depends neither on this guess, nor on growth and restarts of the dictionaries.
func TestKeySorterGuesses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	keys, values := newDictionary(), newDictionary()
	var s KeySorter
	s.Init(keys.view(), values.view())
	guessed := 0
	for n := range 20_000 {
		names := []string{"k", "key", "key10", "key.of.more.than.16", "key.of.more.then.16", "other"}[:1+r.IntN(6)]
		if n/1000%2 == 1 { // in the other rounds, most maps have the same order
			r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		}
		if r.IntN(10) == 0 {
			names[r.IntN(len(names))] += someText(r)
		}
		m := pcommon.NewMap()
		for _, name := range names {
			switch r.IntN(5) {
			case 0:
				m.PutInt(name, r.Int64())
			case 1:
				m.PutEmptySlice(name)
			default:
				m.PutStr(name, someText(r))
			}
		}
		var found, want SortedPairs
		var store, plain PairStore
		if set := s.last[7][0]; set != nil {
			score, pause, next := set.order.score, set.order.pause, set.order.next
			if s.findInOrder(new(SortedPairs), set, m, new(PairStore)) {
				guessed++
			}
			set.order.score, set.order.pause, set.order.next = score, pause, next
		}
		s.Find(&found, m, &store, 7)
		fresh := KeySorter{}
		fresh.Init(keys.view(), values.view())
		fresh.findAny(&want, m, &plain, new(*KeySet))
		require.Equal(t, plain, store)
		require.Equal(t, want.Set.Keys, found.Set.Keys)
		require.Equal(t, want.Set.Bytes, found.Set.Bytes)
		found.Set, want.Set = nil, nil
		require.Equal(t, want, found)
		for k, v := range m.All() {
			if r.IntN(2) == 0 {
				keys.column.Encode(k)
				values.column.Encode(v.Str())
			}
		}
		if r.IntN(500) == 0 {
			keys.dict.Restart()
		}
		if r.IntN(500) == 0 {
			values.dict.Restart()
		}
	}
	require.Greater(t, guessed, 100)
}

// Different names have different numbers, as long as numbers are available.
func TestNames(t *testing.T) {
	var n Names
	seen := map[uint32]string{}
	for i := range MaxNames + 100 {
		name := fmt.Sprint("name", i)
		id := n.ID(name)
		require.Equal(t, id, n.ID(name))
		require.LessOrEqual(t, id, uint32(MaxNames))
		if i < MaxNames {
			require.Empty(t, seen[id])
			seen[id] = name
		}
	}
	require.Equal(t, uint32(1), n.ID("name0"))
}

// Names with the same length and the same first and last bytes share an entry in the cache of recent
// names, but have different numbers. Reset empties this cache, too.
func TestNamesOfOnePlace(t *testing.T) {
	for _, length := range []int{0, 1, 3} {
		var n Names
		names := []string{
			"GET /users/" + strings.Repeat("1", length) + "/items/of/user",
			"GET /users/" + strings.Repeat("2", length) + "/items/of/user",
		}
		for range 3 {
			for i, name := range names {
				want := uint32(1)
				if length > 0 {
					want += uint32(i)
				}
				require.Equal(t, want, n.ID(name))
				require.Equal(t, want, n.ID(name))
			}
		}
		n.Reset()
		require.Equal(t, uint32(1), n.ID(names[1]))
		require.Equal(t, uint32(1), n.ID(names[1]))
	}
}

// The total length of names is bounded. Beyond the bound, all new names have the same number. The
// total length of the keys of a sorter is also bounded. Beyond the bound, the sorter drops its keys.
func TestLongNames(t *testing.T) {
	var n Names
	for i := range 1000 {
		n.ID(fmt.Sprint(strings.Repeat("n", 64<<10), i))
	}
	require.Less(t, n.texts.TextBytes(), maxNameBytes+128<<10)
	require.Equal(t, uint32(2), n.ID(strings.Repeat("n", 64<<10)+"1"))
	require.Equal(t, uint32(MaxNames), n.ID("new"))

	var s KeySorter
	for i := range 1000 {
		m := pcommon.NewMap()
		m.PutStr(fmt.Sprint(strings.Repeat("k", 64<<10), i), "")
		var found SortedPairs
		s.Find(&found, m, new(PairStore), 0)
		require.True(t, found.Set == nil, "only short keys are held")
		require.Less(t, s.KeyBytes(), maxKeyBytes+128<<10)
	}
}

// If Find rejects a set, its texts stay in the pool. HeldBytes must count these texts.
func TestTextsOfRejectedSets(t *testing.T) {
	for _, reject := range []func(m pcommon.Map){
		func(m pcommon.Map) { // too deep
			v := m.PutEmpty("deep")
			for range 300 {
				v = v.SetEmptySlice().AppendEmpty()
			}
		},
		func(m pcommon.Map) { m.PutStr("long", strings.Repeat("x", 8<<20)) }, // too large
	} {
		var p Sets
		var c values.Copier
		n := 0
		for ; !p.Full(MaxSets); n++ {
			m := pcommon.NewMap()
			m.PutStr("id", fmt.Sprint(strings.Repeat("i", 128<<10), n))
			reject(m)
			_, err := p.Find(&c, m, 0)
			require.ErrorIs(t, err, stef.ErrLimit)
			require.LessOrEqual(t, n, MaxHeldBytes/(128<<10))
		}
		held := p.texts.TextBytes()
		require.Greater(t, held, MaxHeldBytes*3/4)
		require.Less(t, held, MaxHeldBytes*5/4)
	}
}

// Resources, scopes, metrics and sets of attributes that differ in any part have different hashes.
// If many of them had the same hash, a lookup would have to compare all of them.
func TestHashesCoverEverything(t *testing.T) {
	const n = 1000
	// nested sets v to list number i of n different lists. All lists have the same elements in the
	// same order, but at different depths.
	nested := func(v pcommon.Value, i int) {
		left := 27
		for _, digit := range []int{i / 100, i / 10 % 10, i % 10} {
			list := v.SetEmptySlice()
			for range digit {
				list.AppendEmpty().SetStr("x")
			}
			left -= digit
			v = list.AppendEmpty()
		}
		list := v.SetEmptySlice()
		for range left {
			list.AppendEmpty().SetStr("x")
		}
	}
	attributes := map[string]func(m pcommon.Map, i int){
		"text":   func(m pcommon.Map, i int) { m.PutStr("k", fmt.Sprint(i)) },
		"nested": func(m pcommon.Map, i int) { nested(m.PutEmpty("k"), i) },
		"bytes": func(m pcommon.Map, i int) {
			m.PutEmptySlice("k").AppendEmpty().SetEmptyBytes().FromRaw(make([]byte, i))
		},
		"equal keys": func(m pcommon.Map, i int) {
			var b xpdata.MapBuilder
			for bit := range 10 {
				b.AppendEmpty("k").SetInt(int64(i >> bit & 1))
			}
			b.UnsafeIntoMap(m)
		},
	}
	c := values.Copier{ByKey: true}
	resources := map[string]func(r pcommon.Resource, i int) (url string){
		"url":   func(_ pcommon.Resource, i int) string { return fmt.Sprint(i) },
		"count": func(r pcommon.Resource, i int) string { r.SetDroppedAttributesCount(uint32(i)); return "" },
		"entity": func(r pcommon.Resource, i int) string {
			entity.ResourceEntityRefs(r).AppendEmpty().DescriptionKeys().Append(fmt.Sprint(i))
			return ""
		},
		"type of an entity": func(r pcommon.Resource, i int) string {
			entity.ResourceEntityRefs(r).AppendEmpty().SetType(fmt.Sprint(i))
			return ""
		},
		"url of an entity": func(r pcommon.Resource, i int) string {
			entity.ResourceEntityRefs(r).AppendEmpty().SetSchemaUrl(fmt.Sprint(i))
			return ""
		},
		"keys of an entity": func(r pcommon.Resource, i int) string {
			ref := entity.ResourceEntityRefs(r).AppendEmpty()
			ref.IdKeys().Append(fmt.Sprint(i / 2))
			ref.DescriptionKeys().Append(fmt.Sprint(i))
			return ""
		},
	}
	for name, set := range attributes {
		resources[name] = func(r pcommon.Resource, i int) string { set(r.Attributes(), i); return "" }
		var sets Sets
		for i := range n {
			m := pcommon.NewMap()
			set(m, i)
			_, err := sets.Find(&c, m, 0)
			require.NoError(t, err)
		}
		require.Equal(t, n, sets.Size(), name)
		require.Len(t, sets.byHash, n, name)
	}
	for name, set := range resources {
		p := Resources{KeepEntityRefs: true}
		var scopes Scopes
		for i := range n {
			r, s := pcommon.NewResource(), pcommon.NewInstrumentationScope()
			url := set(r, i)
			r.Attributes().CopyTo(s.Attributes())
			s.SetDroppedAttributesCount(r.DroppedAttributesCount())
			_, err := p.Find(&c, r, url)
			require.NoError(t, err)
			_, err = scopes.Find(&c, s, url)
			require.NoError(t, err)
		}
		require.Equal(t, n, p.Size(), name)
		require.Len(t, p.byHash, n, name)
		require.Len(t, p.alike, n, name)
		require.Len(t, scopes.byHash, scopes.Size(), name)
	}
	var versions Scopes
	for i := range n {
		s := pcommon.NewInstrumentationScope()
		s.SetVersion(fmt.Sprint(i))
		_, err := versions.Find(&c, s, "")
		require.NoError(t, err)
	}
	require.Len(t, versions.byHash, n)
	for name, set := range map[string]func(m pmetric.Metric, i int){
		"name":        func(m pmetric.Metric, i int) { m.SetName(fmt.Sprint(i)) },
		"description": func(m pmetric.Metric, i int) { m.SetDescription(fmt.Sprint(i)) },
		"unit":        func(m pmetric.Metric, i int) { m.SetUnit(fmt.Sprint(i)) },
		"metadata":    func(m pmetric.Metric, i int) { nested(m.Metadata().PutEmpty("k"), i) },
		"temporality": func(m pmetric.Metric, i int) {
			m.SetEmptySum().SetAggregationTemporality(pmetric.AggregationTemporality(i / 2))
			m.Sum().SetIsMonotonic(i%2 == 0)
		},
	} {
		var p Metrics
		for i := range n {
			m := pmetric.NewMetric()
			set(m, i)
			d := Describe(m)
			_, err := p.Find(&c, &d)
			require.NoError(t, err)
		}
		require.Equal(t, n, p.Size(), name)
		require.Len(t, p.byHash, n, name)
	}
}

// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// dictColumn returns values encoded as a column with its own dictionary.
func dictColumn(values ...string) []byte {
	var usage codec.Usage
	var dict codec.StringDict
	dict.Init(&usage)
	var e codec.StringDictEncoder
	e.Init(&dict)
	for _, v := range values {
		e.Encode(v)
	}
	return e.Buf
}

// Consecutive entries of a dictionary share memory, so a column with many entries needs few allocations.
// The table does not keep other data of the column that is between two entries.
func TestEntriesShareMemory(t *testing.T) {
	var entries, apart []string
	for i := range 1000 {
		entry := fmt.Sprintf("entry %d", i)
		entries = append(entries, entry)
		apart = append(apart, entry)
		for range 500 {
			apart = append(apart, "x")
		}
	}
	entries = append(entries, strings.Repeat("long", 10_000), "after")
	limit := codec.DictLimit{Max: 1 << 20}
	f := func(want int, values ...string) {
		t.Helper()
		var table codec.StringTable
		table.Init(&limit)
		var d codec.StringDictDecoder
		d.Init(&table)
		data := dictColumn(values...)
		read := func() {
			limit.Used = 0
			table.Restart()
			open(&d, data)
			for _, v := range values {
				if d.Decode() != v {
					t.Fatal("another text")
				}
			}
		}
		require.LessOrEqual(t, testing.AllocsPerRun(10, read), float64(want))
		require.True(t, d.Done())
	}
	f(20, entries...)
	f(len(apart), apart...)
}

// A column caches its long texts until its dictionary restarts. It distinguishes texts of equal length.
func TestRepeatedLongTexts(t *testing.T) {
	var usage codec.Usage
	var dict codec.StringDict
	dict.Init(&usage)
	var e codec.StringDictEncoder
	e.Init(&dict)
	limit := codec.DictLimit{Max: 1 << 30}
	var table codec.StringTable
	table.Init(&limit)
	var d codec.StringDictDecoder
	d.Init(&table)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		var values []string
		refs := map[string]codec.Ref{}
		for range 500 {
			v := fmt.Sprintf("%0*d", 10+r.IntN(40)+5000*r.IntN(2), r.IntN(3))
			values = append(values, v)
			ref := e.EncodeRef(v, 0)
			require.Equal(t, dict.Ref(v), ref)
			if before, ok := refs[v]; ok {
				require.Equal(t, before, ref)
			}
			refs[v] = ref
		}
		fault := open(&d, e.Buf)
		for _, v := range values {
			require.Equal(t, v, d.Decode())
		}
		require.Equal(t, bitio.FaultNone, fault.Code)
		require.Equal(t, dict.Len(), table.Len())
		e.Reset()
		if round%3 == 0 {
			dict.Restart()
			table.Restart()
		}
	}
}

// A table that reuses the memory of a released table does not contain the old entries.
func TestReleasedTables(t *testing.T) {
	limit := codec.DictLimit{Max: 1 << 30}
	for round := range 3 {
		var table codec.StringTable
		table.Init(&limit)
		var d codec.StringDictDecoder
		d.Init(&table)
		var values []string
		for i := range 10_000 * (3 - round) {
			values = append(values, fmt.Sprintf("round %d, entry %d", round, i))
		}
		open(&d, dictColumn(values...))
		var read []string
		for range values {
			read = append(read, d.Decode())
		}
		require.Equal(t, len(values), table.Len())
		table.Release()
		require.Zero(t, table.Len())
		require.Equal(t, values, read)
	}
}

// Entries that are far apart in a column keep only little of the data between them in memory. All of
// this memory is counted.
func TestSparseEntries(t *testing.T) {
	const entries, between = 400, 4 << 10
	var values []string
	for i := range entries {
		values = append(values, fmt.Sprintf("%04d", i))
		for range between {
			values = append(values, "x")
		}
	}
	data := dictColumn(values...)
	limit := codec.DictLimit{Max: 1 << 30}
	var table codec.StringTable
	table.Init(&limit)
	var d codec.StringDictDecoder
	d.Init(&table)
	open(&d, data)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // empties pools
	runtime.ReadMemStats(&before)
	for range len(values) {
		d.Decode()
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(values)
	live := int(after.HeapAlloc - before.HeapAlloc)
	require.Equal(t, entries, table.Len())
	t.Logf("%d live, %d counted, %d beside", live, limit.Used, limit.Extra)
	require.LessOrEqual(t, live, 4*limit.Used+4096)
	require.LessOrEqual(t, live, (limit.Used+limit.Extra+table.Spare())*3/2+4096)
	runtime.KeepAlive(&table)
	runtime.KeepAlive(data)
}

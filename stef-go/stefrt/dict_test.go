// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/bitio"
	"github.com/otelstef/stef/stef-go/codec"
)

// dictValue is a value of a dictionary struct.
type dictValue struct {
	v    uint64
	slot Slot
}

func sameValue(a, b *dictValue) bool { return a.v == b.v }

// hashers are hash functions for the type dictValue: a good function, and functions with only a few
// results, which cause collisions.
var hashers = map[string]func(*dictValue, *codec.Hash){
	"good":       func(v *dictValue, h *codec.Hash) { h.Uint64(v.v) },
	"two":        func(v *dictValue, h *codec.Hash) { *h = codec.Hash(v.v % 2) },
	"neighbours": func(v *dictValue, h *codec.Hash) { *h = codec.Hash(v.v % 5 * 2) },
	"one":        func(*dictValue, *codec.Hash) {},
	"wrapping":   func(_ *dictValue, h *codec.Hash) { *h = math.MaxUint64 },
}

func TestStructDict(t *testing.T) {
	for name, hash := range hashers {
		var usage codec.Usage
		var d StructDict[dictValue]
		d.init(&usage)
		rnd := rand.New(rand.NewPCG(4, 4))
		for range 3 {
			want := map[uint64]uint64{} // value -> reference
			for range 300 {
				v := &dictValue{v: rnd.Uint64N(60)}
				_, ok := d.Known(&v.slot)
				require.False(t, ok, "a new value remembers nothing")
				entry, ref, sum := d.Find(v, hash, sameValue)
				known, ok := want[v.v]
				if !ok {
					require.Nil(t, entry, name)
					want[v.v] = uint64(len(want) + 1)
					require.Equal(t, want[v.v], d.Insert(sum, v, 10), name)
					continue
				}
				require.Equal(t, v.v, entry.v, name)
				require.Equal(t, known, ref, name)
			}
			require.Equal(t, len(want)*(10+StructOverhead), usage.Dict)
			d.Restart()
			usage.Dict = 0
		}
	}
}

func TestSlot(t *testing.T) {
	var usage codec.Usage
	var d, other StructDict[dictValue]
	d.init(&usage)
	other.init(&usage)
	v := &dictValue{v: 1}
	f := func(in *StructDict[dictValue], want uint64) {
		t.Helper()
		ref, ok := in.Known(&v.slot)
		require.Equal(t, want > 0, ok)
		if ok {
			require.Equal(t, want, ref)
		}
	}
	f(&d, 0)
	d.Remember(&v.slot, d.Insert(1, v, 0))
	f(&d, 1)
	f(&other, 0)
	other.Insert(0, new(dictValue), 0)
	other.Remember(&v.slot, other.Insert(1, v, 0))
	f(&other, 2)
	f(&d, 0) // a slot stores only the last reference

	d.Remember(&v.slot, 1)
	d.Restart()
	f(&d, 0)
	entry, _, sum := d.Find(v, hashers["good"], sameValue)
	require.Nil(t, entry)
	require.Equal(t, uint64(1), d.Insert(sum, v, 0), "references begin with 1 again")
}

func TestStructTable(t *testing.T) {
	limit := codec.DictLimit{Max: 3*StructOverhead + 10}
	var table StructTable[dictValue]
	table.init(&limit)
	var d codec.BitsIn
	var fault bitio.Fault
	d.Attach(&fault, 6)
	entry := func(ref uint64) *dictValue {
		var w codec.Bits
		w.WriteCompact(ref)
		fault = bitio.Fault{}
		d.Reset(w.AppendTo(nil))
		return table.Entry(&d)
	}
	refused := func(ref uint64, code bitio.FaultCode) {
		t.Helper()
		require.Nil(t, entry(ref))
		require.Equal(t, bitio.Fault{Code: code, Column: 6}, fault)
	}
	refused(0, bitio.FaultRef)
	refused(1, bitio.FaultRef)
	first, second := &dictValue{v: 1}, &dictValue{v: 2}
	table.Append(&d, first, 4, 0)
	table.Append(&d, second, 6, 0)
	require.Same(t, first, entry(1))
	require.Same(t, second, entry(2))
	refused(0, bitio.FaultRef)
	refused(3, bitio.FaultRef)
	refused(1<<48-1, bitio.FaultRef)
	d.Reset(nil)
	fault = bitio.Fault{}
	require.Nil(t, table.Entry(&d))
	require.Equal(t, bitio.FaultEnd, fault.Code)

	fault = bitio.Fault{}
	table.Append(&d, &dictValue{v: 3}, 0, 0)
	require.Equal(t, bitio.FaultNone, fault.Code)
	table.Append(&d, &dictValue{v: 4}, 0, 0)
	require.Equal(t, bitio.FaultDictSize, fault.Code)
	refused(4, bitio.FaultRef)

	table.Restart()
	refused(1, bitio.FaultRef)
	require.Equal(t, uint64(1), first.v, "returned values do not change")
}

// TestStructTableMemory: the specification counts sizes of dictionary entries, which do not include all
// memory of a table. The test checks the limit of the other memory.
func TestStructTableMemory(t *testing.T) {
	limit := codec.DictLimit{Max: 10 * StructOverhead}
	var table StructTable[dictValue]
	table.init(&limit)
	var d codec.BitsIn
	var fault bitio.Fault
	d.Attach(&fault, 0)
	owned := maxExtra * limit.Max / 2
	require.False(t, table.Spacious(0, spacious*StructOverhead))
	require.Zero(t, limit.Added)
	require.True(t, table.Spacious(0, owned))
	require.Equal(t, int64(owned), limit.Added, "the memory was allocated")
	for range 2 {
		table.Append(&d, new(dictValue), 0, owned)
		require.Equal(t, bitio.FaultNone, fault.Code)
	}
	table.Append(&d, new(dictValue), 0, owned)
	require.Equal(t, bitio.FaultDictSize, fault.Code)
}

func TestSlotKeepsSize(t *testing.T) {
	var d StructDict[dictValue]
	var s Slot
	require.Zero(t, s.Size())
	s.KeepSize(7)
	d.Remember(&s, 1)
	require.Equal(t, 7, s.Size())
	if large := int64(1) << 32; large == int64(int(large)) {
		s = Slot{}
		s.KeepSize(int(large))
		require.Zero(t, s.Size(), "too large to be kept")
	}
}
